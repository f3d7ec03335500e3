"""Bad input: each mistake is an exception that says what was given and what was expected."""

import logging
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

import wkvc
from conftest import BATCHES, HEADS, KEYS, TOKENS, VALUES, a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET
from wkvc import _library
from wkvc._kernels import _check_gpu


def test_one_answer_to_which_gpus_run_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _library.runs_on((9, 0))
    assert not any(_library.runs_on(capability) for capability in [(8, 0), (8, 9), (9, 1), (10, 0), (12, 0)])
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (10, 0))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "B200")
    with pytest.raises(RuntimeError, match=r"B200 of compute capability 10\.0; wkvc has kernels for H100 and H200"):
        _check_gpu(torch.device("cuda"))


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
        (change(a=lambda a: 1.5), TypeError, ["a is 1.5, expected a tensor"]),
        (change(r=lambda r: None), TypeError, ["r is None, expected a tensor"]),
        (change(r=lambda r: r.numpy()), TypeError, ["r is ndarray, expected a tensor"]),
        (change(r=lambda r: r.to("meta")), ValueError, ["w is on cpu, but the first input is on meta"]),
        (change(r=lambda r: r.to_sparse()), ValueError, ["r has the layout torch.sparse_coo", "call to_dense()"]),
        (change(k=lambda k: k[:, :-1]), ValueError, [f"k has shape [2, {TOKENS - 1}, 2, 16]", f"T = {TOKENS} as in r"]),
        (change(b=lambda b: b.repeat(1, 1, 2, 1)[:, :, :3]), ValueError, ["b has shape", "H = 2 as in r"]),
        (change(w=lambda w: w[..., :8]), ValueError, ["w has shape", "K = 16 as in r"]),
        (change(r=lambda r: r.flatten(2)), ValueError, ["r has shape [2, 37, 32]", "[B, T, H, K], 4 dimensions"]),
        (change(v=lambda v: v[..., :17]), ValueError, ["v has 17 values a head, expected a multiple of 16"]),
        (
            change(v=lambda v: v[..., :0]),
            ValueError,
            ["v has 0 values a head, expected a multiple of 16 from 16 to 512"],
        ),
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
        (a_state().double(), TypeError, ["initial_state is float64, expected float32, as states outside a pool are"]),
        (a_state()[0], ValueError, ["initial_state has shape", "four dimensions"]),
        (a_state()[:1], ValueError, ["initial_state has shape", f"B = {BATCHES} as in r"]),
        (a_state().to("meta"), ValueError, ["initial_state is on meta"]),
        ("zeros", TypeError, ["initial_state is 'zeros', expected a tensor"]),
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
        ({"mma": "f8"}, ["mma is 'f8'", 'expected "f16", "bf16", "bf16x3" or "f32"']),
        ({"mma": None}, ["mma is None"]),
        ({"scale": math.nan}, ["scale is nan, expected a finite number"]),
        ({"decay": "log", "lower_bound": -math.inf}, ["lower_bound is -inf, expected a finite number"]),
        ({"options": "--chunk 17"}, ["--chunk 17"]),
        ({"options": "--chunks 16"}, ["--chunks"]),
        ({"options": "--grad r"}, ["--grad, which follows from the tensors"]),
        ({"options": "--state=f16"}, ["--state, which follows from the tensors"]),
        ({"options": "--chunk"}, ['--chunk without a value, expected one behind it, such as "--chunk 32"']),
        ({"options": "--chunk --saved f16"}, ["--chunk without a value"]),
        ({"options": "--chunk 16 --chunk=32"}, ["--chunk twice, 16 and 32: leave one out"]),
        ({"options": "chunk 16"}, ["'chunk', expected names and values"]),
        ({"options": "--mma f32"}, ['--mma, and the argument mma is "f16"', "pass mma"]),
        ({"options": "--head 32"}, ["--head, which follows from the tensors, or the text of wkvc.op: leave it out"]),
        ({"options": "--io=f32"}, ["--io, which follows from the tensors, or the text of wkvc.op: leave it out"]),
        ({"options": "--chunk 1"}, ["--chunk 1"]),  # which has no backward pass
        ({"options": "--save-every 33"}, ["--save-every 33: expected a multiple of 16"]),
    ],
)
def test_options(options: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011
        wkvc.rwkv7(*rwkv7_inputs(), **options)
    for part in parts:
        assert part.replace("`", "") in str(refused.value).replace("`", "")


def test_options_of_the_backward_pass_without_gradients() -> None:
    """Mistakes show at the call, not at the first gradient; what a backward pass takes may stay."""
    inputs = change()
    for options in ("--save-every 33", "--saved f8", "--teams 1,99", "--teams 1,3", "--save-every 64 --teams 1,2"):
        option = options.split()[0]
        with pytest.raises(ValueError, match=option):
            wkvc.rwkv7(*inputs, options=options)
    for options in ("--save-every 33", "--saved f8", "--teams 1,99"):
        with pytest.raises(ValueError, match=options.split()[0]):
            wkvc.op(GATED_DELTA_NET, options=options)
    o, _ = wkvc.rwkv7(*inputs, options="--save-every 16 --saved f16")
    assert torch.equal(o, wkvc.rwkv7(*inputs)[0])


def test_nested_tensors() -> None:
    sequences = [torch.randn(tokens, HEADS, KEYS) for tokens in (3, 5)]
    jagged = torch.nested.nested_tensor(sequences, layout=torch.jagged)
    with pytest.raises(
        ValueError, match=r"r is a nested tensor, .* pass r\.values\(\)\.unsqueeze\(0\), .*=r\.offsets\(\)"
    ):
        wkvc.rwkv7(*[jagged] * 6)
    with pytest.raises(ValueError, match="r is a nested tensor of another layout"):
        wkvc.rwkv7(*[torch.nested.nested_tensor(sequences)] * 6)
    packed = jagged.values().unsqueeze(0)
    o, _ = wkvc.rwkv7(*[packed] * 6, cu_seqlens=jagged.offsets())
    assert torch.nested.nested_tensor_from_jagged(o[0], jagged.offsets()).shape[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": None}, "scale is None, expected a number"),
        ({"scale": torch.ones(())}, "scale is Tensor, expected a number"),
        ({"decay": "log", "lower_bound": "-1"}, "lower_bound is '-1', expected a number"),
        ({"options": None}, "options is None, expected one text"),
        ({"options": ["--chunk", "16"]}, "options is list, expected one text"),
        ({"output_final_state": "yes"}, "output_final_state is 'yes', expected True or False"),
        ({"states_every": "16"}, "states_every is '16', expected a whole number"),
        ({"cu_seqlens": [0, TOKENS]}, "cu_seqlens is list, expected a tensor"),
        ({"initial_state": a_state(), "state_indices": [0, 1]}, "state_indices is list, expected a tensor"),
        ({"initial_state": a_state(), "report": [0, 0]}, "report is list, expected a tensor"),
        ({"intermediate_states": "new", "states_every": 16}, "intermediate_states is 'new', expected a tensor"),
    ],
)
def test_kinds_of_arguments(options: dict[str, Any], message: str) -> None:
    for function, inputs in ((wkvc.rwkv7, rwkv7_inputs()), (wkvc.rwkv6, rwkv6_inputs())):
        with pytest.raises(TypeError, match=message):
            function(*inputs, **options)


@pytest.mark.parametrize("given", [None, "r", 1.5])
def test_what_is_no_tensor(given: Any) -> None:
    """In any place, of any function, under autocast too."""
    seven, six, state = change(), [tensor.detach() for tensor in rwkv6_inputs()], a_state().detach()
    op = wkvc.op(GATED_DELTA_NET)
    functions: list[tuple[Any, list[Any], Sequence[str]]] = [
        (wkvc.rwkv7, seven, "rwkvab"),
        (wkvc.rwkv6, six, "rwkvu"),
        (op, [seven[0], seven[2], seven[3], seven[0][..., 0], seven[0][..., 1]], op.inputs),
        (lambda *inputs: wkvc.decode(wkvc.rwkv7, *inputs, states=state), seven, "rwkvab"),
        (lambda *inputs: wkvc.check(wkvc.rwkv7, dict(zip("rwkvab", inputs, strict=True))), seven, "rwkvab"),
    ]
    for function, inputs, names in functions:
        for place, name in enumerate(names):
            wrong = [*inputs[:place], given, *inputs[place + 1 :]]
            for enabled in (False, True):
                with (
                    torch.autocast("cpu", torch.bfloat16, enabled=enabled),
                    pytest.raises((TypeError, ValueError)) as e,
                ):
                    function(*wrong)
                assert re.search(rf"\b{name} is {given!r}, expected a tensor|inputs have no {name};", str(e.value))


def test_a_bonus_of_other_heads() -> None:
    *tokens, u = rwkv6_inputs()
    with pytest.raises(ValueError, match=r"u has shape \[1, 16\], expected \[H, K\] with H = 2 as in r"):
        wkvc.rwkv6(*tokens, u[:1])


def test_recurrences() -> None:
    with pytest.raises(ValueError, match=r"rec\.softmax"):
        wkvc.op(GATED_DELTA_NET.replace("rec.softplus", "rec.softmax"))
    with pytest.raises(FileNotFoundError, match=r"there is no file 'no/such/file\.mlir', expected the text"):
        wkvc.op("no/such/file.mlir")
    with pytest.raises(FileNotFoundError, match=r"there is no file '\.', expected the text"):
        wkvc.op(".")
    for text in ("module {}", "", "\n"):
        with pytest.raises(ValueError, match=r"expected the text of a recurrence .*, not: '"):
            wkvc.op(text)
    with pytest.raises(TypeError, match="text_or_path is None, expected the text of a recurrence, or a path"):
        wkvc.op(None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="--chunk without a value"):
        wkvc.op(GATED_DELTA_NET, options="--chunk")
    with pytest.raises(ValueError, match='--mma, and the argument mma is "f32"'):
        wkvc.op(GATED_DELTA_NET, mma="f32", options="--mma f16")
    op = wkvc.op(GATED_DELTA_NET)
    tokens = [torch.randn(BATCHES, TOKENS, HEADS, width) for width in (KEYS, KEYS, VALUES)]
    with pytest.raises(TypeError, match="takes q, k, v, decay, gate; missing: decay, gate"):
        op(*tokens)
    gates = [torch.randn(BATCHES, TOKENS, HEADS) for _ in range(2)]
    with pytest.raises(TypeError, match=r"mma, options: options of wkvc\.op belong to wkvc\.op"):
        op(*tokens, *gates, mma="f32", options="--chunk 32")
    wide = [torch.randn(BATCHES, TOKENS, HEADS, 2 * KEYS) for _ in range(2)]
    with pytest.raises(ValueError, match=r"q has shape \[2, 37, 2, 32\].*K = 16 as in the recurrence"):
        op(*wide, tokens[2], *gates)
    with pytest.raises(TypeError, match="gate is float16, expected float32"):
        op(*tokens, gates[0], gates[1].half())


def test_gradients_without_names() -> None:
    """The operators themselves do not lose gradients without a word."""
    with pytest.raises(ValueError, match="w requires a gradient, but grads is 'r'"):
        torch.ops.wkvc.rwkv7(*rwkv7_inputs(), None, None, "", "--mma f32", "r", False)


def test_saved_memory_of_another_pass() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs()]
    o, _, saved = torch.ops.wkvc.rwkv7(*inputs, None, None, "", "--mma f32", "r,w,k,v,a,b", False)
    rest = (None, "", "--mma f32", "r,w,k,v,a,b", False)
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
