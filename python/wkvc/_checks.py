"""Checks of tensors: what is wrong is a TypeError or a ValueError that says what was given and expected."""

from collections.abc import Sequence

import torch

from ._text import NAMES, Signature, Spec


def dtype_name(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def check_kind(name: str, tensor: torch.Tensor, device: torch.device) -> None:
    if tensor.dtype not in NAMES:
        raise TypeError(f"{name} is {dtype_name(tensor)}, expected float32, float16 or bfloat16")
    if tensor.device != device:
        raise ValueError(f"{name} is on {tensor.device}, but the first input is on {device}: move it there")
    if device.type == "meta":
        raise ValueError(f"{name} is on meta and has no data; expected a CPU tensor or one of an H100 or H200")


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
    if cu_seqlens.stride(0) != 1 and cu_seqlens.shape[0] > 1:
        raise ValueError("cu_seqlens is not contiguous: pass cu_seqlens.contiguous()")
    if batches != 1:
        raise ValueError(f"B is {batches}, expected 1 with cu_seqlens: its sequences lie one behind the other")


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
