"""Compiled kernels, and launches of them on torch tensors."""

import ctypes
import logging
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from . import _library
from ._checks import check_contiguous
from ._library import BACKWARD, FORWARD
from ._text import Signature

logger = logging.getLogger("wkvc")
_CPU = torch.device("cpu")

_WORDS = 4  # of 8 bytes, in a wkvc_tensor
_MOST_STRIDE = 1 << 24  # elements between neighbouring rows, of tokens and of a state


class Size(NamedTuple):
    """Batches, tokens of each and heads of each, and what of a launch is not dense."""

    batches: int
    tokens: int
    heads: int
    packed: int | None = None  # sequences that lie one behind the other in one batch
    slots: int | None = None  # of a pool in which sequences have their states
    shared: int | None = None  # heads of the inputs that have fewer
    shared_inputs: tuple[str, ...] = ()
    states_every: int = 0  # tokens between intermediate states, if there are such

    @property
    def sequences(self) -> int:
        return self.batches if self.packed is None else self.packed

    @property
    def intermediate_states(self) -> int:
        """Of each batch."""
        return self.tokens // self.states_every if self.states_every else 0

    @property
    def is_dense(self) -> bool:
        return self.packed is None and self.slots is None and self.shared is None


def _power_of_two_from(count: int, least: int = 16) -> int:
    size = least
    while size < count:
        size *= 2
    return size


def _batches_from(count: int) -> int:
    """The least number from `count` on that is a power of two, or three quarters of one."""
    size = _power_of_two_from(count, least=1)
    return size * 3 // 4 if size >= 4 and count <= size * 3 // 4 else size


def size_options(size: Size) -> str:
    """The options for the size that kernels are chosen for: few of them for many sizes of a program.

    A graph for any size becomes one for each number of heads.
    """
    batches = _batches_from(size.batches)
    shape = f"--shape {batches},{_power_of_two_from(size.tokens)},{int(size.heads)}"
    if size.packed is None or size.packed < 2:
        return shape
    return f"{shape} --sequences {_power_of_two_from(size.packed, least=2)}"


def _check_gpu(device: torch.device) -> None:
    capability = torch.cuda.get_device_capability(device)
    if _library.runs_on(capability):
        return
    name = torch.cuda.get_device_name(device)
    raise RuntimeError(
        f"{device} is {name} of compute capability {capability[0]}.{capability[1]}; wkvc has kernels for H100 and "
        "H200. CPU tensors run anywhere, on the host"
    )


class Kernels:
    """The passes of one recurrence on one device."""

    def __init__(self, text: str, options: str, device: torch.device, signature: Signature) -> None:
        start = time.perf_counter()
        self.device = device = _CPU if device.type == "meta" else device  # a result without data is like the CPU's
        self.head = {"K": signature.key_dim, "V": signature.value_dim}
        if device.type == "cuda":
            _check_gpu(device)
            with torch.cuda.device(device):
                self.handle = _library.prepare(text, options, _library.CUDA)
        else:
            self.handle = _library.prepare(text, options, _library.HOST)
        self.passes = (_library.tensors(self.handle, FORWARD), _library.tensors(self.handle, BACKWARD))
        self.saved = _library.saved(self.handle)
        seconds = time.perf_counter() - start
        logger.info("kernels of %s for %s were ready after %.1f s (%s)", signature.name, device, seconds, options)

    def saved_bytes(self, size: Size) -> int:
        """Bytes that the forward pass leaves for the backward pass."""
        return sum(_padded(length) for length in self._saved_lengths(size))

    def saved_gaps(self, size: Size) -> list[slice]:
        """The bytes of these that no kernel may write."""
        if size.packed is not None:  # how many rows a sequence has is known to the device alone
            return [slice(0, self.saved_bytes(size))]
        gaps, begin = [], 0
        for length in self._saved_lengths(size):
            gaps.append(slice(begin + length, begin + _padded(length)))
            begin += _padded(length)
        return [gap for gap in gaps if gap.start < gap.stop]

    def _saved_lengths(self, size: Size) -> Iterator[int]:
        """Bytes of each tensor that the forward pass leaves."""
        for tokens, row in self.saved:
            if size.packed is None:
                rows = size.batches * ((size.tokens + tokens - 1) // tokens)
            else:
                rows = size.tokens // tokens + (size.packed if tokens > 1 else 0)
            yield rows * size.heads * row


def _padded(length: int) -> int:
    """Bytes from the beginning of a saved tensor to that of the next one."""
    return (length + 255) // 256 * 256


class _Descriptors:
    """A wkvc_tensor for each tensor of a pass, of one launch at a time."""

    def __init__(self, shapes: Sequence[tuple[int, ...] | None], dtypes: Sequence[int], size: Size) -> None:
        self.sequences = sequences_of(size)
        self.maps = None if size.is_dense else ctypes.addressof(self.sequences)
        self.words = (ctypes.c_uint64 * (_WORDS * len(shapes)))()
        self.address = ctypes.addressof(self.words)
        self._shapes = [(ctypes.c_int64 * len(shape))(*shape) if shape is not None else None for shape in shapes]
        self._strides = [(ctypes.c_int64 * len(shape))() if shape is not None else None for shape in shapes]
        for index, shape in enumerate(self._shapes):
            if shape is None:
                continue
            self.words[_WORDS * index + 1] = ctypes.addressof(shape)
            self.words[_WORDS * index + 3] = len(shape) | dtypes[index] << 32  # rank and dtype

    def set_strides(self, index: int, tensor: torch.Tensor) -> None:
        strides = self._strides[index]
        assert strides is not None
        strides[:] = tensor.stride()
        self.words[_WORDS * index + 2] = ctypes.addressof(strides)


class Plan:
    """Launches of a pass at one size."""

    def __init__(self, kernels: Kernels, direction: int, size: Size, given: dict[str, bool]) -> None:
        """`given` has the names of the tensors that launches get, in their order, and which of them there are."""
        names = list(given)
        self._infos = kernels.passes[direction]
        self._slots = [
            (slot, names.index(info.name), info.dims) for slot, info in enumerate(self._infos) if given[info.name]
        ]
        self.kernels = kernels
        self.direction = direction
        self.size = size
        lengths = {"T": size.tokens, "M": size.intermediate_states, "H": size.heads, **kernels.head}
        lengths["S"] = size.shared or size.heads
        self._shapes = [shape_of(info.dims, lengths, size) if given[info.name] else None for info in self._infos]
        self._free: list[_Descriptors] = []
        sequences = None if size.is_dense else sequences_of(size)
        self.saved_bytes, self.scratch_bytes = _library.memory(kernels.handle, *size[:3], sequences)
        if self.saved_bytes != kernels.saved_bytes(size):
            formula = kernels.saved_bytes(size)
            raise RuntimeError(f"saved memory is {self.saved_bytes} bytes, but {formula} by the formula")
        self._cuda = kernels.device.index if kernels.device.type == "cuda" else None

    def launch(
        self,
        tensors: Sequence[torch.Tensor | None],
        saved: torch.Tensor | None,
        maps: "Maps",
    ) -> None:
        """Launches the pass on tensors in the order of their names, on the current stream of their device."""
        if self._cuda is None:
            self._launch(tensors, saved, maps, 0)
        elif torch.cuda.current_device() == self._cuda:
            self._launch(tensors, saved, maps, _raw_stream(self._cuda))
        else:
            with torch.cuda.device(self._cuda):
                self._launch(tensors, saved, maps, _raw_stream(self._cuda))

    def _launch(
        self,
        tensors: Sequence[torch.Tensor | None],
        saved: torch.Tensor | None,
        maps: "Maps",
        stream: int,
    ) -> None:
        try:
            descriptors = self._free.pop()
        except IndexError:
            descriptors = _Descriptors(self._shapes, [info.dtype for info in self._infos], self.size)
        copies = []  # alive until the launch is queued
        words = descriptors.words
        for slot, place, dims in self._slots:
            tensor = tensors[place]
            assert tensor is not None
            if tensor.is_contiguous():
                words[_WORDS * slot + 2] = 0
            else:
                if not _fits(tensor, dims):
                    tensor = tensor.contiguous()
                    copies.append(tensor)
                descriptors.set_strides(slot, tensor)
            words[_WORDS * slot] = tensor.data_ptr()
        if descriptors.maps is not None:
            maps.write_to(descriptors.sequences)
        scratch = None
        if self.scratch_bytes:
            scratch = torch.empty(self.scratch_bytes, dtype=torch.uint8, device=self.kernels.device)
        status = _library.launch(
            self.kernels.handle,
            self.direction,
            *self.size[:3],
            descriptors.maps,
            descriptors.address,
            len(self._infos),
            None if saved is None else saved.data_ptr(),
            None if scratch is None else scratch.data_ptr(),
            stream,
            _library.CHECK_LAYOUT,
        )
        if status:
            _library.check(status)
        self._free.append(descriptors)


class Maps(NamedTuple):
    """Tensors that say where sequences and their states lie, and one that says what is wrong with those."""

    cu_seqlens: torch.Tensor | None = None
    state_indices: torch.Tensor | None = None
    report: torch.Tensor | None = None

    def write_to(self, sequences: _library.Sequences) -> None:
        for name, tensor in zip(self._fields, self, strict=True):
            check_contiguous(name, tensor)  # calls of the same shapes may have other strides
        if self.cu_seqlens is not None:
            wide = self.cu_seqlens.dtype == torch.int64
            sequences.layout = _library.STARTS_64 if wide else _library.STARTS_32
            sequences.starts = self.cu_seqlens.data_ptr()
        if self.state_indices is not None:
            sequences.slots = self.state_indices.data_ptr()
        sequences.report = None if self.report is None else self.report.data_ptr()


def sequences_of(size: Size) -> _library.Sequences:
    layout = _library.BATCHES if size.packed is None else _library.STARTS_64
    return _library.Sequences(size.sequences, layout, None, None, size.slots or 0, size.shared or 0, None)


def shape_of(dims: Sequence[str], lengths: dict[str, int], size: Size) -> tuple[int, ...]:
    """The shape of a tensor: of tensors that follow tokens B are batches, of states slots if they lie in such."""
    states = size.sequences if size.slots is None else size.slots
    batches = size.batches if "T" in dims or "M" in dims else states
    return tuple(batches if dim == "B" else lengths[dim] for dim in dims)


def _raw_stream(device: int) -> int:
    return torch._C._cuda_getCurrentRawStream(device)  # pyright: ignore[reportAttributeAccessIssue]


def _fits(tensor: torch.Tensor, dims: tuple[str, ...]) -> bool:
    """Tells if kernels take the strides: elements of a row lie side by side, and rows near each other."""
    strides = tensor.stride()
    if dims[-1] in ("K", "V") and strides[-1] != 1:
        return False
    return all(stride < _MOST_STRIDE for dim, stride in zip(dims, strides, strict=True) if dim not in ("B", "H"))
