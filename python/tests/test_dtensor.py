"""DTensors: each device has its batches or heads, with the bytes of a call on these alone."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

import wkvc
import wkvc.dtensor
from conftest import a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET

DEVICES = 2  # of which this process is the first one; no result waits for the other


@pytest.fixture(scope="module")
def mesh() -> Iterator[DeviceMesh]:
    dist.init_process_group("fake", rank=0, world_size=DEVICES, store=FakeStore())
    yield init_device_mesh("cpu", (DEVICES,))
    dist.destroy_process_group()


def delta_inputs() -> list[torch.Tensor]:
    q, _, k, v, _, _ = rwkv7_inputs()
    return [q, torch.nn.functional.normalize(k, dim=-1), v, k[..., 0], q[..., 1]]


FUNCTIONS = {"rwkv7": (wkvc.rwkv7, rwkv7_inputs), "rwkv6": (wkvc.rwkv6, rwkv6_inputs)}
# Placements of tokens, of a parameter and its gradient, and of states.
WAYS = {
    "batches": (Shard(0), Replicate(), Partial(), Shard(0)),
    "heads": (Shard(2), Shard(0), Shard(0), Shard(1)),
    "whole": (Replicate(), Replicate(), Replicate(), Replicate()),
}


def local(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().clone().requires_grad_() for tensor in tensors]


def dealt(mesh: DeviceMesh, tensor: torch.Tensor, placement: Any) -> torch.Tensor:
    return DTensor.from_local(tensor, mesh, [placement], run_check=False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ["rwkv7", "rwkv6", "op"])
def test_each_device_has_its_part(mesh: DeviceMesh, name: str, way: str) -> None:
    """The tensors here are those of one device; the whole ones have twice as many batches or heads."""
    op = wkvc.op(GATED_DELTA_NET.replace("@delta", "@dealt"))
    function, make = FUNCTIONS.get(name, (op, delta_inputs))
    tokens, parameter, parameter_gradient, states = WAYS[way]
    given = [*local(list(make())), *local([a_state()])]
    alone = local(given)
    is_parameter = [tensor.dim() == 2 for tensor in given]
    whole = [
        dealt(mesh, tensor, parameter if of_head else tokens)
        for tensor, of_head in zip(given[:-1], is_parameter, strict=False)
    ]
    options = {} if name == "op" else {"mma": "f32"}
    o, state = function(*whole, initial_state=dealt(mesh, given[-1], states), output_final_state=True, **options)
    expected = function(*alone[:-1], initial_state=alone[-1], output_final_state=True, **options)
    for result, placement, local_result in zip((o, state), (tokens, states), expected, strict=True):
        assert isinstance(result, DTensor)
        assert result.placements == (placement,)
        assert torch.equal(result.to_local(), local_result)
    found = torch.autograd.grad([o, state], whole, [torch.ones_like(o), torch.ones_like(state)])
    gradients = torch.autograd.grad(expected, alone[:-1], [torch.ones_like(result) for result in expected])
    for gradient, of_head, local_gradient in zip(found, is_parameter, gradients, strict=False):
        assert isinstance(gradient, DTensor)
        assert gradient.placements == (parameter_gradient if of_head else tokens,)
        assert torch.equal(gradient.to_local(), local_gradient)


def test_a_state_alone_has_a_gradient(mesh: DeviceMesh) -> None:
    inputs = [dealt(mesh, tensor, Shard(0)) for tensor in local(list(rwkv7_inputs()))]
    o, state = wkvc.rwkv7(*inputs, output_final_state=True, mma="f32")
    assert state is not None
    (gradient,) = torch.autograd.grad(state.sum(), inputs[:1], allow_unused=True)
    assert gradient is not None
    assert gradient.shape == inputs[0].shape
    assert o.shape == inputs[3].shape


def test_shared_heads_go_with_those_that_share_them(mesh: DeviceMesh) -> None:
    r, w, k, v, a, b = local(list(rwkv7_inputs()))
    one = [tensor[:, :, :1] for tensor in (r, w, k)] + [v] + [tensor[:, :, :1] for tensor in (a, b)]
    expected, _ = wkvc.rwkv7(*one, mma="f32")
    o, _ = wkvc.rwkv7(*(dealt(mesh, tensor, Shard(2)) for tensor in one), mma="f32")
    assert isinstance(o, DTensor)
    assert o.placements == (Shard(2),)
    assert torch.equal(o.to_local(), expected)
    # One head of all cannot be dealt to two devices, so that each has all of them.
    o, _ = wkvc.rwkv7(*(dealt(mesh, x, Replicate() if x is not v else Shard(2)) for x in one), mma="f32")
    assert isinstance(o, DTensor)
    assert o.placements == (Replicate(),)


def test_packed_sequences_are_one_batch(mesh: DeviceMesh) -> None:
    tokens = [tensor[:1] for tensor in local(list(rwkv7_inputs()))]
    starts = torch.tensor([0, 20, 37])
    expected, _ = wkvc.rwkv7(*tokens, cu_seqlens=starts, mma="f32")
    whole = [dealt(mesh, tensor, Shard(2)) for tensor in tokens]
    o, _ = wkvc.rwkv7(*whole, cu_seqlens=dealt(mesh, starts, Replicate()), mma="f32")
    assert isinstance(o, DTensor)
    assert torch.equal(o.to_local(), expected)
