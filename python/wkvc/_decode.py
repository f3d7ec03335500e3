"""A few tokens of every sequence, with states updated in place."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch

from ._arguments import bind
from ._call import check_inputs, run_in_slots
from ._checks import check_tensor
from ._config import Config
from ._function import Function
from ._functions import Operator, settings_known, settle
from ._options import text_of
from ._recurrence import Recurrence
from ._states import FIELDS, States

MOST_TOKENS = 8  # of a sequence: more go faster by chunks


def decode(
    function: Callable[..., Any],
    *inputs: torch.Tensor,
    states: torch.Tensor | States,
    options: str | Config = "",
    **named: Any,
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Takes states through one to eight tokens of each sequence, in one launch, in float32.

    Args:
        function: a function of the package, such as wkvc.rwkv7, or what wkvc.op gave.
        inputs: as the function takes them, by position or by name, with T from 1 to 8; or packed in one batch, with
            cu_seqlens.
        states: a pool [slots, H, V, K] (or [slots, H, K, V] with state_layout="kv") of float32, float16 or bfloat16,
            updated in place; or a `States` that has the pool as initial_state.
        options: more options, such as Config(blocks=4) or "--blocks 4". Those of wkvc.op, which are of chunks, do not
            count.
        named: inputs, options of a built-in recurrence, and fields of `States`:
            state_indices: int32, the slot of each sequence; None: sequence n has states[n]. A sequence with a number
                that is no slot, such as -1, is left out: nothing of it is read or written.
            cu_seqlens, state_layout, report: as for the function. More than eight tokens of a sequence are a ValueError
                on the CPU. On a GPU and in compiled code the host does not read the numbers: longer sequences have
                right results there, and take longer than by chunks.
            intermediate_states: takes the state behind every `states_every` tokens, 1 where nothing is said,
                [B, T // states_every, H, V, K] as the states are stored, contiguous. With 1, each token's: to accept k
                of T speculated tokens, copy state k - 1 of a sequence to its slot. Of packed sequences, sequence n has
                those from cu_seqlens[n] // states_every on.
            Autocast changes nothing.

    Returns:
        The output, or a tuple of them where the recurrence has several.
    """
    places = {name: x for name, x in named.items() if name in _PLACES}
    if isinstance(function, Function) and not isinstance(states, States):
        places.setdefault("state_layout", function.state_layout)
    pool, states = _pool_and_states(states, places)
    settled = settle(function, {name: x for name, x in named.items() if name not in _PLACES})
    family = settled.family
    known = ("states", "options", *_PLACES, *settings_known(function))
    inputs = bind(f"wkvc.decode of {family.name}", family.names, inputs, settled.tensors, known)
    check_inputs(family, inputs)
    if isinstance(function, Operator):
        inputs = function.converted(family, inputs)
    first, dims = inputs[family.first_token], family.inputs[family.first_token].dims()
    if first.dim() == len(dims):
        _check_tokens(first.shape[1], states.cu_seqlens, states.report)
    own = "" if isinstance(function, Recurrence) else settled.options  # those of a text are of chunks
    words = f"{own} {_token_options(options)}".strip()
    outputs = run_in_slots(family, inputs, settled.variant, words, pool, states)
    return outputs[0] if len(outputs) == 1 else outputs


_PLACES = tuple(name for name in FIELDS if name not in ("initial_state", "output_final_state"))


def _pool_and_states(states: torch.Tensor | States, places: Mapping[str, Any]) -> tuple[torch.Tensor, States]:
    """The pool, and where states lie; raises TypeError or ValueError for what says nothing of them."""
    if not isinstance(states, States):
        check_tensor("states", states)
        states = States(states, **places)
    elif places:
        raise TypeError(f"{', '.join(places)} beside a States: put {', '.join(places)} into the States")
    if states.initial_state is None:
        raise ValueError("states have no initial_state: expected a pool of states, which is updated in place")
    has_results = states.intermediate_states is not None
    every = states.states_every or 1 if has_results else 0
    return states.initial_state, replace(states, states_every=every)


def _token_options(options: str | Config) -> str:
    """Options that go token by token."""
    options = text_of(options)
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
