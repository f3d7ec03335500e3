"""A file of JSON lines: what was measured, on what, and what was begun. A run that is cut short goes on from it."""
import hashlib
import json
import subprocess
from pathlib import Path

import torch

from cells import Cell

MOST_BEGINNINGS = 2  # of a unit that ends its process each time


def identity_of(library, device):
    """What times depend on: a GPU and a library. Records of another one are measured again."""
    gpu = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    return {"device": gpu, "library": hashlib.sha256(Path(library).read_bytes()).hexdigest()[:12]}


def circumstances(library):
    """Versions, and the commit where there is a repository."""
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    return {"commit": commit or "unknown", "wkvc": library.wkvc_version().decode(), "torch": torch.__version__,
            "cuda": torch.version.cuda}


def key_of(line):
    """A record's or a beginning's unit, and where it was."""
    return line["device"], line["library"], tuple(line["cell"].values()), line["peer"]


class Journal:
    """The lines of a file, of which the last record of a unit counts."""

    def __init__(self, path):
        self.path = Path(path)
        self.records, self.beginnings = {}, {}
        text = self.path.read_text(encoding="utf-8") if self.path.exists() else ""
        self.is_cut_short = bool(text) and not text.endswith("\n")
        for line in text.splitlines():
            self._take(parsed(line))

    def _take(self, line):
        if line is None:
            return
        key = key_of(line)
        if line["kind"] == "begun":
            self.beginnings[key] = self.beginnings.get(key, 0) + 1
        else:
            self.records.pop(key, None)
            self.records[key] = line
            self.beginnings.pop(key, None)

    def append(self, kind, identity, cell, peer, **more):
        line = {"kind": kind, **identity, "cell": cell._asdict(), "peer": peer, **more}
        with self.path.open("a", encoding="utf-8") as file:
            file.write("\n" * self.is_cut_short + json.dumps(line, ensure_ascii=False) + "\n")
        self.is_cut_short = False
        self._take(line)

    def has(self, identity, cell, peer):
        return self._key(identity, cell, peer) in self.records

    def ended_its_process(self, identity, cell, peer):
        return self.beginnings.get(self._key(identity, cell, peer), 0) >= MOST_BEGINNINGS

    def groups(self):
        """Records of each device and library, the latest ones last."""
        found = {}
        for record in self.records.values():
            found.setdefault((record["device"], record["library"]), []).append(record)
        return found

    @staticmethod
    def _key(identity, cell, peer):
        return identity["device"], identity["library"], tuple(cell), peer


def parsed(line):
    """The line's object, or None of a line that was cut short."""
    try:
        return json.loads(line)
    except json.JSONDecodeError:
        return None


def cell_of(record):
    return Cell(**record["cell"])
