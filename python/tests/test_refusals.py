"""Bad input: each mistake is an exception that says what was given and what was expected."""

import logging
from collections.abc import Callable
from typing import Any

import pytest
import torch

import wkvc
from conftest import BATCHES, HEADS, KEYS, TOKENS, VALUES, a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET


def change(**changes: Callable[[torch.Tensor], Any]) -> list[Any]:
    names = "rwkvab"
    inputs: list[Any] = [tensor.detach() for tensor in rwkv7_inputs()]
    for name, function in changes.items():
        inputs[names.index(name)] = function(inputs[names.index(name)])
    return inputs


@pytest.mark.parametrize(
    ("inputs", "error", "parts"),
    [
        (change(k=lambda k: k.int()), TypeError, ["k is int32", "float32, float16 or bfloat16"]),
        (change(r=lambda r: r.to(torch.complex64)), TypeError, ["r is complex64"]),
        (change(v=lambda v: v.double()), TypeError, ["v is float64"]),
        (change(v=lambda v: v.to(torch.float16)), TypeError, ["v is float16", "float32 like r", "torch.autocast"]),
        (change(a=lambda a: 1.5), TypeError, ["a is float, expected a tensor"]),
        (change(k=lambda k: k[:, :-1]), ValueError, [f"k has shape [2, {TOKENS - 1}, 2, 16]", f"T = {TOKENS} as in r"]),
        (change(b=lambda b: b.repeat(1, 1, 2, 1)[:, :, :3]), ValueError, ["b has shape", "H = 2 as in r"]),
        (change(w=lambda w: w[..., :8]), ValueError, ["w has shape", "K = 16 as in r"]),
        (change(r=lambda r: r.flatten(2)), ValueError, ["r has shape [2, 37, 32]", "[B, T, H, K], 4 dimensions"]),
        (change(v=lambda v: v[..., :17]), ValueError, ["17", "multiple of 16"]),
        (change(k=lambda k: k.to("meta")), ValueError, ["k is on meta"]),
    ],
)
def test_inputs(inputs: list[Any], error: type[Exception], parts: list[str]) -> None:
    with pytest.raises(error) as refused:
        wkvc.rwkv7(*inputs)
    for part in parts:
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("state", "error", "parts"),
    [
        (a_state().transpose(-1, -2), ValueError, ["initial_state has shape", 'pass state_layout="kv"']),
        (a_state().bfloat16(), TypeError, ["initial_state is bfloat16, expected float32"]),
        (a_state()[0], ValueError, ["initial_state has shape", "four dimensions"]),
        (a_state()[:1], ValueError, ["initial_state has shape", f"B = {BATCHES} as in r"]),
        (a_state().to("meta"), ValueError, ["initial_state is on meta"]),
        ("zeros", TypeError, ["initial_state is str"]),
    ],
)
def test_states(state: Any, error: type[Exception], parts: list[str]) -> None:
    with pytest.raises(error) as refused:
        wkvc.rwkv7(*rwkv7_inputs(), initial_state=state)
    for part in parts:
        assert part in str(refused.value)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"decay": "exp"}, ['decay is \'exp\', expected "raw" or "log"']),
        ({"lower_bound": -1.0}, ["lower_bound", 'decay="log"']),
        ({"decay": "log", "lower_bound": 0.5}, ["lower_bound is 0.5, expected a negative number"]),
        ({"state_layout": "kk"}, ["state_layout is 'kk'"]),
        ({"mma": "f8"}, ["--mma f8", "`f16` or `bf16`"]),
        ({"options": "--chunk 17"}, ["--chunk 17"]),
        ({"options": "--chunks 16"}, ["--chunks"]),
        ({"options": "--grad r"}, ["--grad, which follows from the tensors"]),
        ({"options": "--head 32"}, ["the text has settled --head"]),
        ({"options": "--chunk 1"}, ["--chunk 1"]),  # which has no backward pass
    ],
)
def test_options(options: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        wkvc.rwkv7(*rwkv7_inputs(), **options)
    for part in parts:
        assert part.replace("`", "") in str(refused.value).replace("`", "")


def test_a_bonus_of_other_heads() -> None:
    *tokens, u = rwkv6_inputs()
    with pytest.raises(ValueError, match=r"u has shape \[1, 16\], expected \[H, K\] with H = 2 as in r"):
        wkvc.rwkv6(*tokens, u[:1])


def test_recurrences() -> None:
    with pytest.raises(ValueError, match=r"rec\.softmax"):
        wkvc.op(GATED_DELTA_NET.replace("rec.softplus", "rec.softmax"))
    with pytest.raises(FileNotFoundError):
        wkvc.op("no/such/file.mlir")
    op = wkvc.op(GATED_DELTA_NET)
    tokens = [torch.randn(BATCHES, TOKENS, HEADS, width) for width in (KEYS, KEYS, VALUES)]
    with pytest.raises(TypeError, match="takes q, k, v, decay, gate; 3 tensors were given"):
        op(*tokens)
    gates = [torch.randn(BATCHES, TOKENS, HEADS) for _ in range(2)]
    wide = [torch.randn(BATCHES, TOKENS, HEADS, 2 * KEYS) for _ in range(2)]
    with pytest.raises(ValueError, match=r"q has shape \[2, 37, 2, 32\].*K = 16 as in the recurrence"):
        op(*wide, tokens[2], *gates)
    with pytest.raises(TypeError, match="gate is float16, expected float32"):
        op(*tokens, gates[0], gates[1].half())


def test_gradients_without_names() -> None:
    """The operators themselves do not lose gradients without a word."""
    with pytest.raises(ValueError, match="w requires a gradient, but grads is 'r'"):
        torch.ops.wkvc.rwkv7(*rwkv7_inputs(), None, None, "raw 1.0 -1000000.0", "--mma f32", "r", False)


def test_saved_memory_of_another_pass() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs()]
    o, _, saved = torch.ops.wkvc.rwkv7(*inputs, None, None, "raw 1.0 -1000000.0", "--mma f32", "r,w,k,v,a,b", False)
    rest = (None, "raw 1.0 -1000000.0", "--mma f32", "r,w,k,v,a,b", False)
    with pytest.raises(ValueError, match="saved has shape"):
        torch.ops.wkvc.rwkv7_backward(*inputs, None, None, saved[:-256], o, *rest)
    with pytest.raises(ValueError, match="do has shape"):
        torch.ops.wkvc.rwkv7_backward(*inputs, None, None, saved, o[:, 1:], *rest)


def test_a_first_compilation_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(torch.bfloat16)]
    with caplog.at_level(logging.INFO, logger="wkvc"):
        for _ in range(2):
            wkvc.rwkv7(*inputs, scale=0.375, mma="bf16")
    assert len([record for record in caplog.records if "rwkv7" in record.message]) == 1
