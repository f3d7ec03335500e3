"""Checks of tensors: what is wrong is a TypeError or a ValueError that says what was given and expected."""

import math
import numbers
from collections.abc import Sequence
from typing import Any

import torch

from ._text import NAMES, Signature, Spec


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def kind_of(given: object) -> str:
    """What a message says of an argument of a wrong type."""
    return repr(given) if given is None or isinstance(given, str | numbers.Number) else type(given).__name__


def check_tensor(name: str, given: Any) -> None:
    """Raises TypeError or ValueError unless this is a tensor with elements that a kernel could read."""
    if not isinstance(given, torch.Tensor):
        raise TypeError(f"{name} is {kind_of(given)}, expected a tensor")
    if given.layout is torch.jagged:
        raise ValueError(
            f"{name} is a nested tensor, expected sequences one behind the other: pass {name}.values().unsqueeze(0), "
            f"the other inputs alike, and cu_seqlens={name}.offsets()"
        )
    if given.is_nested:
        raise ValueError(f"{name} is a nested tensor of another layout than torch.jagged: convert it, or pad it")
    if given.layout is not torch.strided:
        raise ValueError(f"{name} has the layout {given.layout}, expected a dense tensor: call to_dense() before")
    if not (given.is_cuda or given.is_cpu or given.is_meta):
        raise ValueError(f"{name} is on {given.device}; expected a CPU tensor or one of an H100 or H200")


def check_tensors(**given: Any) -> None:
    """Raises TypeError or ValueError for what is neither a tensor nor None."""
    for name, tensor in given.items():
        if tensor is not None:
            check_tensor(name, tensor)


def check_number(name: str, given: Any) -> None:
    """Raises TypeError or ValueError unless this is a finite number."""
    if not isinstance(given, numbers.Real):
        raise TypeError(f"{name} is {kind_of(given)}, expected a number")
    if not -math.inf < float(given) < math.inf:
        raise ValueError(f"{name} is {given}, expected a finite number")


def check_kind(name: str, tensor: torch.Tensor, device: torch.device) -> None:
    if tensor.dtype not in NAMES:
        raise TypeError(f"{name} is {dtype_name(tensor)}, expected float32, float16 or bfloat16")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, but the first input is on {device}: move it there")


MOST_KEYS, MOST_VALUES = 256, 512  # of a head


def check_shape(name: str, tensor: torch.Tensor, dims: Sequence[str], lengths: dict[str, tuple[int, str]]) -> None:
    shape = list(tensor.shape)
    if len(shape) != len(dims):
        raise ValueError(f"{name} has shape {shape}, expected [{', '.join(dims)}], {len(dims)} dimensions")
    for dim, length in zip(dims, shape, strict=True):
        expected, of = lengths.setdefault(dim, (length, name))
        if length != expected:
            hint = _state_hint(name, shape, dims, lengths)
            raise ValueError(
                f"{name} has shape {shape}, expected [{', '.join(dims)}] with {dim} = {expected} as in {of}{hint}"
            )


def check_head(lengths: dict[str, tuple[int, str]]) -> None:
    """Raises ValueError for keys or values of which there are no kernels; `lengths` have the tensor that says so."""
    for dim, what, most in (("K", "keys", MOST_KEYS), ("V", "values", MOST_VALUES)):
        length, name = lengths.get(dim, (16, ""))
        if length % 16 != 0 or not 16 <= length <= most:
            raise ValueError(f"{name} has {length} {what} a head, expected a multiple of 16 from 16 to {most}")


def _state_hint(name: str, shape: list[int], dims: Sequence[str], lengths: dict[str, tuple[int, str]]) -> str:
    if name != "initial_state":
        return ""
    swapped = [lengths[dim][0] for dim in (dims[0], dims[1], dims[3], dims[2])]
    return '; it looks like a state with keys first: pass state_layout="kv"' if shape == swapped else ""


def check_starts(cu_seqlens: torch.Tensor, first: torch.Tensor, batches: int) -> None:
    """Raises TypeError or ValueError unless the tensor can say where sequences begin in tensors like `first`."""
    if cu_seqlens.dtype not in (torch.int32, torch.int64):
        raise TypeError(f"cu_seqlens is {dtype_name(cu_seqlens)}, expected int32 or int64")
    if cu_seqlens.dim() != 1 or cu_seqlens.shape[0] < 1:
        raise ValueError(f"cu_seqlens has shape {list(cu_seqlens.shape)}, expected [sequences + 1]")
    if cu_seqlens.device != first.device:
        devices = f"{cu_seqlens.device}, but the first input is on {first.device}"
        raise ValueError(f"cu_seqlens is on {devices}: move it there")
    check_contiguous("cu_seqlens", cu_seqlens)
    if batches != 1:
        raise ValueError(f"B is {batches}, expected 1 with cu_seqlens: its sequences lie one behind the other")


def check_slots(states: torch.Tensor, head: tuple[int, int], heads: int, layout: str, device: torch.device) -> None:
    """Raises TypeError or ValueError unless the tensor can hold states that are updated in place."""
    check_kind("states", states, device)
    keys, values = head
    last = (values, keys) if layout == "vk" else (keys, values)
    shape = list(states.shape)
    if shape[1:] != [heads, *last]:
        dims = "[slots, H, V, K]" if layout == "vk" else "[slots, H, K, V]"
        raise ValueError(f"states have shape {shape}, expected {dims} = {['slots', heads, *last]}")
    check_rows(states)


def check_rows(states: torch.Tensor) -> None:
    """Raises ValueError unless kernels can update the states where they lie."""
    strides = states.stride()
    shares = 0 in strides and any(stride == 0 and size > 1 for stride, size in zip(strides, states.shape, strict=True))
    if shares or strides[3] != 1 or strides[2] >= 1 << 24:
        own = " in memory of their own" if shares else ""
        raise ValueError(
            f"states have strides {list(strides)}: expected contiguous rows{own}, as they are updated in place"
        )


def check_contiguous(name: str, tensor: torch.Tensor | None) -> None:
    """Raises ValueError unless kernels can take the tensor as it lies: there is no copy of it."""
    if tensor is not None and not tensor.is_contiguous():
        raise ValueError(f"{name} is not contiguous: pass a contiguous tensor")


def check_indices(state_indices: torch.Tensor | None, states: torch.Tensor, sequences: int) -> None:
    if state_indices is None:
        if states.shape[0] != sequences:
            given = f"states have {states.shape[0]} slots, but there are {sequences} sequences"
            raise ValueError(f"{given}: pass state_indices, or a state for each sequence")
        return
    if state_indices.dtype != torch.int32:
        raise TypeError(f"state_indices is {dtype_name(state_indices)}, expected int32")
    if list(state_indices.shape) != [sequences]:
        shape = list(state_indices.shape)
        raise ValueError(f"state_indices has shape {shape}, expected [{sequences}], a slot for each sequence")
    if state_indices.device != states.device:
        devices = f"{state_indices.device}, but the states are on {states.device}"
        raise ValueError(f"state_indices is on {devices}: move it there")
    check_contiguous("state_indices", state_indices)


def check_intermediate_states(
    intermediate_states: torch.Tensor | None, states_every: int, states: torch.Tensor, batches: int, tokens: int
) -> None:
    """Raises TypeError or ValueError unless the tensor can take the state behind every `states_every` tokens."""
    if intermediate_states is None:
        if states_every != 0:
            raise ValueError(f"states_every is {states_every}, but there is no tensor intermediate_states")
        return
    if states_every < 1:
        raise ValueError(f"states_every is {states_every}, expected the tokens between intermediate_states, from 1 on")
    if intermediate_states.dtype != states.dtype or intermediate_states.device != states.device:
        given = f"{dtype_name(intermediate_states)} on {intermediate_states.device}"
        raise TypeError(f"intermediate_states is {given}, expected {dtype_name(states)} on {states.device}, as states")
    expected = [batches, tokens // states_every, *states.shape[1:]]
    if list(intermediate_states.shape) != expected:
        given = f"intermediate_states has shape {list(intermediate_states.shape)}"
        raise ValueError(f"{given}, expected [B, T // states_every, …] = {expected}, a state as states has them")
    check_contiguous("intermediate_states", intermediate_states)


def check_report(report: torch.Tensor | None, device: torch.device) -> None:
    if report is None:
        return
    if report.dtype != torch.int32 or list(report.shape) != [2] or report.stride(0) != 1 or report.device != device:
        given = f"{dtype_name(report)} {list(report.shape)} on {report.device}"
        raise ValueError(f"report is {given}, expected int32 [2] on {device}, contiguous")


def check_dtypes(signature: Signature, inputs: Sequence[Spec], tensors: Sequence[torch.Tensor]) -> None:
    expected = {spec.name: spec.dtype for spec in signature.inputs}
    for spec, tensor in zip(inputs, tensors, strict=True):
        if tensor.dtype == expected[spec.name]:
            continue
        wanted = str(expected[spec.name]).removeprefix("torch.")
        given = f"{spec.name} is {dtype_name(tensor)}"
        of = next((i.name for i, t in zip(inputs, tensors, strict=True) if t.dtype == expected[spec.name]), None)
        beside = f" like {of}" if of else ""
        raise TypeError(f"{given}, expected {wanted}{beside}: convert it, or call this under torch.autocast")
