"""States and Config: the same calls as with arguments by name and with options as text."""

import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any, get_type_hints

import pytest
import torch

import wkvc
from conftest import KEYS, VALUES, a_state, rwkv6_inputs, rwkv7_inputs
from test_fields import REFUSED, TRAINED
from wkvc import Config, States
from wkvc._states import StateArguments

PACKED = torch.tensor([0, 20, 37])


def delta_inputs() -> tuple[torch.Tensor, ...]:
    r, _, k, v, _, b = rwkv7_inputs()
    return r, k, v, b[..., 0].sigmoid()


FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[], Any]]] = {
    "rwkv7": (wkvc.rwkv7, rwkv7_inputs),
    "rwkv6": (wkvc.rwkv6, rwkv6_inputs),
    "delta_net": (wkvc.delta_net, delta_inputs),  # pyright: ignore[reportAttributeAccessIssue]
    "op": (wkvc.op(wkvc.delta_net.text()), lambda: in_bf16(delta_inputs())),  # pyright: ignore[reportAttributeAccessIssue]
}


def in_bf16(inputs: tuple[torch.Tensor, ...]) -> list[torch.Tensor]:
    """Inputs as the text of delta_net declares them, of heads of 128."""
    generator = torch.Generator().manual_seed(6)
    vectors = [torch.randn(*x.shape[:3], 128, generator=generator).bfloat16() for x in inputs[:3]]
    return [*vectors, inputs[3].detach()]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_states_say_what_their_fields_say(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    tensors = inputs()
    keys, values = (128, 128) if name == "op" else (KEYS, VALUES)
    given: dict[str, Any] = {
        "initial_state": torch.randn(2, 2, keys, values),
        "output_final_state": True,
        "state_layout": "kv",
    }
    o, state = function(*tensors, **given)
    of_object = function(*tensors, states=States(**given))
    assert torch.equal(of_object[0], o)
    assert torch.equal(of_object[1], state)
    assert list(state.shape) == [2, 2, keys, values]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_decode_takes_states(name: str) -> None:
    function, inputs = FUNCTIONS[name]
    tensors = [x[:, :2] if x.dim() > 2 else x for x in inputs()]
    keys, values = (128, 128) if name == "op" else (KEYS, VALUES)
    start = torch.randn(3, 2, values, keys)
    slots = torch.tensor([2, 0], dtype=torch.int32)
    pools = [start.clone(), start.clone()]
    with torch.no_grad():
        o = wkvc.decode(function, *tensors, states=pools[0], state_indices=slots)
        of_object = wkvc.decode(function, *tensors, states=States(pools[1], state_indices=slots))
    assert torch.equal(of_object, o)
    assert torch.equal(*pools)
    assert not torch.equal(pools[0], start)


def test_compiled_functions_take_states_and_configs() -> None:
    inputs, state = rwkv7_inputs(), a_state()

    def layer(states: States) -> tuple[torch.Tensor, Any]:
        return wkvc.rwkv7(*inputs, states=states, options=Config(chunk=16, saved="f16"))

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for found, expected in zip(compiled(States(state, True)), layer(States(state, True)), strict=True):
        assert torch.equal(found, expected)


def test_prepare_takes_states(capfd: pytest.CaptureFixture[str]) -> None:
    pool = States(torch.zeros(4, 2, 16, 16), state_indices=torch.tensor([3, 1], dtype=torch.int32))
    wkvc.prepare(wkvc.rwkv7, [(2, 5, 2)], head=16, device="cpu", grad=False, progress=True, states=pool)
    assert "ready" in capfd.readouterr().err
    with pytest.raises(TypeError, match="state_indices is float32, expected int32"):
        wkvc.prepare(
            wkvc.rwkv7,
            [(2, 5, 2)],
            device="cpu",
            grad=False,
            states=States(torch.zeros(4, 2, 64, 64), state_indices=torch.zeros(2)),
        )


def test_fields_of_states_and_arguments_are_the_same() -> None:
    hints = get_type_hints(StateArguments)
    assert list(hints) == ["states", *(field.name for field in fields(States))]
    assert {name: hint for name, hint in hints.items() if name != "states"} == get_type_hints(States)


def test_fields_of_a_config_are_the_options_of_calls() -> None:
    names = [f"--{field.name.replace('_', '-')}" for field in fields(Config)]
    assert set(names) == {option for option in TRAINED if " " not in option}
    assert not set(names) - set(REFUSED)


def test_a_config_is_what_its_text_says() -> None:
    config = Config(chunk="auto", save_every=48, scales=("always", "guarded"), segments=(3, 2), sram="100KB")
    assert str(config) == "--chunk auto --save-every 48 --segments 3,2 --scales always,guarded --sram 100KB"
    assert str(Config()) == ""
    inputs = rwkv7_inputs()
    grads = [
        torch.autograd.grad(wkvc.rwkv7(*inputs, options=options)[0].sum(), inputs)
        for options in (Config(save_every=16, saved="f16"), "--save-every 16 --saved f16")
    ]
    assert all(torch.equal(x, y) for x, y in zip(*grads, strict=True))


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"states": torch.zeros(1)}, "states is Tensor, expected wkvc.States(…)"),
    ({"states": States(), "cu_seqlens": PACKED}, "states and cu_seqlens were given: put cu_seqlens into the States"),
    ({"inital_state": None}, "wkvc.rwkv7 takes no inital_state; known names are states, initial_state"),
]


@pytest.mark.parametrize(("given", "message"), MISTAKES)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        wkvc.rwkv7(*rwkv7_inputs(), **given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"chunk": 1.5}, "chunk is 1.5, expected a whole number, a word, or a pair of those"),
        ({"chunk": 17}, "--chunk 17: expected a multiple of 16"),
        ({"saved": "f99"}, "--saved f99: expected "),
        ({"save_every": 33}, "--save-every 33: expected "),
        ({"scales": ("guarded", "never")}, "--scales guarded,never: expected "),
        ({"sram": "12 apples"}, "--sram"),
    ],
    ids=str,
)
def test_values_of_a_config_are_checked_where_it_is_made(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        Config(**given)


def test_states_are_checked_where_they_are_made() -> None:
    with pytest.raises(ValueError, match="state_layout is 'vv', expected \"vk\""):
        States(state_layout="vv")  # pyright: ignore[reportArgumentType]
    with pytest.raises(TypeError, match="initial_state is list, expected a tensor"):
        States([0.0])  # pyright: ignore[reportArgumentType]
    pool = torch.zeros(2, 2, VALUES, KEYS)
    tokens = [x[:, :1] for x in rwkv7_inputs()]
    with pytest.raises(ValueError, match="states have no initial_state: expected a pool"):
        wkvc.decode(wkvc.rwkv7, *tokens, states=States())
    with pytest.raises(TypeError, match="report beside a States: put report into the States"):
        wkvc.decode(wkvc.rwkv7, *tokens, states=States(pool), report=None)
