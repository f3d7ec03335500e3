#!/usr/bin/env python3
"""Writes docs/gallery.md from the files of the built-in recurrences, or says whether it is up to date.

scripts/gallery.py [--check]        after a build: the command prints tensors and options
"""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gallery.md"
COMMAND = ROOT / "build" / "bin" / "wkvc"
TWINS = ROOT / "python" / "tests" / "test_language.py"
MEASURED = ROOT / "bench" / "measured" / "h200-operators.jsonl"  # by bench/curves.py run --cells every
PASSES = {"forward": "forward", "both": "forward and backward"}

HEAD = """# Gallery

The built-in recurrences. `scripts/gallery.py` makes this page from `dsl/operators/`. Each recurrence has gradients,
packed sequences, shared heads, states in pools and decoding. `NAME()` of `dsl/builtin.h` is the definition in C++,
`wkvc.NAME` the PyTorch function ([pytorch.md](pytorch.md)), and `wkvc check NAME` measures the errors, whose bounds
README has. Heads have 16 to 256 keys and 16 to 512 values, multiples of 16. Errors and times are of heads of 128, as
the page of each recurrence has them: errors of o and the largest of a gradient, ‖x − ref‖ / ‖ref‖ against float64; ms
of a forward pass and of both passes, and those of the fastest public kernel that was measured beside. FlashInfer and
FlashQLA were not: both are faster than wkvc at Gated DeltaNet of this size ([performance.md](performance.md),
Defaults).
"""


def listed(*arguments: str) -> str:
    return subprocess.run([COMMAND, "list", *arguments], check=True, capture_output=True, text=True).stdout


def names() -> list[str]:
    return re.findall(r"WKVC_OPERATOR\((\w+)\)", (ROOT / "dsl" / "operators.def").read_text())


def definition_of(name: str) -> tuple[str, str, str]:
    """The file with a definition, what is said about it there, and the definition."""
    for file in sorted((ROOT / "dsl" / "operators").glob("*.cpp")):
        text = file.read_text()
        found = re.search(rf"^(?:// .*\n)*Definition {name}\(\) \{{\n?(?:.*\n)*?(?:.*\}})$", text, re.MULTILINE)
        if found:
            about, definition = found[0].split("Definition", 1)
            about = re.sub(r"^// ", "", about or re.match(r"(?:// .*\n)+", text)[0], flags=re.MULTILINE)
            return file.name, about, "Definition" + definition
    raise SystemExit(f"gallery.py: no file of dsl/operators has {name}")


def twins() -> dict[str, str]:
    """Recurrences in Python that have the texts of built-in ones, by name."""
    text = TWINS.read_text()
    return {
        node.name: ast.get_source_segment(text, node)
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.args.args and node.args.args[0].arg == "S"
    }


def options_of(name: str) -> str:
    rows = re.findall(r"^  --set (\w+)=(\S+)\n      (.*)\n      (.*)$", listed(name), re.MULTILINE)
    if not rows:
        return "It has no options.\n"
    lines = ["| option | without | values | meaning |", "|---|---|---|---|"]
    return (
        "\n".join(lines + [f"| `{' | '.join((row[0] + '`', '`' + row[1] + '`', *row[2:]))} |" for row in rows]) + "\n"
    )


def models_of(name: str) -> str:
    """The models that a definition's comment names."""
    about = definition_of(name)[1].replace("\n", " ")
    return re.search(r"Models: (.*)\.", about)[1]


def measured() -> dict[str, list[dict]]:
    """The last records of each recurrence with heads of 128: wkvc alone, then beside each public kernel."""
    found: dict[str, dict[str | None, dict]] = {}
    for record in map(json.loads, MEASURED.read_text().splitlines()):
        if record["kind"] == "record" and record["cell"]["keys"] == 128:
            found.setdefault(record["cell"]["recurrence"], {})[record["peer"]] = record
    return {name: list(by_peer.values()) for name, by_peer in found.items()}


def times_row(what: str, records: list[dict]) -> list[str]:
    """A line for each contestant of a pass: its time, that of a copy, and its errors."""
    lines, seen = [], set()
    for record in records:
        found = record["passes"][what]
        for who in (who for who in found["errors"] if who not in seen):
            seen.add(who)
            errors = found["errors"][who]
            worst = max((error for name, error in errors.items() if name != "o"), default=None)
            shown = f"{errors['o']:.1e}" + ("" if worst is None else f", {worst:.1e}")
            lines.append(f"| {PASSES[what]} | {who} | {found['ms'][who]:.3f} | {found['ms']['copy']:.3f} | {shown} |")
    return lines


def times_of(records: list[dict]) -> list[str]:
    """The table of times and errors, where there are any."""
    if not records:
        return []
    cell = records[0]["cell"]
    size = f"{cell['heads'] // 32},{cell['tokens']},32"
    faults = {f"{who}: {why}" for r in records for found in r["passes"].values() for who, why in found["faults"].items()}
    return [
        f"Heads of 128, bf16, {size} (batches, tokens, heads), {records[0]['device']}; errors of o, and the largest of a "
        "gradient:",
        "",
        "| pass | kernels | ms | copy, ms | errors |",
        "|---|---|---|---|---|",
        *(line for what in PASSES for line in times_row(what, records)),
        "",
        *([f"Not measured: {'; '.join(sorted(faults))}.", ""] if faults else []),
    ]


def fastest(records: list[dict], what: str, ours: bool) -> str:
    """The least time of a pass, of wkvc or of the others, or a dash."""
    times = [
        ms
        for record in records
        for who, ms in record["passes"][what]["ms"].items()
        if who != "copy" and (who == "wkvc") == ours
    ]
    return f"{min(times):.3f}" if times else "–"


def summary(records: list[dict]) -> str:
    """Errors and times in the table of all recurrences."""
    if not records:
        return "– | – | –"
    errors = records[0]["passes"]["both"]["errors"]["wkvc"]
    worst = max(error for name, error in errors.items() if name != "o")
    times = (" / ".join(fastest(records, what, ours) for what in PASSES) for ours in (True, False))
    return f"{errors['o']:.1e}, {worst:.1e} | {' | '.join(times)}"


def page() -> str:
    tensors = dict(re.findall(r"^(\w+) +(.*)$", listed(), re.MULTILINE))
    python, records = twins(), measured()
    lines = [
        HEAD,
        "| recurrence | tensors | models | errors | wkvc, ms | public, ms |",
        "|---|---|---|---|---|---|",
        *(
            f"| [{name}](#{name}) | {tensors[name]} | {models_of(name)} | {summary(records.get(name, []))} |"
            for name in names()
        ),
        "",
    ]
    for name in names():
        file, about, definition = definition_of(name)
        lines += [f"## {name}", "", about, f"In C++ (`dsl/operators/{file}`):", "", "```cpp", definition, "```", ""]
        if name in python:
            lines += ["In Python, without the options:", "", "```python", python[name], "```", ""]
        lines += [options_of(name), *times_of(records.get(name, []))]
    return "\n".join(lines)


def main() -> int:
    text = page()
    if sys.argv[1:] == ["--check"]:
        if PAGE.exists() and PAGE.read_text() == text:
            return 0
        print("docs/gallery.md is not what scripts/gallery.py makes: run it", file=sys.stderr)
        return 1
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
