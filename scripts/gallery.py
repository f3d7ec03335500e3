#!/usr/bin/env python3
"""Writes docs/gallery.md from the files of the built-in recurrences, or says whether it is up to date.

scripts/gallery.py [--check]        after a build: the command prints tensors and options
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "gallery.md"
COMMAND = ROOT / "build" / "bin" / "wkvc"
TWINS = ROOT / "python" / "tests" / "test_language.py"

HEAD = """# Gallery

The built-in recurrences. `scripts/gallery.py` makes this page from `dsl/operators/`. Each recurrence has gradients,
packed sequences, shared heads, states in pools and decoding. `wkvc.NAME` is the PyTorch function
([pytorch.md](pytorch.md)), and `wkvc check NAME` measures the errors, whose bounds README has. Times beside other
kernels are in [performance.md](performance.md).
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


def page() -> str:
    tensors = dict(re.findall(r"^(\w+) +(.*)$", listed(), re.MULTILINE))
    python = twins()
    lines = [
        HEAD,
        "| recurrence | tensors | models |",
        "|---|---|---|",
        *(f"| [{name}](#{name}) | {tensors[name]} | {models_of(name)} |" for name in names()),
        "",
    ]
    for name in names():
        file, about, definition = definition_of(name)
        lines += [f"## {name}", "", about, f"In C++ (`dsl/operators/{file}`):", "", "```cpp", definition, "```", ""]
        if name in python:
            lines += ["In Python, without the options:", "", "```python", python[name], "```", ""]
        lines += [options_of(name)]
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
