"""Functions under flash-linear-attention's names against the equations of its documentation."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn.functional import normalize, softplus

from test_operators import Step, delta, each, expect_near, gdn2, keys, outer, read, unit
from wkvc import fla

B, T, H, K, V = 2, 37, 2, 16, 32
SCALE = K**-0.5


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def inputs(heads: int = H) -> dict[str, torch.Tensor]:
    return {
        "q": draw(B, T, heads, K),
        "k": draw(B, T, heads, K, seed=1),
        "v": draw(B, T, H, V),
        "g": -0.4 * torch.sigmoid(draw(B, T, H)),
        "beta": torch.sigmoid(draw(B, T, H, seed=1)),
    }


def loop(step: Step, given: dict[str, torch.Tensor], start: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The equation token by token in float64, with states that have keys first."""
    S, outputs = start.double().transpose(-1, -2), []
    for t in range(T):
        o, S = step(
            S, {name: x.double()[:, t] if x.dim() > 1 and x.shape[0] == B else x.double() for name, x in given.items()}
        )
        outputs.append(o)
    return torch.stack(outputs, 1), S.transpose(-1, -2)


def gated(S: torch.Tensor, x: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    S = delta(each(x["g"].exp()) * S, x["beta"], x["v"], unit(x["k"]))
    return SCALE * read(S, unit(x["q"])), S


def gated_inside(S: torch.Tensor, x: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    g = -x["A_log"].exp() * softplus(x["g"] + x["dt_bias"])
    return gated(S, {**x, "g": g, "beta": 2 * torch.sigmoid(x["beta"])})


def safe_kda(S: torch.Tensor, x: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    g = -5 * torch.sigmoid(x["A_log"].exp().unsqueeze(-1) * (x["g"] + x["dt_bias"]))
    S = delta(keys(S, g.exp()), x["beta"], x["v"], unit(x["k"]))
    return SCALE * read(S, unit(x["q"])), S


def retention(S: torch.Tensor, x: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    S = each(x["g_gamma"].exp()) * S + outer(x["v"], x["k"])
    return 0.3 * read(S, x["q"]), S


def check(function: Callable[..., Any], step: Step, given: dict[str, torch.Tensor], **options: Any) -> None:
    start = draw(B, H, K, V)
    o, S = function(**given, initial_state=start, output_final_state=True, **options)
    expected_o, expected_S = loop(step, given, start)
    expect_near("o", o, expected_o, 2.5e-3)
    expect_near("final_state", S, expected_S, 2.5e-3)


def test_gated_delta_rule() -> None:
    check(fla.chunk_gated_delta_rule, gated, inputs(), use_qk_l2norm_in_kernel=True)
    given = {**inputs(), "g": draw(B, T, H), "beta": draw(B, T, H), "A_log": draw(H), "dt_bias": draw(H)}
    options = {"use_gate_in_kernel": True, "use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": True}
    check(fla.chunk_gdn, gated_inside, given, use_qk_l2norm_in_kernel=True, **options)


def test_groups_of_values() -> None:
    given = inputs(heads=1)
    o, _ = fla.chunk_gated_delta_rule(**given, use_qk_l2norm_in_kernel=True)
    every = {name: x.expand(-1, -1, H, -1) if name in "qk" else x for name, x in given.items()}
    expected, _ = fla.chunk_gated_delta_rule(**every, use_qk_l2norm_in_kernel=True)
    assert torch.equal(o, expected)


def test_kda_with_the_safe_gate() -> None:
    given = {**inputs(), "g": draw(B, T, H, K), "A_log": draw(H), "dt_bias": draw(H * K)}
    step = lambda S, x: safe_kda(S, {**x, "dt_bias": x["dt_bias"].reshape(H, K)})  # noqa: E731
    options = {"use_gate_in_kernel": True, "safe_gate": True, "lower_bound": -5.0, "use_qk_l2norm_in_kernel": True}
    check(fla.chunk_kda, step, given, **options)


def test_simple_gla_with_a_decay_a_head() -> None:
    given = {name: x for name, x in inputs().items() if name in "qkv"} | {"g_gamma": -torch.rand(H)}
    check(fla.chunk_simple_gla, retention, given, scale=0.3)
    with pytest.raises(ValueError, match="expected g, the log decay of each token, or g_gamma"):
        fla.chunk_simple_gla(given["q"], given["k"], given["v"])


def test_gdn2() -> None:
    given = {**inputs(), "g": -torch.rand(B, T, H, K), "b": torch.sigmoid(draw(B, T, H, K)), "w": draw(B, T, H, V)}
    del given["beta"]
    given["k"] = normalize(given["k"], dim=-1)
    check(fla.chunk_gdn2, gdn2, given)


@pytest.mark.parametrize(("n", "is_gated"), [(1, True), (2, False), (5, True)])
def test_gated_delta_product(n: int, is_gated: bool) -> None:
    given = {**inputs(), "k": normalize(draw(B, n * T, H, K), dim=-1), "v": draw(B, n * T, H, V)}
    given["beta"] = torch.sigmoid(draw(B, n * T, H))
    if not is_gated:
        del given["g"]
    leaves = [x.requires_grad_() for x in given.values()]
    others: dict[str, Any] = {"num_householder": n, "output_final_state": True} | ({} if is_gated else {"g": None})
    o, S = fla.chunk_gated_delta_product(**given, **others)
    assert S is not None
    wide = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    state, outputs = torch.zeros(B, H, V, K, dtype=torch.float64), []
    for t in range(T):
        state = each(wide["g"][:, t].exp()) * state if is_gated else state
        for row in range(n * t, n * t + n):
            state = delta(state, wide["beta"][:, row], wide["v"][:, row], wide["k"][:, row])
        outputs.append(SCALE * read(state, wide["q"][:, t]))
    expected = [torch.stack(outputs, 1), state.transpose(-1, -2)]
    seeds = [draw(*x.shape) for x in (o, S)]
    found = [o, S, *torch.autograd.grad([o, S], leaves, seeds)]
    expected += torch.autograd.grad(expected, [*wide.values()], [x.double() for x in seeds])
    for name, x, y in zip(["o", "final_state", *given], found, expected, strict=True):
        expect_near(name, x, y.detach(), 2.5e-3)
    packed = {name: x.detach().flatten(0, 1).unsqueeze(0) for name, x in given.items()}
    rows, _ = fla.chunk_gated_delta_product(**packed, **others, cu_seqlens=torch.tensor([0, T, 2 * T]))
    expect_near("packed", rows[0], expected[0].detach().flatten(0, 1), 2.5e-3)
    with pytest.raises(ValueError, match="num_householder is 0, expected a whole number from 1 on"):
        fla.chunk_gated_delta_product(**given, **{**others, "num_householder": 0})


def test_values_first_packed_and_refused() -> None:
    given = inputs()
    _, keys_first = fla.chunk_gla(given["q"], given["k"], given["v"], -given["q"].abs(), output_final_state=True)
    packed = {name: x.flatten(0, 1).unsqueeze(0) for name, x in given.items()}
    starts = torch.tensor([0, T, 2 * T], dtype=torch.int32)
    _, values_first = fla.chunk_gla(
        packed["q"],
        packed["k"],
        packed["v"],
        -packed["q"].abs(),
        output_final_state=True,
        state_v_first=True,
        cu_seqlens=starts,
    )
    assert keys_first is not None
    assert values_first is not None
    expect_near("states", values_first.transpose(-1, -2), keys_first.double(), 1e-3)
    with pytest.raises(ValueError, match="wkvc has no context parallelism"):
        fla.chunk_gated_delta_rule(**given, cp_context=object())
