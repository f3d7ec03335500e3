"""Steps before a call of an operator that all functions of the package share."""

from collections.abc import Sequence
from typing import Any

import torch

from ._checks import check_tensor
from ._operators import Family
from ._states import StateLayout, States

_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def autocast_dtype(tensor: torch.Tensor) -> torch.dtype | None:
    """The dtype of autocast on the tensor's device, where it is on."""
    device = tensor.device.type
    if device == "meta":  # which has none
        return None
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a dtype, as autocast does it: numbers of 64 bits and whole numbers stay."""
    return tensor.to(dtype) if tensor.dtype in _FLOATS else tensor


def cast_decay(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A decay beside tensors of `dtype`: as it is in that dtype, else in float32, never rounded."""
    return tensor if tensor.dtype == dtype else cast(tensor, torch.float32)


def call(
    family: Family, inputs: Sequence[torch.Tensor], variant: str, options: str, states: States
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor | None]:
    """The outputs and the final state, or None in its place."""
    initial_state = states.initial_state
    if states.state_indices is not None:
        if initial_state is None:
            raise ValueError("state_indices is given without initial_state, the pool that it points to")
        return run_in_slots(family, inputs, variant, options, initial_state, states), initial_state
    if states.report is not None:
        raise ValueError("report is given without state_indices: it is for states in slots")
    if initial_state is not None:
        initial_state = _values_first(initial_state, inputs[0], states.state_layout)
    if states.intermediate_states is not None or states.states_every != 0:
        _refuse_gradients(inputs, initial_state)
        own = _own_states(family, inputs, initial_state, states.state_layout, states.cu_seqlens)
        outputs = run_in_slots(family, inputs, variant, options, own, states)
        return outputs, own if states.output_final_state else None
    grads = _wanted_gradients(family, inputs, initial_state)
    *outputs, final_state, _ = family.forward(
        *inputs, initial_state, states.cu_seqlens, variant, options, grads, states.output_final_state
    )
    if not states.output_final_state:
        return tuple(outputs), None
    # In rows of its own layout, as `decode` updates states.
    return tuple(outputs), final_state.transpose(-1, -2).contiguous() if states.state_layout == "kv" else final_state


def check_inputs(family: Family, inputs: Sequence[Any]) -> None:
    """Raises TypeError or ValueError unless all are tensors."""
    for spec, given in zip(family.inputs, inputs, strict=True):
        check_tensor(spec.name, given)


def run_in_slots(
    family: Family, inputs: Sequence[torch.Tensor], variant: str, options: str, pool: torch.Tensor, states: States
) -> tuple[torch.Tensor, ...]:
    """The outputs; updates the pool in place, and fills intermediate_states."""
    places = (pool, states.state_indices, states.cu_seqlens, states.report)
    settings = (states.intermediate_states, states.states_every, variant, options, states.state_layout)
    outputs = family.in_slots(*inputs, *places, *settings)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _refuse_gradients(inputs: Sequence[torch.Tensor], initial_state: torch.Tensor | None) -> None:
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (*inputs, initial_state)):
        raise RuntimeError("no gradients come from intermediate_states: call this under torch.no_grad()")


def _values_first(initial_state: torch.Tensor, first: torch.Tensor, state_layout: StateLayout) -> torch.Tensor:
    """The initial state as [B, H, V, K], and in float32 under autocast."""
    if autocast_dtype(first) is not None:
        initial_state = cast(initial_state, torch.float32)
    if initial_state.dim() != 4:
        raise ValueError(f"initial_state has shape {list(initial_state.shape)}, expected four dimensions")
    return initial_state if state_layout == "vk" else initial_state.transpose(-1, -2)


def _own_states(
    family: Family,
    inputs: Sequence[torch.Tensor],
    initial_state: torch.Tensor | None,
    state_layout: StateLayout,
    cu_seqlens: torch.Tensor | None,
) -> torch.Tensor:
    """Initial states of all sequences in the layout, in memory of their own, to be updated in place."""
    head, size = family.read(inputs, initial_state, cu_seqlens)
    if initial_state is None:
        last = (head.value_dim, head.key_dim) if state_layout == "vk" else (head.key_dim, head.value_dim)
        return inputs[0].new_zeros((size.sequences, size.heads, *last), dtype=torch.float32)
    states = initial_state if state_layout == "vk" else initial_state.transpose(-1, -2)
    return states.clone(memory_format=torch.contiguous_format)


def _wanted_gradients(family: Family, inputs: Sequence[torch.Tensor], initial_state: torch.Tensor | None) -> str:
    if not torch.is_grad_enabled():
        return ""
    # Under torch.func a tensor does not tell what outer transforms differentiate by.
    every = torch._C._are_functorch_transforms_active()
    names = [spec.name for spec, tensor in zip(family.inputs, inputs, strict=True) if every or tensor.requires_grad]
    if initial_state is not None and (every or initial_state.requires_grad):
        names.append("initial_state")
    return ",".join(names)
