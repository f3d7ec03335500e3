"""Kernels compiled ahead of the first call."""

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ._checks import MOST_KEYS, MOST_VALUES, kind_of
from ._functions import Operator, settle
from ._operators import Family
from ._states import FIELDS, STATE_ARGUMENTS, States
from ._text import NAMES, Spec

_BAR = 24  # characters


def prepare(
    function: Callable[..., Any],
    sizes: Sequence[tuple[int, int, int]],
    *,
    head: int | tuple[int, int] = 64,
    dtype: torch.dtype = torch.bfloat16,
    device: str | torch.device = "cuda",
    grad: bool = True,
    progress: bool | None = None,
    **options: Any,
) -> None:
    """Compiles what calls of a function will need, so that none of them waits.

    Args:
        function: a function of the package, such as wkvc.rwkv7, or what wkvc.op gave.
        sizes: (batches, tokens, heads) of the calls.
        head: keys and values of a head: one number for both, or a pair. A text of wkvc.op has its own.
        dtype: of the inputs. A text of wkvc.op has its own.
        device: "cuda", one of several GPUs, or "cpu".
        grad: whether gradients of all inputs will be computed.
        progress: whether to show a bar on the standard error; None: where that is a terminal.
        options: as for the calls: mma="bf16", decay="log", … Of tensors, such as cu_seqlens, only the shapes count.

    Kernels on the GPU are kept on disk: another process finds them there.
    """
    family = settle(function, {name: x for name, x in options.items() if name not in STATE_ARGUMENTS}).family
    sizes = _checked_sizes(sizes)
    _check_settings(head, dtype, device, grad)
    show = sys.stderr.isatty() if progress is None else progress
    for done, size in enumerate(sizes):
        if show:
            _draw(sys.stderr, done, len(sizes), f"{family.name} {','.join(map(str, size))}")
        _call_without_memory(function, family, size, head, dtype, torch.device(device), grad, options)
    if show:
        _draw(sys.stderr, len(sizes), len(sizes), "ready\n")


def _checked_sizes(sizes: Any) -> list[tuple[int, int, int]]:
    """The sizes as a list; raises TypeError unless each one has three whole numbers."""
    expected = "expected batches, tokens and heads of each call, such as [(8, 4096, 12)]"
    if not isinstance(sizes, Iterable):
        raise TypeError(f"sizes are {kind_of(sizes)}, {expected}")
    sizes = list(sizes)
    for size in sizes:
        if not (isinstance(size, Sequence) and len(size) == 3 and all(isinstance(n, int) and n >= 0 for n in size)):
            raise TypeError(f"sizes have {size!r}, {expected}")
    return sizes


def _check_settings(head: Any, dtype: Any, device: Any, grad: Any) -> None:
    """Raises TypeError, ValueError or RuntimeError for what tensors of a call cannot have."""
    dims = (head, head) if isinstance(head, int) else head
    extents = [range(16, most + 1, 16) for most in (MOST_KEYS, MOST_VALUES)]
    if not (
        isinstance(dims, Sequence) and len(dims) == 2 and all(n in of for n, of in zip(dims, extents, strict=True))
    ):
        raise ValueError(
            f"head is {head!r}, expected a multiple of 16 up to {MOST_KEYS}, or a pair of them: keys, and values up to "
            f"{MOST_VALUES}"
        )
    if dtype not in NAMES:
        raise TypeError(f"dtype is {dtype!r}, expected torch.float32, torch.float16 or torch.bfloat16")
    if str(device).partition(":")[0] not in ("cpu", "cuda"):
        raise ValueError(f'device is {str(device)!r}, expected "cuda", one of several GPUs such as "cuda:1", or "cpu"')
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise RuntimeError(
            f'device is {str(device)!r}, but PyTorch finds no GPU here: pass device="cpu" for CPU tensors'
        )
    if not isinstance(grad, bool):
        raise TypeError(f"grad is {kind_of(grad)}, expected True or False")


def _draw(stream: TextIO, done: int, count: int, what: str) -> None:
    filled = _BAR * done // max(count, 1)
    stream.write(f"\r\x1b[Kwkvc [{'#' * filled}{'.' * (_BAR - filled)}] {done}/{count} {what}")
    stream.flush()


def _call_without_memory(
    function: Callable[..., Any],
    family: Family,
    size: tuple[int, int, int],
    head: int | tuple[int, int],
    dtype: torch.dtype,
    device: torch.device,
    grad: bool,
    options: dict[str, Any],
) -> None:
    keys, values = head if isinstance(head, Sequence) else (head, head)
    lengths = dict(zip("BTH", size, strict=True)) | {"K": keys, "V": values}
    if family.head is not None:
        lengths |= {"K": family.head[0], "V": family.head[1]}
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    with FakeTensorMode() as mode, torch.set_grad_enabled(grad):
        inputs = [
            torch.empty(
                [lengths[dim] for dim in spec.dims()],
                dtype=spec.dtype if family.head is not None or _is_fixed(function, spec) else dtype,
                device=device,
                requires_grad=grad,
            )
            for spec in family.inputs
        ]
        function(*inputs, **{name: _without_memory(mode, option) for name, option in options.items()})


def _is_fixed(function: Callable[..., Any], spec: Spec) -> bool:
    """Whether an input of a built-in recurrence has a dtype of its own."""
    return isinstance(function, Operator) and spec.dtype == torch.float32


def _without_memory(mode: FakeTensorMode, option: Any) -> Any:
    if isinstance(option, States):
        return States(**{name: _without_memory(mode, getattr(option, name)) for name in FIELDS})
    return mode.from_tensor(option) if isinstance(option, torch.Tensor) else option
