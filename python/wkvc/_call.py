"""Steps before a call of an operator that all functions of the package share."""

from collections.abc import Sequence
from typing import Literal, NoReturn

import torch

from ._operators import Family
from ._slots import in_slots

StateLayout = Literal["vk", "kv"]
_FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def autocast_dtype(tensor: torch.Tensor) -> torch.dtype | None:
    """The dtype of autocast on the tensor's device, where it is on."""
    device = tensor.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else None


def cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The tensor in a dtype, as autocast does it: numbers of 64 bits and whole numbers stay."""
    return tensor.to(dtype) if tensor.dtype in _FLOATS else tensor


def cast_decay(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """A decay beside tensors of `dtype`: as it is in that dtype, else in float32, never rounded."""
    return tensor if tensor.dtype == dtype else cast(tensor, torch.float32)


def call(
    family: Family,
    inputs: Sequence[torch.Tensor],
    variant: str,
    options: str,
    initial_state: torch.Tensor | None,
    output_final_state: bool,
    state_layout: StateLayout,
    cu_seqlens: torch.Tensor | None = None,
    state_indices: torch.Tensor | None = None,
    report: torch.Tensor | None = None,
) -> tuple[tuple[torch.Tensor, ...], torch.Tensor | None]:
    """The outputs and the final state, or None in its place."""
    check_layout(state_layout)
    _check_tensors(family, inputs, initial_state)
    if cu_seqlens is not None and not isinstance(cu_seqlens, torch.Tensor):
        raise TypeError(f"cu_seqlens is {type(cu_seqlens).__name__}, expected a tensor of int32 or int64")
    if state_indices is not None:
        if initial_state is None:
            raise ValueError("state_indices is given without initial_state, the pool that it points to")
        maps = (state_indices, cu_seqlens, report)
        return run_in_slots(family, inputs, variant, options, initial_state, state_layout, *maps), initial_state
    if report is not None:
        raise ValueError("report is given without state_indices: it is for states in slots")
    if initial_state is not None:
        if autocast_dtype(inputs[0]) is not None:
            initial_state = cast(initial_state, torch.float32)
        if state_layout == "kv":
            initial_state = initial_state.transpose(-1, -2)
    grads = _wanted_gradients(family, inputs, initial_state)
    *outputs, final_state, _ = family.forward_op(
        *inputs, initial_state, cu_seqlens, variant, options, grads, output_final_state
    )
    if not output_final_state:
        return tuple(outputs), None
    return tuple(outputs), final_state.transpose(-1, -2) if state_layout == "kv" else final_state


def check_layout(state_layout: str) -> None:
    if state_layout not in ("vk", "kv"):
        raise ValueError(f'state_layout is {state_layout!r}, expected "vk" (values first) or "kv" (keys first)')


def run_in_slots(
    family: Family,
    inputs: Sequence[torch.Tensor],
    variant: str,
    options: str,
    states: torch.Tensor,
    state_layout: StateLayout,
    state_indices: torch.Tensor | None,
    cu_seqlens: torch.Tensor | None,
    report: torch.Tensor | None,
) -> tuple[torch.Tensor, ...]:
    """The outputs; updates the states in place."""
    outputs = in_slots(family).op(*inputs, states, state_indices, cu_seqlens, report, variant, options, state_layout)
    return outputs if isinstance(outputs, tuple) else (outputs,)


def _check_tensors(family: Family, inputs: Sequence[torch.Tensor], initial_state: torch.Tensor | None) -> None:
    for place, tensor in enumerate(inputs):
        if not (isinstance(tensor, torch.Tensor) and (tensor.is_cuda or tensor.is_cpu)):
            _refuse(family.inputs[place].name, tensor)
    if initial_state is not None:
        if not (isinstance(initial_state, torch.Tensor) and (initial_state.is_cuda or initial_state.is_cpu)):
            _refuse("initial_state", initial_state)
        if initial_state.dim() != 4:
            raise ValueError(f"initial_state has shape {list(initial_state.shape)}, expected four dimensions")


def _refuse(name: str, given: object) -> NoReturn:
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"{name} is {type(given).__name__}, expected a tensor")
    if given.device.type == "meta":
        raise ValueError(f"{name} is on meta and has no data; expected a CPU tensor or one of an H100 or H200")
    raise ValueError(f"{name} is on {given.device}, expected a CPU tensor or one of an H100 or H200")


def _wanted_gradients(family: Family, inputs: Sequence[torch.Tensor], initial_state: torch.Tensor | None) -> str:
    if not torch.is_grad_enabled():
        return ""
    names = [spec.name for spec, tensor in zip(family.inputs, inputs, strict=True) if tensor.requires_grad]
    if initial_state is not None and initial_state.requires_grad:
        names.append("initial_state")
    return ",".join(names)
