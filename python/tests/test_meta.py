"""Tensors without data: results have the shapes and dtypes of those with data, and no memory."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

import wkvc
from conftest import HEADS, KEYS, VALUES, a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET


def on_meta(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().to("meta").requires_grad_() for tensor in tensors]


def expect_alike(some: torch.Tensor, other: torch.Tensor) -> None:
    assert some.is_meta
    assert (some.shape, some.dtype) == (other.shape, other.dtype)


@pytest.mark.parametrize("function", [wkvc.rwkv7, wkvc.rwkv6])
def test_results_and_gradients(function: Callable[..., Any]) -> None:
    inputs = rwkv7_inputs() if function is wkvc.rwkv7 else rwkv6_inputs()
    given = on_meta([*inputs, a_state()])
    o, state = function(*given[:-1], initial_state=given[-1], output_final_state=True)
    expected = function(*inputs, initial_state=a_state(), output_final_state=True)
    for result, other in zip((o, state), expected, strict=True):
        expect_alike(result, other)
    for gradient, tensor in zip(torch.autograd.grad(o.sum() + state.sum(), given), given, strict=True):
        expect_alike(gradient, tensor)


def test_packed_sequences_slots_and_texts() -> None:
    inputs = [tensor.detach()[:1] for tensor in on_meta(rwkv7_inputs())]
    o, _ = wkvc.rwkv7(*inputs, cu_seqlens=torch.empty(3, dtype=torch.int32, device="meta"))
    expect_alike(o, inputs[3])
    states = torch.empty(4, HEADS, VALUES, KEYS, device="meta")
    slots = torch.empty(1, dtype=torch.int32, device="meta")
    o = wkvc.decode(wkvc.rwkv7, *(tensor[:, :2] for tensor in inputs), states=states, state_indices=slots)
    assert isinstance(o, torch.Tensor)
    expect_alike(o, inputs[3][:, :2])
    r, w, k, v, _, _ = inputs
    (o, _) = wkvc.op(GATED_DELTA_NET)(r, k, v, w[..., 0], w[..., 1])
    assert isinstance(o, torch.Tensor)
    expect_alike(o, v)


def test_mistakes_are_those_of_tensors_with_data() -> None:
    inputs = on_meta(rwkv7_inputs())
    with pytest.raises(ValueError, match="k has shape"):
        wkvc.rwkv7(*inputs[:2], inputs[2][:, :-1], *inputs[3:])
    with pytest.raises(ValueError, match="initial_state is on cpu, but the first input is on meta"):
        wkvc.rwkv7(*inputs, initial_state=a_state())
