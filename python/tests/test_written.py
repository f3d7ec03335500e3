"""Every byte of what operators give is written: results and saved memory do not depend on what memory had before."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import wkvc
from conftest import a_state, rwkv6_inputs, rwkv7_inputs
from test_torch import F32, RAW
from test_values import GATED_DELTA_NET

TOKENS = [1, 15, 37]
OPTIONS = [F32, "--mma f16", "--mma f16 --saved f16 --teams 1,2", "--mma f16 --parts 2", "--mma f16 --scales guarded"]
Arguments = tuple[Any, tuple[Any, ...]]


def filled(monkeypatch: pytest.MonkeyPatch, byte: int) -> None:
    """Gives every new tensor without numbers this byte everywhere."""
    empty = torch.empty

    def full(*arguments: Any, **options: Any) -> torch.Tensor:
        tensor = empty(*arguments, **options)
        if tensor.numel():
            tensor.view(-1).view(torch.uint8).fill_(byte)
        return tensor

    monkeypatch.setattr(torch, "empty", full)


def forward(options: str, tokens: int, cu_seqlens: torch.Tensor | None = None) -> Iterator[Arguments]:
    """Operators and their arguments."""
    batches = 2 if cu_seqlens is None else 1
    seven = [tensor.detach()[:batches, :tokens] for tensor in rwkv7_inputs()]
    six = [*(tensor.detach()[:batches, :tokens] for tensor in rwkv6_inputs()[:4]), rwkv6_inputs()[4].detach()]
    state = a_state().detach() if cu_seqlens is None else None
    yield torch.ops.wkvc.rwkv7.default, (*seven, state, cu_seqlens, RAW, options, "r,w,k,v,a,b", True)
    yield torch.ops.wkvc.rwkv6.default, (*six, state, cu_seqlens, RAW, options, "r,w,k,v,u", True)
    family = wkvc.op(GATED_DELTA_NET).family
    given = (seven[0], seven[2], seven[3], seven[0][..., 0], seven[2][..., 0])
    yield family.forward_op, (*given, state, cu_seqlens, "", options, "q,k,v,decay,gate", True)


def bytes_of(results: Any) -> list[bytes]:
    return [tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes() for tensor in results]


def with_gradients(monkeypatch: pytest.MonkeyPatch, byte: int, op: Any, arguments: tuple[Any, ...]) -> list[bytes]:
    """The bytes of results and gradients where memory had such bytes before."""
    with monkeypatch.context() as patch:
        filled(patch, byte)
        results = op(*arguments)
        *outputs, final_state, saved = results
        backward = getattr(torch.ops.wkvc, op.name().removeprefix("wkvc::") + "_backward").default
        *tensors, variant, options, grads, _ = arguments
        found = backward(*tensors, saved, *outputs, final_state, variant, options, grads, arguments[-6] is not None)
        return bytes_of((*results, *found))


def expect_written(monkeypatch: pytest.MonkeyPatch, op: Any, arguments: tuple[Any, ...]) -> None:
    one, other = (with_gradients(monkeypatch, byte, op, arguments) for byte in (0x00, 0xA5))
    assert [len(result) for result in one] == [len(result) for result in other]
    assert one == other


@pytest.mark.parametrize("tokens", TOKENS)
@pytest.mark.parametrize("options", OPTIONS)
def test_of_batches(monkeypatch: pytest.MonkeyPatch, options: str, tokens: int) -> None:
    for op, arguments in forward(options, tokens):
        if "--teams" in options and "delta" in op.name():
            continue  # whose backward kernel has no teams
        expect_written(monkeypatch, op, arguments)


@pytest.mark.parametrize("starts", [[0, 9, 9, 37], [0, 16, 32], [0, 1, 2, 3], [0, 0]])
def test_of_packed_sequences(monkeypatch: pytest.MonkeyPatch, starts: list[int]) -> None:
    for op, arguments in forward("--mma f16 --save-every 16", 37, torch.tensor(starts)):
        expect_written(monkeypatch, op, arguments)


@pytest.mark.parametrize("tokens", TOKENS)
def test_opcheck_of_any_size(tokens: int) -> None:
    for op, arguments in forward("--mma f16", tokens):
        torch.library.opcheck(op, arguments, test_utils=("test_schema", "test_faketensor"))
