"""wkvc.check: errors of results and gradients on inputs of one's own."""

import math
from typing import Any

import pytest
import torch

import wkvc
from conftest import HEADS, KEYS, TOKENS, VALUES, a_state, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET


def named(names: str = "rwkvab") -> dict[str, Any]:
    inputs = rwkv7_inputs() if names == "rwkvab" else rwkv6_inputs()
    return dict(zip(names, inputs, strict=True))


def test_check() -> None:
    names = dict(zip("rwkvab", rwkv7_inputs(torch.bfloat16), strict=True))
    report = wkvc.check(wkvc.rwkv7, {**names, "initial_state": a_state()})
    assert report.passed
    assert {row.result for row in report.rows} == {"o", "final_state", "dinitial_state", *(f"d{n}" for n in names)}
    assert "passed" in str(report) and "head" in str(report)  # noqa: PT018
    q, _, _, v, k, _ = rwkv7_inputs()
    generator = torch.Generator().manual_seed(6)
    gates = {name: torch.randn(q.shape[:-1], generator=generator) for name in ("decay", "gate")}
    assert wkvc.check(wkvc.op(GATED_DELTA_NET), {"q": q, "k": k, "v": v, **gates}).passed


def test_parameters() -> None:
    """The gradient of a parameter has neither a batch nor a token."""
    report = wkvc.check(wkvc.rwkv6, named("rwkvu"), mma="f32")
    assert report.passed
    (row,) = [row for row in report.rows if row.result == "du"]
    assert (row.batch, row.token) == (None, None)
    assert str(report).splitlines()[[row.result for row in report.rows].index("du") + 1].endswith(f"at head {row.head}")


def test_shared_heads() -> None:
    inputs = named()
    inputs["v"] = torch.randn(2, TOKENS, 2 * HEADS, VALUES, generator=torch.Generator().manual_seed(7))
    assert wkvc.check(wkvc.rwkv7, inputs, mma="f32").passed


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_packed_sequences(dtype: torch.dtype) -> None:
    inputs = {name: tensor[:1] for name, tensor in named().items()}
    state = torch.randn(2, HEADS, VALUES, KEYS, generator=torch.Generator().manual_seed(7))
    starts = torch.tensor([0, 20, TOKENS], dtype=dtype)
    assert wkvc.check(wkvc.rwkv7, {**inputs, "initial_state": state, "cu_seqlens": starts}, mma="f32").passed


def test_the_table_has_each_bound() -> None:
    report = wkvc.check(wkvc.rwkv7, named(), mma="f32")
    for row, line in zip(report.rows, str(report).splitlines()[1:-1], strict=True):
        numbers = (row.error, row.bound, row.worst_error, row.worst_bound)
        assert line.split()[:5] == [row.result, *(f"{number:.2e}" for number in numbers)]


def test_numbers_that_are_not_finite() -> None:
    report = wkvc.check(wkvc.rwkv7, {**named(), "k": named()["k"] * math.nan}, mma="f32")
    assert not report.passed
    assert "NOT FINITE" in str(report)
    assert "nan" not in str(report)


def test_inputs_beyond_their_declared_range() -> None:
    decays = torch.full_like(named()["w"], -0.125)
    options = {"decay": "log", "lower_bound": -1.0, "mma": "f32"}
    within = wkvc.check(wkvc.rwkv7, {**named(), "w": decays}, **options)
    assert within.remarks == ()
    decays[0, 3, 1, 2] = -2.0
    beyond = wkvc.check(wkvc.rwkv7, {**named(), "w": decays}, **options)
    (remark,) = beyond.remarks
    assert remark.startswith("wkvc: 1 of ")
    assert "'w' lie beyond its declared range" in remark
    assert "the first at batch 0, token 3, head 1: -2; kernels may be wrong" in remark
    assert str(beyond).startswith(remark)


@pytest.mark.parametrize(
    ("changes", "options", "error", "message"),
    [
        ({"b": None}, {}, ValueError, "inputs have no b; expected r, w, k, v, a, b"),
        ({"u": a_state()}, {}, TypeError, "takes no u; known names are r, w, k, v, a, b, initial_state, cu_seqlens"),
        ({"b": 1.5}, {}, TypeError, "b is 1.5, expected a tensor"),
        ({"do": rwkv7_inputs()[3].int()}, {}, TypeError, "do is int32, expected float32"),
        ({"do": rwkv7_inputs()[3][:, 1:]}, {}, ValueError, '^wkvc: tensor "do" has shape'),
        (
            {},
            {"state_layout": "kv"},
            TypeError,
            "takes no state_layout; known names are scale, decay, lower_bound, mma",
        ),
        ({}, {"options": "--chunk 1"}, ValueError, "^wkvc: --chunk 1: kernels of single tokens have no backward pass"),
        ({}, {"options": "--shared r"}, ValueError, "--shared, which follows from the tensors"),
    ],
)
def test_what_is_refused(
    changes: dict[str, Any], options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        wkvc.check(wkvc.rwkv7, {**named(), **changes}, **options)


def test_nothing_to_check() -> None:
    with pytest.raises(ValueError, match="B, T, H are 2, 0, 2: there is nothing to check"):
        wkvc.check(wkvc.rwkv7, {name: tensor[:, :0] for name, tensor in named().items()})
    with pytest.raises(TypeError, match="inputs are list, expected tensors by name"):
        wkvc.check(wkvc.rwkv7, rwkv7_inputs())  # pyright: ignore[reportArgumentType]
