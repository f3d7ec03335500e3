"""The text in `wkvc.language` of what a function computes."""

from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any

from . import language
from ._written import SRAM, Written
from .language import Expr, Given

_SIGNS = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "scale": ("*", 2), "dot": ("@", 2)}  # with precedence
_WHOLE = 3  # the precedence of a name or call
_DECORATED = '@wkvc.recurrence(head=({}, {}), compute="{}"{})'


def python_text(written: Written, head: tuple[int, int], settings: Mapping[str, Any]) -> str:
    """A module with the function, whose options have the values of `settings`."""
    return _Printer(written, head, settings).text()


class _Printer:
    """Statements for values that have names or several uses, in the order in which results need them."""

    def __init__(self, written: Written, head: tuple[int, int], settings: Mapping[str, Any]) -> None:
        self._written, self._head, self._graph = written, head, written.graph(settings, head)
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

    def _expression(self, value: Expr) -> tuple[str, int]:
        if value.kind == "constant":
            return repr(value.attributes["value"]), _WHOLE
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
