#!/usr/bin/env python3
"""Runs clang-tidy on sources of a build, in parallel: tidy.py BUILD_DIR [--all].

It reads what differs from the upstream branch, or from the commit before where there is none such: those sources and
all that include a changed header. With --all it reads every source. A source that was clean is not read again, in
another clone either, until it, a header of the project that it includes, its compiler flags or .clang-tidy change.
Generated code and the tests are skipped, except those where headers of templates/ are compiled.
"""
import hashlib
import json
import os
import re
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


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def changed_files(root):
    """Files of the working tree that differ from the base; None where git knows no base."""
    git = ("git", "-C", root)
    for base in ("@{upstream}", "HEAD~1"):
        try:
            commit = output_of(*git, "merge-base", "HEAD", base).strip()
            names = output_of(*git, "diff", "--name-only", commit)
            names += output_of(*git, "ls-files", "-o", "--exclude-standard")
        except subprocess.CalledProcessError:
            continue
        if names:
            return {root / name for name in names.splitlines()}
    return None


def configure(root, build):
    """Commands of all sources by themselves: not in batches, without precompiled headers and GCC's own options."""
    folder = build / "tidy"
    subprocess.run(["cmake", "--preset", "dev", "-B", folder, "-DCMAKE_UNITY_BUILD=OFF",
                    "-DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON"], cwd=root, check=True, stdout=subprocess.DEVNULL)
    text = (folder / "compile_commands.json").read_text().replace(str(folder), str(build))  # generated files are there
    entries = json.loads(re.sub(r" -fno-gnu-unique| -fpch-preprocess", "", text))
    commands = folder / "commands"
    commands.mkdir(exist_ok=True)
    (commands / "compile_commands.json").write_text(json.dumps(entries))
    return commands, entries


def included_files(commands):
    """What each object file is compiled from, by path of the object."""
    rules = output_of("clang-scan-deps-22", "-compilation-database", commands / "compile_commands.json",
                      "-format=make", "-j", str(os.cpu_count())).replace("\\\n", " ")
    return {name: [Path(file).resolve() for file in files.split()]
            for name, files in (rule.split(":", 1) for rule in rules.splitlines() if ":" in rule)}


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


def lint(commands, source):
    run = subprocess.run([TIDY, "-p", commands, "--quiet", source], capture_output=True, text=True)
    return run.returncode == 0, run.stdout or run.stderr


def main():
    root = Path(__file__).resolve().parent.parent
    build = Path(sys.argv[1]).resolve()
    changed = None if "--all" in sys.argv else changed_files(root)
    stamps = open_stamps()
    common = output_of(TIDY, "--version").encode() + (root / ".clang-tidy").read_bytes()
    commands, entries = configure(root, build)
    included = included_files(commands)

    todo = {}
    for entry in entries:
        source = Path(entry["file"]).resolve()
        if build in source.parents or is_skipped(source.relative_to(root)):
            continue
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]  # CMake 3.25 does not name it
        ours = {file for file in included.get(output, []) if root in file.parents} | {source}
        if changed is not None and not ours & changed:
            continue
        todo[source] = stamps / fingerprint(root, entry["command"], ours, common)
    stale = {source: stamp for source, stamp in todo.items() if not stamp.exists()}
    for stamp in set(todo.values()) - set(stale.values()):
        stamp.touch()

    start, bad = time.monotonic(), 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, (clean, report) in zip(stale, pool.map(lambda source: lint(commands, source), stale)):
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
