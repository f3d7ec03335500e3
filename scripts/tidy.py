#!/usr/bin/env python3
"""Runs clang-tidy on every source of a build, in parallel: tidy.py BUILD_DIR.

A source that was clean is not read again, in another clone either, until it, a header of the project that it includes,
its compiler flags or .clang-tidy change. Generated code and the tests are skipped, except those where headers of
templates/ are compiled.
"""
import hashlib
import json
import os
import shlex
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TIDY = "clang-tidy-22"
KEPT = 30 * 24 * 3600  # seconds that a stamp is kept after its last use


def is_skipped(source):
    return source.parts[0] == "tests" and source.parts[1] != "templates"


def included_files(build):
    """What each object file was compiled from, by path of the object, as ninja recorded it."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, capture_output=True, text=True).stdout
    files, current = {}, []
    for line in text.splitlines():
        if line.startswith(" "):
            current.append((build / line.strip()).resolve())
        elif line:
            current = files.setdefault(line.split(":")[0], [])
    return files


def fingerprint(root, command, files, common):
    """The same wherever the clone lies."""
    digest = hashlib.sha256(common + command.replace(str(root), "").encode())
    for file in sorted(files):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def open_stamps():
    """A directory with an empty file for each source that was clean, by fingerprint."""
    stamps = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wkvc-tidy"
    stamps.mkdir(parents=True, exist_ok=True)
    for stamp in stamps.iterdir():
        if stamp.stat().st_mtime < time.time() - KEPT:
            stamp.unlink(missing_ok=True)
    return stamps


def lint(build, source):
    run = subprocess.run([TIDY, "-p", build, "--quiet", source], capture_output=True, text=True)
    return run.returncode == 0, run.stdout or run.stderr


def main():
    root = Path(__file__).resolve().parent.parent
    build = Path(sys.argv[1]).resolve()
    stamps = open_stamps()
    version = subprocess.run([TIDY, "--version"], check=True, capture_output=True).stdout
    common = version + (root / ".clang-tidy").read_bytes()
    included = included_files(build)

    todo = {}
    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        source = Path(entry["file"]).resolve()
        if build in source.parents or is_skipped(source.relative_to(root)):
            continue
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]  # CMake 3.25 does not name it
        ours = {file for file in included.get(output, []) if root in file.parents} | {source}
        todo[source] = stamps / fingerprint(root, entry["command"], ours, common)
    stale = {source: stamp for source, stamp in todo.items() if not stamp.exists()}
    for stamp in set(todo.values()) - set(stale.values()):
        stamp.touch()

    start, bad = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, (clean, report) in zip(stale, pool.map(lambda source: lint(build, source), stale)):
            if clean:
                stale[source].touch()
            else:
                bad += 1
                print(f"{source.relative_to(root)}:\n{report}", flush=True)
    print(f"clang-tidy: {len(todo)} sources, {len(todo) - len(stale)} unchanged, {bad} with findings, "
          f"{time.monotonic() - start:.0f} s")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
