"""Kernels compiled ahead of the first call."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from ._operators import Family
from ._recurrence import Recurrence
from ._rwkv import family_of

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
        function: wkvc.rwkv7, wkvc.rwkv6 or what wkvc.op gave.
        sizes: (batches, tokens, heads) of the calls.
        head: keys and values of a head: one number for both, or a pair. A text of wkvc.op has its own.
        dtype: of the inputs. A text of wkvc.op has its own.
        device: "cuda", one of several GPUs, or "cpu".
        grad: whether gradients of all inputs will be computed.
        progress: whether to show a bar on the standard error; None: where that is a terminal.
        options: as for the calls: mma="bf16", decay="log", …

    Kernels on the GPU are kept on disk: another process finds them there.
    """
    family = function.family if isinstance(function, Recurrence) else family_of(function)
    show = sys.stderr.isatty() if progress is None else progress
    for done, size in enumerate(sizes):
        if show:
            _draw(sys.stderr, done, len(sizes), f"{family.name} {','.join(map(str, size))}")
        _call_without_memory(function, family, size, head, dtype, torch.device(device), grad, options)
    if show:
        _draw(sys.stderr, len(sizes), len(sizes), "ready\n")


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
    keys, values = (head, head) if isinstance(head, int) else head
    lengths = dict(zip("BTH", size, strict=True)) | {"K": keys, "V": values}
    if family.head is not None:
        lengths |= {"K": family.head[0], "V": family.head[1]}
    if device.type == "cuda" and device.index is None:
        device = torch.device("cuda", torch.cuda.current_device())
    with FakeTensorMode(), torch.set_grad_enabled(grad):
        inputs = [
            torch.empty(
                [lengths[dim] for dim in spec.dims()],
                dtype=spec.dtype if family.head is not None else dtype,
                device=device,
                requires_grad=grad,
            )
            for spec in family.inputs
        ]
        function(*inputs, **options)
