"""Recurrences that are written in Python: from a function on symbols to the text of the rec stage."""

import hashlib
import inspect
import json
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import count
from types import FrameType
from typing import Any, NamedTuple

from . import _library
from ._states import STATE_ARGUMENTS
from .language import Expr, Given, Stored, head_of, refuse

RESERVED = ("mma", "options", *STATE_ARGUMENTS)  # names of arguments of every call
SRAM = 232448  # bytes of shared memory that a block of sm_90 can have


class Graph(NamedTuple):
    """What a function computes: its symbols, the next state, and outputs with the dtypes that store them."""

    state: Expr
    inputs: dict[str, Expr]
    following: Expr
    outputs: dict[str, tuple[Expr, str]]


class Written:
    """A function of the language, which makes a text for a head, the storage of inputs and options."""

    example = 'return S, {"o": bf16(…)}'  # what a function ends with

    def __init__(self, function: Callable[..., Any], head: tuple[int, int], compute: str, sram: int) -> None:
        self.function, self.head, self.compute, self.sram = function, head, compute, sram
        self.name = function.__name__
        self.at = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
        parameters = list(inspect.signature(function).parameters.values())
        if not parameters or parameters[0].default is not inspect.Parameter.empty:
            refuse(f"{self.name}: expected the state as the first parameter, without a default", at=self.at)
        self.state = parameters[0].name
        self.inputs: dict[str, Given] = {}
        self.options: dict[str, Any] = {}
        self._outside = _numbers_outside(function)
        self._places: list[str] = []  # of the lines of the text
        self.declare(parameters[1:])
        self._check_names([self.name, *self.inputs, *self.options])
        text = self.text({})  # mistakes show here
        self.family_name = _own_name(f"{self.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}")

    def declare(self, parameters: list[inspect.Parameter]) -> None:
        """Finds inputs and options in the parameters behind the state."""
        for parameter in parameters:
            if parameter.kind is parameter.KEYWORD_ONLY:
                self.declare_option(parameter)
            elif isinstance(parameter.default, Given):
                self.inputs[parameter.name] = parameter.default
            else:
                refuse(
                    f"{self.name}: the input '{parameter.name}' has no declaration, such as {parameter.name}=bf16[K]",
                    at=self.at,
                )

    def declare_option(self, parameter: inspect.Parameter) -> None:
        if parameter.default is parameter.empty or isinstance(parameter.default, Given):
            refuse(f"{self.name}: the option '{parameter.name}' has no default, such as 1.0", at=self.at)
        if parameter.name in RESERVED:
            refuse(f"{self.name}: an option '{parameter.name}' hides an argument of calls: choose another", at=self.at)
        self.options[parameter.name] = parameter.default

    def _check_names(self, names: Iterable[str]) -> None:
        for name in names:
            if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
                refuse(f"{self.name}: '{name}' is no name of the language: expected letters, digits and _", at=self.at)

    def run(self, state: Expr, inputs: Mapping[str, Expr], settings: Mapping[str, Any]) -> Any:
        """What the function returns for symbols."""
        return named_by_assignment(self.function, (state, *inputs.values()), settings, self.taken, lambda value: value)

    # The members of a Source.

    def variant(self, settings: Mapping[str, Any]) -> str:
        try:
            return json.dumps(dict(sorted(settings.items()))) if settings else ""
        except TypeError as error:
            raise TypeError(f"{self.name}: options are {dict(settings)}, expected numbers, texts and truths") from error

    def signature(self, variant: str) -> dict[str, Any]:
        return _library.signature(self.text(_settings(variant)))

    def emit(self, variant: str, head: tuple[int, int] | None, io: str | None, mma: str | None) -> str:
        return self.text(_settings(variant), head, io, mma)

    @property
    def taken(self) -> set[str]:
        """Names of symbols."""
        return {self.state, *self.inputs}

    def stored(self, io: str | None) -> dict[str, str]:
        """What a call in `io` stores tensors in, by declared dtype: the first one of 16 bits is replaced."""
        first = next((given.dtype for given in self.inputs.values() if given.dtype != "f32"), None)
        return {first: io} if first and io else {}

    def text(
        self,
        settings: Mapping[str, Any],
        head: tuple[int, int] | None = None,
        io: str | None = None,
        mma: str | None = None,
    ) -> str:
        """The canonical text of the rec stage."""
        head = head or self.head
        printer = _Printer(self, head, mma or self.compute, self.stored(io))
        text = printer.text(self.graph(settings, head))
        self._places = printer.places
        return _library.emit(text, "")

    def located(self, message: str) -> str:
        """A message of the library about the text, about the function: "source:9: " is a line of it."""
        found = re.match(r"source:(\d+): ", message)
        line = int(found[1]) - 2 if found else -1  # behind the first line, which lines are counted from 1
        if found is None or not 0 <= line < len(self._places):
            return message
        return f"{self._places[line]}: {message[found.end() :]}".replace(".in(", ".within(")

    def graph(self, settings: Mapping[str, Any], head: tuple[int, int]) -> Graph:
        """What the function computes for a head, in dtypes as they are declared."""
        if _numbers_outside(self.function) != self._outside:
            refuse(
                f"{self.name}: numbers outside of the function have changed since it was made: make them options, "
                "keyword-only parameters",
                ValueError,
                at=self.at,
            )
        inputs = {
            name: Expr("input", given.axis, [], name, given.dtype, given=given) for name, given in self.inputs.items()
        }
        state = Expr("state", None, [], self.state)
        for name, value in {**inputs, self.state: state}.items():
            value.name = name
        with head_of(*head):
            result = self.run(state, inputs, {**self.options, **settings})
        return self._graph(result, state, inputs)

    def _graph(self, result: Any, state: Expr, inputs: dict[str, Expr]) -> Graph:
        """The same, of what the function returned."""
        expected = f'{self.name}: expected "{self.example}", the next state and outputs'
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict) and result[1]):
            refuse(expected, at=self.at)
        following, outputs = result
        if not isinstance(following, Expr) or following.axis is not None:
            refuse(f"{expected}; the next state is {following!r}, expected a V×K matrix", at=self.at)
        if following is state:
            refuse(f"{self.name}: the state is returned as it came: no token changes it", ValueError, at=self.at)
        _expect_affine(following)
        made = {}
        for name, given in outputs.items():
            in_f32 = isinstance(given, Expr) and given.axis is not None and given.dtype == "f32"
            output = Stored(given, "f32") if in_f32 else given
            if not isinstance(output, Stored):
                refuse(
                    f"{self.name}: the output '{name}' is {output!r}; expected a vector or a number, in the dtype "
                    f'that stores the output: "{name}": bf16(…)',
                    at=self.at,
                )
            if name in self.taken:
                refuse(f"{self.name}: the output '{name}' has the name of an input: choose another", at=self.at)
            made[name] = (output.value, output.dtype)
        self._check_names(made)
        used = _used([following, *(value for value, _ in made.values())])
        unused = [name for name, value in inputs.items() if value not in used]
        if unused:
            refuse(f"{self.name}: no result depends on {', '.join(unused)}: leave them out", ValueError, at=self.at)
        return Graph(state, inputs, following, made)


_LINEAR = ("cast", "add", "sub", "neg", "broadcast", "assume")
_PRODUCTS = ("mul", "scale", "dot", "outer", "diag_mul")


def _expect_affine(following: Expr) -> None:
    """Refuses a next state that is no affine function of the state, at the line of what is not."""
    depends: dict[Expr, bool] = {}

    def visit(x: Expr) -> bool:
        if x in depends:
            return depends[x]
        count = sum([visit(operand) for operand in x.operands])
        if count and x.kind not in _LINEAR and (x.kind not in _PRODUCTS or count > 1):
            expected = (
                "expected S times a decay, plus outer(S @ a, b) and outer(v, k), where S is in none of the vectors"
            )
            refuse(f"'{x.text}' feeds the next state, and is not affine in the state; {expected}", at=x.at)
        depends[x] = x.kind == "state" or count > 0
        return depends[x]

    visit(following)


_made: dict[str, Iterator[int]] = {}


def _own_name(name: str) -> str:
    """A name of one function: functions of one text may differ for other heads and options."""
    number = next(_made.setdefault(name, count(1)))
    return name if number == 1 else f"{name}_{number}"


def _numbers_outside(function: Callable[..., Any]) -> dict[str, Any]:
    """The numbers and texts that a function reads from outside, by name."""
    outside = inspect.getclosurevars(function)
    names = {**outside.globals, **outside.nonlocals}
    return {name: value for name, value in names.items() if isinstance(value, bool | int | float | str)}


def _settings(variant: str) -> dict[str, Any]:
    return json.loads(variant) if variant else {}


def _used(results: list[Expr]) -> set[Expr]:
    found: set[Expr] = set()
    left = list(results)
    while left:
        value = left.pop()
        if value not in found:
            found.add(value)
            left += value.operands
    return found


def named_by_assignment(
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    settings: Mapping[str, Any],
    taken: Collection[str],
    value_of: Callable[[Any], Any],
) -> Any:
    """What the function returns; values get the names of the variables that they are assigned to, but for `taken`.

    `value_of` gives the value that a variable holds.
    """
    names = set(taken)

    def look(frame: FrameType) -> None:
        for name, held in list(frame.f_locals.items()):
            value = value_of(held)
            if isinstance(value, Expr) and value.name is None and name not in names:
                value.name = name
                names.add(name)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code is not function.__code__:
            return None
        if event != "call":
            look(frame)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        return function(*arguments, **settings)
    finally:
        sys.settrace(before)


class _Printer:
    """Lines of the rec stage, in the order in which results need them."""

    def __init__(self, written: Written, head: tuple[int, int], compute: str, stored: Mapping[str, str]) -> None:
        self._written, self._compute, self._stored = written, compute, stored
        self._extents = {"K": head[0], "V": head[1], "1": 1}
        self._lines: list[str] = []
        self.places: list[str] = []  # of the lines, in the function
        self._names: dict[Expr, str] = {}
        self._taken = {*written.taken}
        self._unnamed = 0

    def text(self, graph: Graph) -> str:
        state, inputs, following, outputs = graph
        self._taken |= set(outputs)
        for name, value in inputs.items():
            self._declare(name, value)
        self._names[state] = f"%{state.name}"
        self._lines.append(f'%{state.name} = rec.state "{state.name}" : {self._type(state)}')
        last = self._value(following, f"{state.name}_next")
        self._lines.append(f"rec.update %{state.name}, {last} : {self._type(state)}")
        for name, (value, dtype) in outputs.items():
            made = self._value(value, name)
            self._lines.append(
                f'rec.output "{name}" {made} dim {value.axis} : {self._type(value)} as {self._storage(dtype)}'
            )
        keys, values = self._extents["K"], self._extents["V"]
        body = "\n".join(f"  {line}" for line in self._lines)
        self.places += [self._written.at] * (len(self._lines) - len(self.places))
        return (
            f"rec.recurrence @{self._written.name} attributes {{key_dim = {keys}, value_dim = {values}, "
            f'compute = "{self._compute}", sram_budget = {self._written.sram}}} {{\n{body}\n}}\n'
        )

    def _declare(self, name: str, value: Expr) -> None:
        given: Given = value.attributes["given"]
        kind = "parameter" if given.is_of_head else "input"
        within = "" if given.range is None else f" in [{given.range[0]!r}, {given.range[1]!r}]"
        self._names[value] = f"%{name}"
        self._lines.append(f'%{name} = rec.{kind} "{name}" dim {given.axis}{within} : {self._type(value)}')

    def _type(self, value: Expr) -> str:
        if value.axis is None:
            return f"tensor<{self._extents['V']}x{self._extents['K']}xf32>"
        return f"tensor<{self._extents[value.axis]}x{self._storage(value.dtype)}>"

    def _storage(self, dtype: str) -> str:
        """What a call stores tensors of a declared dtype in."""
        return self._stored.get(dtype, dtype)

    def _name_of(self, value: Expr, fallback: str) -> str:
        name = value.name or fallback
        if not name and value.kind == "cast" and value.operands[0].name:
            name = f"{value.operands[0].name}_f32"
        if not name or (name in self._taken and name != fallback):
            self._unnamed += 1
            return f"%{self._unnamed - 1}"
        self._taken.add(name)
        return f"%{name}"

    def _value(self, value: Expr, fallback: str = "") -> str:
        if value in self._names:
            return self._names[value]
        operands = [self._value(operand) for operand in value.operands]
        if value.kind == "cast" and self._type(value) == self._type(value.operands[0]):
            self._names[value] = operands[0]  # stored in f32 already
            return operands[0]
        name = self._names[value] = self._name_of(value, fallback)
        self.places += [self._written.at] * (len(self._lines) - len(self.places))
        self.places.append(value.at)
        self._lines.append(f"{name} = rec.{value.kind} {self._line(value, operands)}")
        return name

    def _line(self, value: Expr, operands: list[str]) -> str:
        type_, kinds = self._type(value), [self._type(operand) for operand in value.operands]
        if value.kind == "constant":
            return f"{value.attributes['value']:.17e} dim {value.axis} : {type_}"
        if value.kind == "cast":
            return f"{operands[0]} : {kinds[0]} to {type_}"
        if value.kind == "assume":
            lo, hi = value.attributes["range"]
            return f"{operands[0]} in [{lo!r}, {hi!r}] : {type_}"
        if value.kind == "broadcast":
            return f"{operands[0]} dim {value.axis} : {type_}"
        if value.kind in ("dot", "outer"):
            return f"{operands[0]}, {operands[1]} : {kinds[0]}, {kinds[1]} -> {type_}"
        if value.kind == "diag_mul":
            return f"{operands[0]}, {operands[1]} : {kinds[0]}, {kinds[1]}"
        return f"{', '.join(operands)} : {type_}"
