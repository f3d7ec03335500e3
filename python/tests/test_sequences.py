"""Sequences one behind the other: each has the bytes that it has alone."""

from itertools import pairwise

import pytest
import torch

import wkvc
from conftest import KEYS, VALUES, gradients, rwkv7_inputs
from wkvc._rwkv import settings_of

LENGTHS = [9, 0, 33, 1, 21]
HEADS = 2


def starts(dtype: torch.dtype = torch.int64, lengths: list[int] = LENGTHS) -> torch.Tensor:
    return torch.tensor([0, *lengths]).cumsum(0).to(dtype)


def packed_inputs(lengths: list[int] = LENGTHS) -> list[torch.Tensor]:
    """r, w, k, v, a, b of one batch, and a state for each sequence."""
    inputs = [tensor.detach()[:1].requires_grad_() for tensor in rwkv7_inputs(tokens=sum(lengths))]
    state = torch.randn(len(lengths), HEADS, VALUES, KEYS, generator=torch.Generator().manual_seed(4))
    return [*inputs, state.requires_grad_()]


def run(inputs: list[torch.Tensor], cu_seqlens: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    o, state = wkvc.rwkv7(
        *inputs[:6], initial_state=inputs[6], output_final_state=True, mma="f32", cu_seqlens=cu_seqlens
    )
    assert state is not None
    return o, state


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_each_has_the_bytes_that_it_has_alone(dtype: torch.dtype) -> None:
    inputs = packed_inputs()
    o, state = run(inputs, starts(dtype))
    seeds = [torch.randn(x.shape, generator=torch.Generator().manual_seed(5)) for x in (o, state)]
    found = torch.autograd.grad(run(inputs, starts(dtype)), inputs, seeds)
    for n, (first, last) in enumerate(pairwise(starts().tolist())):
        alone = [tensor.detach()[:, first:last].requires_grad_() for tensor in inputs[:6]]
        alone.append(inputs[6].detach()[n : n + 1].requires_grad_())
        results = run(alone, None)
        assert torch.equal(results[0], o[:, first:last])
        assert torch.equal(results[1], state[n : n + 1])
        expected = torch.autograd.grad(results, alone, [seeds[0][:, first:last], seeds[1][n : n + 1]])
        for gradient, whole in zip(expected[:6], found[:6], strict=True):
            assert torch.equal(gradient, whole[:, first:last])
        assert torch.equal(expected[6], found[6][n : n + 1])


def test_tokens_of_no_sequence_are_zero() -> None:
    inputs = [*packed_inputs([20, 30, 14])[:6]]
    for _ in range(2):  # memory of tensors that were full of NaN is given to the next ones
        poison = [torch.full_like(x, torch.nan) for x in inputs * 2]
        del poison
        o, _state = wkvc.rwkv7(*inputs, mma="f32", cu_seqlens=torch.tensor([0, 20, 50]))
        found = torch.autograd.grad(o[:, :50].square().sum(), inputs)
        for x in (o, *found):
            assert torch.isfinite(x).all()
            assert not x[:, 50:].any()
            assert x[:, :50].any()


def test_opcheck() -> None:
    variant, options = settings_of(mma="f32")
    inputs, cu_seqlens = packed_inputs(), starts()
    arguments = (*inputs, cu_seqlens, variant, options, "r,w,k,v,a,b,initial_state", True)
    torch.library.opcheck(torch.ops.wkvc.rwkv7.default, arguments)


def test_compiled_is_eager() -> None:
    inputs = packed_inputs()
    compiled = torch.compile(run, fullgraph=True, backend="aot_eager")
    results, expected = compiled(inputs, starts()), run(inputs, starts())
    assert all(torch.equal(x, y) for x, y in zip(results, expected, strict=True))
    found, wanted = gradients(results, inputs), gradients(expected, inputs)
    assert all(torch.equal(x, y) for x, y in zip(found, wanted, strict=True))


@pytest.mark.parametrize(
    ("cu_seqlens", "error", "message"),
    [
        (starts().float(), TypeError, "float32, expected int32 or int64"),
        (starts().unsqueeze(0), ValueError, "expected .sequences . 1."),
        (starts()[:-1], ValueError, "initial_state has shape .* with B = 4 as in cu_seqlens"),
        ([0, 1], TypeError, "cu_seqlens is list"),
    ],
)
def test_what_is_refused(cu_seqlens: torch.Tensor, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        run(packed_inputs(), cu_seqlens)


def test_more_than_one_batch_is_refused() -> None:
    with pytest.raises(ValueError, match="B is 2, expected 1 with cu_seqlens"):
        wkvc.rwkv7(*rwkv7_inputs(), cu_seqlens=torch.tensor([0, 37]))
