"""A few tokens of every sequence, with states updated in place."""

from collections.abc import Callable
from typing import Any

import torch

from ._arguments import bind, keywords_of
from ._call import StateLayout, check_inputs, check_states, run_in_slots
from ._checks import check_tensor, check_tensors
from ._functions import Operator, resolve, settings_known
from ._kernels import Maps
from ._options import check_text

MOST_TOKENS = 8  # of a sequence: more go faster by chunks


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
        function: a function of the package, such as wkvc.rwkv7, or what wkvc.op gave.
        inputs: as the function takes them, by position or by name, with T from 1 to 8; or packed in one batch, with
            cu_seqlens.
        states: a pool [slots, H, V, K] (or [slots, H, K, V] with state_layout="kv") of float32, float16 or bfloat16,
            updated in place.
        state_indices: int32, the slot of each sequence; None: sequence n has states[n]. A sequence with a number that
            is no slot, such as -1, is left out: nothing of it is read or written.
        cu_seqlens, state_layout, report: as for the function. More than eight tokens of a sequence are a ValueError on
            the CPU. On a GPU and in compiled code the host does not read the numbers: longer sequences have right
            results there, and take longer than by chunks.
        intermediate_states: takes the state behind every `states_every` tokens, [B, T // states_every, H, V, K] as the
            states are stored, contiguous. With 1, each token's: to accept k of T speculated tokens, copy state k - 1 of
            a sequence to its slot. Of packed sequences, sequence n has those from cu_seqlens[n] // states_every on.
        options: more options of the command, such as "--blocks 4". Those of wkvc.op, which are of chunks, do not count.
        settings: inputs by name, and the options of a built-in recurrence. Autocast changes nothing.

    Returns:
        The output, or a tuple of them where the recurrence has several.
    """
    check_states(state_layout, states_every)
    family, variant, words, named = resolve(function, settings, _token_options(options))
    known = (*_KEYWORDS, *settings_known(function))
    inputs = bind(f"wkvc.decode of {family.name}", family.names, inputs, named, known)
    check_inputs(family, inputs)
    if isinstance(function, Operator):
        inputs = function.widened(family, inputs)
    check_tensor("states", states)
    check_tensors(cu_seqlens=cu_seqlens, state_indices=state_indices, report=report)
    check_tensors(intermediate_states=intermediate_states)
    first, dims = inputs[family.first_token], family.inputs[family.first_token].dims()
    if first.dim() == len(dims):
        _check_tokens(first.shape[1], cu_seqlens, report)
    maps = Maps(cu_seqlens, state_indices, report)
    intermediate = (intermediate_states, 0 if intermediate_states is None else states_every)
    outputs = run_in_slots(family, inputs, variant, words, states, state_layout, maps, *intermediate)
    return outputs[0] if len(outputs) == 1 else outputs


_KEYWORDS = keywords_of(decode)


def _token_options(options: str) -> str:
    """Options that go token by token."""
    check_text(options)
    if "--chunk" in options:
        raise ValueError(f"options are {options!r}, but wkvc.decode goes token by token: leave --chunk out")
    return f"--chunk 1 {options}".strip()


def _check_tokens(tokens: int, cu_seqlens: torch.Tensor | None, report: torch.Tensor | None) -> None:
    """Raises ValueError where there are no tokens, or the host knows of a sequence of more than eight."""
    expected = f"expected 1 to {MOST_TOKENS} tokens of each sequence"
    if tokens == 0:
        raise ValueError(f"T is 0, {expected}: leave the call out, as it would change no state and report nothing")
    longest = tokens
    if cu_seqlens is not None:
        longest = int(cu_seqlens.diff().max()) if _host_reads(cu_seqlens, report) else 0
    if longest > MOST_TOKENS:
        what = "T is" if cu_seqlens is None else "cu_seqlens has a sequence of"
        raise ValueError(
            f"{what} {longest}, {expected}: call the function itself, with state_indices, which goes by chunks"
        )


def _host_reads(cu_seqlens: torch.Tensor, report: torch.Tensor | None) -> bool:
    """Tells if lengths are looked at: as operators do it, on the CPU and without a report."""
    is_plain = type(cu_seqlens) is torch.Tensor and not torch.compiler.is_compiling()
    return report is None and is_plain and cu_seqlens.is_cpu and cu_seqlens.dim() == 1 and cu_seqlens.shape[0] > 1
