"""Inputs by position and by name."""

from typing import Any

import pytest
import torch

import wkvc
from conftest import a_state, rwkv7_inputs
from test_values import GATED_DELTA_NET

OP = wkvc.op(GATED_DELTA_NET)


def inputs() -> dict[str, Any]:
    r, w, k, v, _, _ = (tensor.detach() for tensor in rwkv7_inputs())
    return dict(zip(OP.inputs, (r, k, v, w[..., 0], w[..., 1]), strict=True))


@pytest.mark.parametrize("count", [0, 2, 5])
def test_by_position_then_by_name(count: int) -> None:
    given = inputs()
    expected, _ = OP(*given.values())
    first, rest = list(given.values())[:count], dict(reversed(list(given.items())[count:]))
    o, state = OP(*first, **rest, output_final_state=True)
    assert isinstance(o, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert state is not None
    assert torch.equal(o, expected)


def test_by_name_in_one_graph() -> None:
    given = inputs()
    compiled = torch.compile(lambda **x: OP(**x)[0], fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(**given), OP(**given)[0])  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("count", [0, 2])
def test_decode(count: int) -> None:
    for function, given in ((wkvc.rwkv7, dict(zip("rwkvab", rwkv7_inputs(), strict=True))), (OP, inputs())):
        token = {name: tensor.detach()[:, :1] for name, tensor in given.items()}
        first, rest = list(token.values())[:count], dict(list(token.items())[count:])
        states, expected = a_state().detach(), a_state().detach()
        o = wkvc.decode(function, *first, **rest, states=states)
        plain = wkvc.decode(function, *token.values(), states=expected)
        assert isinstance(o, torch.Tensor)
        assert isinstance(plain, torch.Tensor)
        assert torch.equal(o, plain)
        assert torch.equal(states, expected)


@pytest.mark.parametrize(
    ("positions", "names", "message"),
    [
        (3, {"decay": 0}, "takes q, k, v, decay, gate; missing: gate"),
        (3, {"q": 0, "decay": 0, "gate": 0}, "q came both by position and by name: leave one out"),
        (5, {"beta": 0}, "takes no beta; known names are q, k, v, decay, gate, initial_state, output_final_state"),
        (6, {}, "takes q, k, v, decay, gate; 6 tensors were given"),
        (0, {}, "missing: q, k, v, decay, gate"),
    ],
)
def test_names_that_are_refused(positions: int, names: dict[str, Any], message: str) -> None:
    given = [*inputs().values(), torch.ones(())]
    for call in (OP, lambda *x, **y: wkvc.decode(OP, *x, **y, states=a_state())):
        with pytest.raises(TypeError, match=message.removesuffix(", initial_state, output_final_state")):
            call(*given[:positions], **names)


def test_settings_of_decode_that_are_refused() -> None:
    token = [tensor.detach()[:, :1] for tensor in rwkv7_inputs()]
    for settings, message in (
        (
            {"initial_state": a_state()},
            "takes no initial_state; known names are r, w, k, v, a, b, states, .*, scale, decay",
        ),
        ({"scale": "2"}, "scale is '2', expected a number"),
    ):
        with pytest.raises(TypeError, match=message):
            wkvc.decode(wkvc.rwkv7, *token, states=a_state(), **settings)
    with pytest.raises(ValueError, match="goes token by token: leave --chunk out"):
        wkvc.decode(wkvc.rwkv7, *token, states=a_state(), options="--chunk 16")
