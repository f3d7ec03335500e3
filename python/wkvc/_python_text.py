"""The text in `wkvc.language` of what a function computes."""

import math
from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any

from . import language
from ._written import SRAM, Graph, Written
from .language import Expr, Given, refuse

_SIGNS = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "scale": ("*", 2), "dot": ("@", 2)}  # with precedence
_WHOLE = 3  # the precedence of a name or call
_DECORATED = '@wkvc.recurrence(head=({}, {}), compute="{}"{})'


def python_text(written: Written, head: tuple[int, int], settings: Mapping[str, Any]) -> str:
    """A module with the function, whose options have the values of `settings`."""
    return _Printer(written, head, settings).text()


_POWERS = (-0.5, -1, 0.5, 1)  # of extents, in constants that follow from a head


def _constants(graph: Graph) -> list[Expr]:
    """The constants of a graph, in the order of its function."""
    found: dict[Expr, None] = {}

    def visit(value: Expr) -> None:
        if value in found:
            return
        for operand in value.operands:
            visit(operand)
        found[value] = None

    for result in (graph.following, *(value for value, _ in graph.outputs.values())):
        visit(result)
    return [value for value in found if value.kind == "constant"]


class _Printer:
    """Statements for values that have names or several uses, in the order in which results need them."""

    def __init__(self, written: Written, head: tuple[int, int], settings: Mapping[str, Any]) -> None:
        self._written, self._head, self._graph = written, head, written.graph(settings, head)
        self._another = (16 if head[0] != 16 else 32, 48 if head[1] != 48 else 80)
        here, there = (_constants(g) for g in (self._graph, written.graph(settings, self._another)))
        if len(here) != len(there):
            refuse(f"{written.name}: heads of {head} and {self._another} have other operations", at=written.at)
        self._there = dict(zip(here, there, strict=True))
        self._texts: dict[Expr, tuple[str, int]] = {}  # with precedence
        self._lines: list[str] = []
        self._known: set[str] = set()  # what is imported
        self._taken = {"x", *written.taken, *language.__all__}
        self._uses: Counter[Expr] = Counter()

    def text(self) -> str:
        state, inputs, following, outputs = self._graph
        for value in (following, *(value for value, _ in outputs.values())):
            self._count(value)
        self._texts = {value: (str(value.name), _WHOLE) for value in (state, *inputs.values())}
        declared = [f"{name}={self._declaration(given)}" for name, given in self._written.inputs.items()]
        last = self._of(following, 0)
        stored = [f'"{name}": {self._output(value, dtype)}' for name, (value, dtype) in outputs.items()]
        body = "\n".join(f"    {line}" for line in (*self._lines, f"return {last}, {{{', '.join(stored)}}}"))
        sram = "" if self._written.sram == SRAM else f", sram={self._written.sram}"
        return (
            f"import wkvc\nfrom wkvc.language import {', '.join(sorted(self._known))}\n\n\n"
            f"{_DECORATED.format(*self._head, self._written.compute, sram)}\n"
            f"def {self._written.name}({', '.join([self._written.state, *declared])}):\n{body}\n"
        )

    def _count(self, value: Expr) -> None:
        self._uses[value] += 1
        if self._uses[value] == 1:
            for operand in value.operands:
                self._count(operand)

    def _call(self, function: str, *arguments: str) -> str:
        self._known.add(function)
        return f"{function}({', '.join(arguments)})"

    def _declaration(self, given: Given) -> str:
        self._known |= {given.dtype} | ({given.axis} & {"K", "V"})
        axis = "" if given.axis == "1" else f"[{given.axis}]"
        within = "" if given.range is None else f".within({given.range[0]!r}, {given.range[1]!r})"
        return f"{given.dtype}{axis}{within}{'.of_head()' if given.is_of_head else ''}"

    def _output(self, value: Expr, dtype: str) -> str:
        text = self._of(value, 0)
        return text if dtype == "f32" else self._call(dtype, text)

    def _of(self, value: Expr, least: int) -> str:
        """The text of a value, in parentheses where its precedence is less."""
        if value not in self._texts:
            text, precedence = self._expression(value)
            name = self._name_of(value)
            if name:
                self._lines.append(f"{name} = {text}")
            self._texts[value] = (name, _WHOLE) if name else (text, precedence)
        text, precedence = self._texts[value]
        return text if precedence >= least else f"({text})"

    def _name_of(self, value: Expr) -> str:
        """The name of a value that has one, or several uses."""
        if value.kind in ("constant", "broadcast") or (value.name is None and self._uses[value] < 2):
            return ""
        if value.name is None and value is self._graph.following:
            name = f"{self._graph.state.name}_next"
        elif value.name is None and value.kind == "cast":
            name = f"{value.operands[0].name}_f32"
        else:
            name = value.name or "x"
        name = name if name not in self._taken else next(f"x{n}" for n in count() if f"x{n}" not in self._taken)
        self._taken.add(name)
        return name

    def _constant(self, value: Expr) -> tuple[str, int]:
        """A constant, or what an extent makes it, so that the text is of every head."""
        here, there = (x.attributes["value"] for x in (value, self._there[value]))
        if here == there:
            return repr(here), _WHOLE
        for axis, mine, other in zip("KV", self._head, self._another, strict=True):
            for power in _POWERS:
                factor = here / mine**power
                if math.isclose(factor, there / other**power, rel_tol=1e-12):
                    self._known.add(axis)
                    text = f"{axis}.extent" if power == 1 else f"{axis}.extent**{power}"
                    return (text, _WHOLE) if math.isclose(factor, 1) else (f"({factor:.15g} * {text})", _WHOLE)
        return refuse(
            f"{self._written.name}: the constant {here} of heads of {self._head} is {there} of {self._another}, which "
            "is no power of an extent: make the number an option, a keyword-only parameter",
            ValueError,
            at=value.at,
        )

    def _expression(self, value: Expr) -> tuple[str, int]:
        if value.kind == "constant":
            return self._constant(value)
        if value.kind == "broadcast":
            return self._of(value.operands[0], _WHOLE), _WHOLE
        if value.kind in _SIGNS:
            sign, precedence = _SIGNS[value.kind]
            left, right = (self._of(x, precedence + n) for n, x in enumerate(value.operands))
            return f"{left} {sign} {right}", precedence
        if value.kind == "neg":
            return f"-{self._of(value.operands[0], _WHOLE)}", _SIGNS["mul"][1]
        if value.kind == "diag_mul":
            matrix = self._of(value.operands[0], _SIGNS["mul"][1])
            return f"{matrix} * {self._call('diag', self._of(value.operands[1], 0))}", _SIGNS["mul"][1]
        function = "f32" if value.kind == "cast" else value.kind
        return self._call(function, *(self._of(x, 0) for x in value.operands)), _WHOLE
