"""torch.func: reverse mode and vmap have the values of eager calls; forward mode is refused."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

import wkvc
from conftest import a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET

RWKV6 = [tensor.detach() for tensor in rwkv6_inputs()]
R, W, *REST = [tensor.detach() for tensor in rwkv7_inputs()]
STATE = a_state().detach()
NO_FORWARD_MODE = "no forward-mode derivatives .*: use reverse mode"


def loss(r: torch.Tensor, w: torch.Tensor = W) -> torch.Tensor:
    return wkvc.rwkv7(r, w, *REST, mma="f32")[0].square().sum()


def derivative(r: torch.Tensor) -> torch.Tensor:
    r = r.clone().requires_grad_()
    return torch.autograd.grad(loss(r), r)[0]


def last_state(state: torch.Tensor) -> torch.Tensor:
    last = wkvc.rwkv7(R, W, *REST, initial_state=state, output_final_state=True, mma="f32")[1]
    assert last is not None
    return last.square().sum()


def rwkv6(u: torch.Tensor) -> torch.Tensor:
    return wkvc.rwkv6(*RWKV6[:4], u, mma="f32")[0].square().sum()


def delta(q: torch.Tensor) -> torch.Tensor:
    k, v, *_ = REST
    o = wkvc.op(GATED_DELTA_NET)(q, k, v, q[..., 0].detach(), q[..., 1].detach())[0]
    assert o is not None
    return o.square().sum()


FUNCTIONS = [(loss, R), (last_state, STATE), (rwkv6, RWKV6[4]), (delta, R)]


@pytest.mark.parametrize(("function", "x"), FUNCTIONS)
def test_gradients_are_those_of_backward(function: Callable[[torch.Tensor], torch.Tensor], x: torch.Tensor) -> None:
    leaf = x.clone().requires_grad_()
    (expected,) = torch.autograd.grad(function(leaf), leaf)
    assert torch.equal(grad(function)(x), expected)
    assert expected.any()


def test_transforms_of_reverse_mode() -> None:
    one = torch.ones(())
    assert torch.equal(vjp(loss, R)[1](one)[0], derivative(R))
    assert torch.equal(grad(loss, (0, 1))(R, W)[0], derivative(R))

    def scaled(factor: torch.Tensor) -> torch.Tensor:
        return wkvc.rwkv7(R * factor, W, *REST, mma="f32")[0].sum((0, 1, 2))

    torch.testing.assert_close(jacrev(scaled)(one), scaled(one), rtol=1e-5, atol=1e-4)


@pytest.mark.filterwarnings("error")
def test_vmap() -> None:
    several = torch.stack([R, 2 * R], 1)
    values, derivatives = (torch.stack([f(R), f(2 * R)]) for f in (loss, derivative))
    assert torch.equal(vmap(loss, 1)(several), values)
    assert torch.equal(vmap(grad(loss), 1)(several), derivatives)
    assert torch.equal(grad(lambda x: vmap(loss, 1)(x).sum())(several).movedim(1, 0), derivatives)
    leaf = several.clone().requires_grad_()
    vmap(loss, 1)(leaf).sum().backward()
    assert leaf.grad is not None
    assert torch.equal(leaf.grad.movedim(1, 0), derivatives)


def test_without_gradients() -> None:
    """torch.no_grad within a transform holds for what it encloses."""

    def product(r: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            factor = loss(r)
        return factor * r.sum()

    assert torch.equal(grad(product)(R), loss(R).expand_as(R))
    with torch.no_grad():
        assert torch.equal(vmap(loss)(torch.stack([R, R])), loss(R).expand(2))
        with pytest.raises(NotImplementedError, match=NO_FORWARD_MODE):
            jvp(loss, (R,), (R,))


def test_vmap_of_no_elements() -> None:
    with pytest.raises(ValueError, match=r"torch\.vmap has no elements to map"):
        vmap(loss)(R[None][:0])


def test_vmap_does_not_update_states() -> None:
    def decode(states: torch.Tensor) -> Any:
        return wkvc.decode(wkvc.rwkv7, *(tensor[:, :1] for tensor in (R, W, *REST)), states=states)

    with pytest.raises(NotImplementedError, match="vmap cannot run a call that updates states in place"):
        vmap(decode)(torch.stack([STATE, STATE]))


@pytest.mark.parametrize("function", [loss, delta, lambda r: wkvc.rwkv7(r, W, *REST, mma="f32")[0]])
def test_forward_mode_is_refused(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    with pytest.raises(NotImplementedError, match=NO_FORWARD_MODE):
        jvp(function, (R,), (R,))
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=NO_FORWARD_MODE):
        function(forward_ad.make_dual(R, R))
    for transform in (jacfwd, hessian):
        with pytest.raises(NotImplementedError, match=NO_FORWARD_MODE):
            transform(lambda factor: function(R * factor).sum())(torch.ones(()))


def test_forward_mode_of_states_in_slots_is_refused() -> None:
    tokens = [tensor[:, :1] for tensor in (R, W, *REST)]
    with forward_ad.dual_level(), pytest.raises(NotImplementedError, match=NO_FORWARD_MODE):
        wkvc.decode(wkvc.rwkv7, forward_ad.make_dual(tokens[0], tokens[0]), *tokens[1:], states=STATE.clone())


def test_a_level_without_tangents_changes_nothing() -> None:
    expected = loss(R)
    with forward_ad.dual_level():
        assert torch.equal(loss(R), expected)


def test_gradients_of_gradients_are_refused() -> None:
    with pytest.raises(RuntimeError, match="no gradients of gradients"):
        grad(lambda r: grad(loss)(r).sum())(R)


def test_operators_themselves_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"torch\.func does not differentiate wkvc\.rwkv7\.default itself"):
        grad(lambda r: torch.ops.wkvc.rwkv7(r, W, *REST, None, None, "", "", "r", False)[0].sum())(R)
