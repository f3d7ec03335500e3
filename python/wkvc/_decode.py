"""A few tokens of every sequence, with states updated in place."""

from collections.abc import Callable
from typing import Any

import torch

from ._call import StateLayout, check_layout, run_in_slots
from ._kernels import Maps
from ._operators import Family
from ._recurrence import Recurrence
from ._rwkv import family_of, settings_of

_MOST_TOKENS = 8  # of a sequence: more go faster by chunks


def decode(
    function: Callable[..., Any],
    *inputs: torch.Tensor,
    states: torch.Tensor,
    state_indices: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    state_layout: StateLayout = "vk",
    report: torch.Tensor | None = None,
    intermediate_states: torch.Tensor | None = None,
    states_every: int = 1,
    options: str = "",
    **settings: Any,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Takes states through one to eight tokens of each sequence, in one launch, in float32.

    Args:
        function: wkvc.rwkv7, wkvc.rwkv6 or what wkvc.op gave.
        inputs: as the function takes them, with T from 1 to 8; or packed in one batch, with cu_seqlens.
        states: a pool [slots, H, V, K] (or [slots, H, K, V] with state_layout="kv") of float32, float16 or bfloat16,
            updated in place.
        state_indices: int32, the slot of each sequence; None: sequence n has states[n]. A sequence with a number that
            is no slot, such as -1, is left out: nothing of it is read or written.
        cu_seqlens, state_layout, report: as for the function.
        intermediate_states: takes the state behind every `states_every` tokens, [B, T // states_every, H, V, K] as the
            states are stored, contiguous. With 1, each token's: to accept k of T speculated tokens, copy state k - 1 of
            a sequence to its slot. Of packed sequences, sequence n has those from cu_seqlens[n] // states_every on.
        options: more options of the command, such as "--blocks 4".
        settings: decay, scale and lower_bound of rwkv7 and rwkv6. Autocast changes nothing.

    Returns:
        The output, or a tuple of them where the recurrence has several.
    """
    if not isinstance(states, torch.Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"states is {type(states).__name__}, expected a tensor")
    if not (inputs and isinstance(inputs[0], torch.Tensor)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError("there are no tensors among the inputs")
    check_layout(state_layout)
    family, variant, words = _family_and_options(function, options, settings)
    if len(inputs) != len(family.inputs):
        names = ", ".join(spec.name for spec in family.inputs)
        raise TypeError(f"{family.name} takes {names}; {len(inputs)} tensors were given")
    if cu_seqlens is None and inputs[0].shape[1] > _MOST_TOKENS:
        raise ValueError(
            f"T is {inputs[0].shape[1]}, expected 1 to {_MOST_TOKENS} tokens of each sequence: call the function "
            "itself, with state_indices, which goes by chunks"
        )
    maps = Maps(cu_seqlens, state_indices, report)
    intermediate = (intermediate_states, 0 if intermediate_states is None else states_every)
    outputs = run_in_slots(family, inputs, variant, words, states, state_layout, maps, *intermediate)
    return outputs[0] if len(outputs) == 1 else outputs


def _family_and_options(
    function: Callable[..., Any], options: str, settings: dict[str, Any]
) -> tuple[Family, str, str]:
    options = f"--chunk 1 {options}".strip()
    if isinstance(function, Recurrence):
        if settings:
            raise TypeError(f"{', '.join(settings)}: options of wkvc.op belong to wkvc.op")
        return function.family, "", f"{function.options} {options}".strip()
    return family_of(function), *settings_of(**settings, options=options)
