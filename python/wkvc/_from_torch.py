"""Recurrences from plain PyTorch: a step of one token and head runs on symbols, which gives the language's graph."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch

from ._arguments import bind
from ._eager import NoCasts, Token, by_name, loop
from ._functions import Operator, pair
from ._python_text import python_text
from ._rwkv import Mma
from ._states import StateLayout
from ._symbols import Symbol
from ._written import SRAM, Written, named_by_assignment
from .language import Expr, Given, refuse


class Step(Written):
    """A step of PyTorch, of which a graph is made as of a function of the language."""

    example = 'return S, {"o": ….bfloat16()}'

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Mapping[str, Given],
        head: tuple[int, int],
        compute: str,
        sram: int,
        state_layout: StateLayout,
    ) -> None:
        if not inspect.isfunction(function) or not function.__name__.isidentifier():
            raise TypeError(f"wkvc.from_torch: {function!r} was given, expected a function that def makes")
        if state_layout not in ("vk", "kv"):
            raise ValueError(f'wkvc.from_torch: state_layout is {state_layout!r}, expected "vk" or "kv"')
        self._given, self._axes = dict(inputs), tuple(state_layout.upper())
        self.state_layout: StateLayout = state_layout
        super().__init__(function, head, compute, sram)

    def declare(self, parameters: list[inspect.Parameter]) -> None:
        if not parameters or any(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters[1:]):
            refuse(f"{self.name}: expected the parameters (S, x), a state and a token's tensors", at=self.at)
        for parameter in parameters[1:]:
            self.declare_option(parameter)
        for name, given in self._given.items():
            if not isinstance(given, Given) or name in (self.state, *self.options):
                refuse(f"{self.name}: '{name}' is {given!r}; expected an input, such as k=bf16[K]", at=self.at)
        if not self._given:
            refuse(f"{self.name}: no input is declared; expected declarations such as k=bf16[K]", at=self.at)
        self.inputs = self._given

    def run(self, state: Expr, inputs: Mapping[str, Expr], settings: Mapping[str, Any]) -> Any:
        token = Token({name: Symbol(x, () if x.axis == "1" else (str(x.axis),)) for name, x in inputs.items()})
        arguments = (Symbol(state, self._axes), token)
        result = named_by_assignment(self.function, arguments, settings, self.taken, _value_of)
        if not isinstance(result, tuple) or len(result) != 2:
            return result
        return self._following(result[0]), {name: self._output(name, x) for name, x in by_name(result[1]).items()}

    def _following(self, x: Any) -> Expr:
        if not isinstance(x, Symbol) or x.axes != self._axes or x.stored:
            expected = f"[{', '.join(self._axes)}] in f32, as the state is"
            refuse(f"{self.name}: the next state is {x!r}, expected {expected}", at=self.at)
        return x.value

    def _output(self, name: str, x: Any) -> Any:
        if not isinstance(x, Symbol) or x.axes not in ((), ("K",), ("V",)) or x.value.dtype != "f32":
            expected = "a vector or a number of f32, in the dtype that stores the output: ….bfloat16()"
            refuse(f"{self.name}: the output '{name}' is {x!r}, expected {expected}", at=self.at)
        return x.stored or x.value

    def eager(
        self, inputs: Mapping[str, torch.Tensor], state: torch.Tensor | None, settings: Mapping[str, Any]
    ) -> tuple[torch.Tensor, ...]:
        """The step itself, over tokens."""
        start = self._zero(inputs) if state is None else state
        return loop(partial(self.function, **settings), self.inputs, inputs, start)

    def _zero(self, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
        extents = {given.axis: inputs[name].shape[-1] for name, given in self.inputs.items()}
        first = next(x for name, x in inputs.items() if not self.inputs[name].is_of_head)
        shape = (first.shape[0], first.shape[2], *(extents[axis] for axis in self._axes))
        return first.new_zeros(shape, dtype=torch.promote_types(first.dtype, torch.float32))


def _value_of(held: Any) -> Any:
    return held.value if isinstance(held, Symbol) else None


class Imported(Operator):
    """An operator of a step, which runs as it is, too."""

    def __init__(self, step: Step, documentation: str) -> None:
        super().__init__(step, step.options, documentation)
        self._step = step
        self.state_layout = step.state_layout

    def python(self, head: int | tuple[int, int] | None = None, **settings: Any) -> str:
        """The step in `wkvc.language`, to paste. What follows from extents are the constants of that head."""
        return python_text(self._step, self._step.head if head is None else pair(head), settings)

    def eager(
        self,
        /,
        *inputs: torch.Tensor,
        initial_state: torch.Tensor | None = None,
        dtype: torch.dtype | None = torch.float64,
        **named: Any,
    ) -> tuple[torch.Tensor, ...]:
        """The outputs and the final state of the step itself, token by token.

        Args:
            inputs: as of a call, each with all heads.
            initial_state: [B, H, V, K], or [B, H, K, V] where the step has its state so. None is zero.
            dtype: what all is computed in, and casts of the step change nothing. None: as the step is written.
        """
        settings = {name: value for name, value in named.items() if name in self.options}
        tensors = {name: value for name, value in named.items() if name not in settings}
        names = tuple(self._step.inputs)
        given = dict(zip(names, bind(f"{self.name}.eager", names, inputs, tensors), strict=True))
        if dtype is None:
            return self._step.eager(given, initial_state, settings)
        given = {name: x.to(dtype) for name, x in given.items()}
        state = None if initial_state is None else initial_state.to(dtype)
        with NoCasts():
            return self._step.eager(given, state, settings)

    def __repr__(self) -> str:
        return f"wkvc.from_torch({self.name})"


def from_torch(
    step: Callable[..., Any],
    /,
    *,
    head: int | tuple[int, int] = 64,
    compute: Mma = "f16",
    sram: int = SRAM,
    state_layout: StateLayout = "vk",
    **inputs: Any,
) -> Imported:
    """Makes an operator of a plain PyTorch step of one token and head, `step(S, x) -> (next S, outputs)`.

    The step has the signature of the function that PyTorch's `scan` takes. It runs once for a head, on symbols.

    Args:
        step: takes the state in float32 and a token, `x["q"]`, `x.q` or `q, k, … = x`. Outputs are one tensor, named
            o, or a dict or tuple. Keyword-only parameters are options.
        head: keys and values of a head that the step is checked with. Calls take any head.
        compute: what operands of contractions are rounded to, where a call does not say `mma`.
        sram: bytes of shared memory that a block may use.
        state_layout: what the step has as S: "vk", [V, K], or "kv", [K, V]. States of calls are so, too, unless a call
            says another `state_layout`.
        inputs: declarations of `wkvc.language` by name: q=bf16[K], g=f32.within(-1e6, 0), u=bf16[K].of_head(), …

    Returns:
        What `@wkvc.recurrence` gives. `op.python()` is the step in the language, and `op.eager` the loop in PyTorch.

    Raises TypeError or ValueError for what the language does not say, with the line of the step.
    """
    source = Step(step, inputs, pair(head), compute, sram, state_layout)
    return Imported(source, inspect.getdoc(step) or f"The recurrence {source.name}.")
