"""States of a call: where they come from, where they go, and which tokens they belong to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

import torch
from typing_extensions import TypedDict

from ._arguments import check_names
from ._checks import check_tensors, kind_of

StateLayout = Literal["vk", "kv"]


@dataclass(frozen=True, eq=False, repr=False)
class States:
    """States of a call, made once for all layers: `wkvc.rwkv7(r, w, k, v, a, b, states=States(pool, …))`.

    Functions take the fields as arguments, too: `wkvc.rwkv7(r, w, k, v, a, b, output_final_state=True)`.

    Args:
        initial_state: float32, [B, H, V, K] (or [B, H, K, V] with state_layout="kv"); zeros where it is None.
            Where K = V, shapes do not tell the layouts apart: state_layout says which it is. States of RWKV-LM and of
            wkvc have values first, those of flash-linear-attention keys first.
        output_final_state: whether to return the state behind the last token.
        state_layout: "vk" or "kv", of all states.
        cu_seqlens: int32 or int64, [sequences + 1], on the device of the inputs: sequence n has the tokens from
            cu_seqlens[n] to before cu_seqlens[n + 1] of tensors whose B is 1. States have B = sequences. Numbers that
            decrease or leave 0 … T are a ValueError on the CPU. On a GPU the host never reads the numbers, and kernels
            bring such numbers to the nearest ones that do not. Results of tokens in no sequence are zero.
        state_indices: int32, [sequences], on the device of the inputs: sequence n has the state
            initial_state[state_indices[n]] of a pool [slots, H, V, K], of float32, float16 or bfloat16, which is
            updated in place and returned. Nothing of a sequence with a number that is no slot, such as -1, is read or
            written. No two sequences may have one slot. There are no gradients then.
        report: with state_indices, int32 [2], zeros: the first becomes 1 + n of a sequence whose bounds in cu_seqlens
            had to be moved, the second 1 + n of one whose slot is an earlier one's, too, or lies behind the last. With
            a report nothing is refused on the CPU either.
        intermediate_states: takes the state behind every `states_every` tokens, [B, T // states_every, H, V, K] (or
            [B, T // states_every, H, K, V]), float32 or as the pool is, contiguous. Of packed sequences, sequence n has
            those from cu_seqlens[n] // states_every on. There are no gradients then.
        states_every: tokens between intermediate_states.

    Raises TypeError and ValueError for what says nothing of states.
    """

    initial_state: torch.Tensor | None = None
    output_final_state: bool = False
    state_layout: StateLayout = "vk"
    cu_seqlens: torch.Tensor | None = None
    state_indices: torch.Tensor | None = None
    report: torch.Tensor | None = None
    intermediate_states: torch.Tensor | None = None
    states_every: int = 0

    def __post_init__(self) -> None:
        layout: Any = self.state_layout
        if not isinstance(layout, str) or layout not in ("vk", "kv"):
            raise ValueError(f'state_layout is {kind_of(layout)}, expected "vk" (values first) or "kv" (keys first)')
        if not isinstance(self.output_final_state, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"output_final_state is {kind_of(self.output_final_state)}, expected True or False")
        if not isinstance(self.states_every, int | torch.SymInt):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"states_every is {kind_of(self.states_every)}, expected a whole number of tokens")
        check_tensors(initial_state=self.initial_state, cu_seqlens=self.cu_seqlens, state_indices=self.state_indices)
        check_tensors(report=self.report, intermediate_states=self.intermediate_states)


class StateArguments(TypedDict, total=False):
    """The arguments of a call that are of its states: a `States`, or fields of one."""

    states: States | None
    initial_state: torch.Tensor | None
    output_final_state: bool
    state_layout: StateLayout
    cu_seqlens: torch.Tensor | None
    state_indices: torch.Tensor | None
    report: torch.Tensor | None
    intermediate_states: torch.Tensor | None
    states_every: int


FIELDS = tuple(field.name for field in fields(States))
STATE_ARGUMENTS = ("states", *FIELDS)


def states_from(
    function: str, given: Mapping[str, Any], others: Iterable[str] = (), layout: StateLayout = "vk"
) -> States:
    """The states that arguments of a call tell; raises TypeError for a States beside its fields, and other names.

    `function` and `others`, the names of its other arguments, are for messages; `layout` holds where nothing is said.
    """
    if any(name not in STATE_ARGUMENTS for name in given):
        check_names(function, given, (*STATE_ARGUMENTS, *others))
    states = given.get("states")
    beside = {name: value for name, value in given.items() if name != "states"}
    if states is None:
        return States(**{"state_layout": layout, **beside})
    if not isinstance(states, States):
        raise TypeError(f"states is {kind_of(states)}, expected wkvc.States(…)")
    if beside:
        raise TypeError(f"states and {', '.join(beside)} were given: put {', '.join(beside)} into the States")
    return states
