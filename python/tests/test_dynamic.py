"""Compiled for any size: numbers of heads, and of heads that others share, are symbols."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.source import ConstantSource
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

import wkvc
from conftest import KEYS, VALUES, gradients
from test_values import GATED_DELTA_NET
from wkvc import _kernels

HEADS = [(4, 2), (6, 3), (8, 2), (6, 6), (5, 1)]  # and those of the inputs that heads share


def draw(place: int, heads: int, width: int, tokens: int) -> torch.Tensor:
    return torch.randn(2, tokens, heads, width, generator=torch.Generator().manual_seed(place))


def seven(heads: int, shared: int, tokens: int) -> list[torch.Tensor]:
    inputs = [draw(n, shared, KEYS, tokens) for n in range(6)]
    inputs[3] = draw(3, heads, VALUES, tokens)
    kk = torch.nn.functional.normalize(inputs[4], dim=-1)
    return [*inputs[:4], -kk, kk * inputs[5].sigmoid()]


def six(heads: int, shared: int, tokens: int) -> list[torch.Tensor]:
    return [*seven(heads, shared, tokens)[:4], draw(6, heads, KEYS, tokens)[0, 0]]


def delta(heads: int, shared: int, tokens: int) -> list[torch.Tensor]:
    r, w, k, v, _, _ = seven(heads, shared, tokens)
    return [r, torch.nn.functional.normalize(k, dim=-1), v, w[..., 0], r[..., 1]]


def decode(*inputs: torch.Tensor) -> list[torch.Tensor]:
    states = inputs[0].new_zeros(2, inputs[3].shape[2], VALUES, KEYS)
    return [wkvc.decode(wkvc.rwkv7, *inputs, states=states), states]  # pyright: ignore[reportReturnType]


OP = wkvc.op(GATED_DELTA_NET)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., list[torch.Tensor]], int]] = {
    "rwkv7": (lambda *x: [wkvc.rwkv7(*x, mma="f32")[0]], seven, 20),
    "rwkv6": (lambda *x: [wkvc.rwkv6(*x, mma="f32")[0]], six, 20),
    "op": (lambda *x: [OP(*x)[0]], delta, 20),
    "decode": (decode, seven, 3),
}


@pytest.mark.parametrize("dynamic", [True, None])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_heads_are_symbols(name: str, dynamic: bool | None) -> None:
    function, make, tokens = FUNCTIONS[name]
    torch.compiler.reset()
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=dynamic)
    for heads, shared in HEADS:
        inputs = [x.requires_grad_(name != "decode") for x in make(heads, shared, tokens)]
        results, expected = compiled(*inputs), function(*inputs)
        assert all(torch.equal(x, y) for x, y in zip(results, expected, strict=True))
        if name == "decode":
            continue
        pairs = zip(gradients(results, inputs), gradients(expected, inputs), strict=True)
        assert all(torch.equal(x, y) for x, y in pairs)


def test_numbers_of_heads_that_do_not_go_together() -> None:
    compiled = torch.compile(lambda *x: wkvc.rwkv7(*x)[0], fullgraph=True, backend="aot_eager", dynamic=True)
    with pytest.raises(Exception, match="v has shape"):
        compiled(*seven(3, 2, 20))


def test_options_of_symbols_have_numbers() -> None:
    """On a GPU kernels follow from the size, which no option says in symbols."""
    mode = FakeTensorMode(shape_env=ShapeEnv(), static_shapes=False)
    shape = mode.from_tensor(torch.empty(3, 100, 6), source=ConstantSource("x")).shape
    assert not isinstance(shape[2], int)
    size = _kernels.Size(*shape, packed=shape[0])
    assert _kernels.size_options(size) == "--shape 3,128,6 --sequences 4"


def test_distances_of_states_are_symbols() -> None:
    """Which kernels are made for, each for its own."""

    def function(every: int, buffer: torch.Tensor, *inputs: torch.Tensor) -> torch.Tensor:
        return wkvc.rwkv7(*inputs, intermediate_states=buffer, states_every=every, mma="f32")[0]

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
    inputs = seven(2, 2, 100)
    for every in (16, 32, 48):
        buffers = [torch.zeros(2, 100 // every, 2, VALUES, KEYS) for _ in range(2)]
        results = [run(every, buffer, *inputs) for run, buffer in zip((function, compiled), buffers, strict=True)]
        assert torch.equal(*results)
        assert torch.equal(*buffers)
