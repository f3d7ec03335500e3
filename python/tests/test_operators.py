"""The built-in recurrences against their papers' equations, written here in PyTorch and differentiated in float64."""

import os
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.functional import normalize, silu, softplus

import wkvc

H = 4


class Size(NamedTuple):
    """Extents that tensors are drawn with, and the device that they are drawn for."""

    B: int
    T: int
    K: int
    V: int
    device: str

    def shape(self, dims: Iterable[str]) -> list[int]:
        return [H if dim == "H" else getattr(self, dim) for dim in dims]


CPU, GPU = Size(2, 37, 16, 32, "cpu"), Size(2, 165, 128, 64, "cuda")
SIZES = pytest.mark.parametrize("size", [CPU, pytest.param(GPU, marks=pytest.mark.gpu)], ids=lambda size: size.device)
Step = Callable[[torch.Tensor, dict[str, torch.Tensor]], tuple[torch.Tensor, torch.Tensor]]
Tensors = dict[str, torch.Tensor]


def outer(column: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    return column.unsqueeze(-1) * row.unsqueeze(-2)


def read(S: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    return (S @ key.unsqueeze(-1)).squeeze(-1)


def scaled(S: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    return S.shape[-1] ** -0.5 * read(S, query)


def each(number: torch.Tensor) -> torch.Tensor:
    return number[..., None, None]


def keys(S: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
    return S * decay.unsqueeze(-2)


def unit(x: torch.Tensor) -> torch.Tensor:
    return x / (x.square().sum(-1, keepdim=True) + 1e-6).sqrt()


def delta(S: torch.Tensor, beta: torch.Tensor, v: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
    return S + outer(beta.unsqueeze(-1) * (v - read(S, k)), k)


def rwkv5(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    write = outer(x["v"], x["k"])
    return read(S + keys(write, x["u"]), x["r"]), keys(S, torch.exp(-torch.exp(x["w"]))) + write


def gla(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = keys(S, x["g"].exp()) + outer(x["v"], x["k"])
    return scaled(S, x["q"]), S


def simple_gla(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = each(x["g"].exp()) * S + outer(x["v"], x["k"])
    return scaled(S, x["q"]), S


def hgrn2(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = keys(S, x["g"].exp()) + outer(x["v"], 1 - x["g"].exp())
    return scaled(S, x["q"]), S


def delta_net(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = delta(S, x["beta"], x["v"], x["k"])
    return scaled(S, x["q"]), S


def gated_delta_net(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = delta(each(x["g"].exp()) * S, x["beta"], x["v"], x["k"])
    return scaled(S, x["q"]), S


def gated_delta_net_inside(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    g = -x["A_log"].exp() * softplus(x["g"] + x["dt_bias"])
    x = {**x, "g": g, "q": unit(x["q"]), "k": unit(x["k"]), "beta": 2 * torch.sigmoid(x["beta"])}
    return gated_delta_net(S, x)


def kda(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = delta(keys(S, x["g"].exp()), x["beta"], x["v"], x["k"])
    return scaled(S, x["q"]), S


def kda_inside(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    g = -5 * torch.sigmoid(x["A_log"].exp().unsqueeze(-1) * (x["g"] + x["dt_bias"]))
    return kda(S, {**x, "g": g})


def gdn2(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = keys(S, x["g"].exp())
    S = S + outer(x["w"] * x["v"] - read(S, x["b"] * x["k"]), x["k"])
    return scaled(S, x["q"]), S


def gated_delta_product(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = each(x["g"].exp()) * S
    for n in "123":
        S = delta(S, x[f"beta{n}"], x[f"v{n}"], x[f"k{n}"])
    return scaled(S, x["q"]), S


def comba(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    change = x["beta"].unsqueeze(-1) * (x["v"] - read(S, x["p"]))
    S = each(x["g"].exp()) * S + outer(change, x["k"])
    return scaled(S, x["q"]), S


def dplr(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = keys(S, x["g"].exp()) + outer(read(S, x["a"]), x["b"]) + outer(x["v"], x["k"])
    return scaled(S, x["q"]), S


def iplr(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = S + outer(read(S, x["a"]), x["b"]) + outer(x["v"], x["k"])
    return scaled(S, x["q"]), S


def mamba2(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    S = each(torch.exp(x["A"] * x["dt"])) * S + outer(x["dt"].unsqueeze(-1) * x["x"], x["B"])
    return read(S, x["C"]), S


def mamba2_whole(S: torch.Tensor, x: Tensors) -> tuple[torch.Tensor, torch.Tensor]:
    dt = softplus(x["dt"] + x["dt_bias"]).clamp(0.1, 1.5)
    o, S = mamba2(S, {**x, "dt": dt})
    return (o + x["D"].unsqueeze(-1) * x["x"]) * silu(x["z"]), S


class Case(NamedTuple):
    """A recurrence with options, and its equation."""

    name: str
    step: Step
    settings: Mapping[str, Any] = MappingProxyType({})

    def __repr__(self) -> str:
        return "-".join([self.name, *(f"{name}={value}" for name, value in self.settings.items())])


CASES = [
    Case("rwkv5", rwkv5),
    Case("gla", gla),
    Case("simple_gla", simple_gla),
    Case("retnet", simple_gla),
    Case("hgrn2", hgrn2),
    Case("delta_net", delta_net),
    Case("gated_delta_net", gated_delta_net),
    Case(
        "gated_delta_net",
        gated_delta_net_inside,
        {"gate": "softplus", "qk_norm": True, "beta_sigmoid": True, "beta_most": "2"},
    ),
    Case("kda", kda, {"lower_bound": -5.0}),
    Case("kda", kda_inside, {"gate": "sigmoid", "lower_bound": -5.0}),
    Case("gdn2", gdn2),
    Case("gated_delta_product", gated_delta_product, {"steps": "3"}),
    Case("comba", comba),
    Case("dplr", dplr),
    Case("iplr", iplr),
    Case("mamba2", mamba2),
    Case(
        "mamba2",
        mamba2_whole,
        {"dt_softplus": True, "has_dt_bias": True, "dt_least": 0.1, "dt_most": 1.5, "has_skip": True, "has_gate": True},
    ),
]
EVERY = bool(os.environ.get("WKVC_TEST_ALL"))


def drawn(case: Case, dtype: torch.dtype, size: Size = CPU) -> Tensors:
    """Inputs as layers give them, by name, rounded to their storage."""
    generator = torch.Generator().manual_seed(3)
    normal = {spec.name: torch.randn(size.shape(spec.dims()), generator=generator) for spec in family(case).inputs}
    inside = case.settings.get("gate") in ("softplus", "sigmoid")
    forms: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
        "g": lambda x: x if inside else -0.4 * torch.sigmoid(x),
        "beta": lambda x: x if "beta_sigmoid" in case.settings else torch.sigmoid(x),
        "b": torch.sigmoid if case.name == "gdn2" else lambda x: 0.3 * normalize(x, dim=-1),
        "a": lambda x: -normalize(x, dim=-1),
        "k": lambda x: normalize(x, dim=-1),
        "p": lambda x: normalize(x, dim=-1),
        "dt": lambda x: x if case.settings else 0.2 * torch.sigmoid(x),
        "A": lambda x: -torch.exp(x),
        "w": lambda x: x - 2 if case.name == "rwkv5" else torch.sigmoid(x),
    }
    given = {name: forms.get(name.rstrip("123"), lambda x: x)(x) for name, x in normal.items()}
    specs = {spec.name: spec for spec in family(case).inputs}
    return {n: x.to(size.device, torch.float32 if specs[n].dtype == torch.float32 else dtype) for n, x in given.items()}


def family(case: Case) -> Any:
    return function(case).settle(case.settings).family


def function(case: Case) -> wkvc.Operator:
    return getattr(wkvc, case.name)


def reference(case: Case, given: Tensors, S: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The outputs and the last state by the equation, token by token."""
    outputs = []
    for t in range(next(x.shape[1] for x in given.values() if x.shape[:1] != (H,))):
        token = {name: x if x.shape[:1] == (H,) else x[:, t] for name, x in given.items()}
        o, S = case.step(S, token)
        outputs.append(o)
    return torch.stack(outputs, 1), S


def expect_near(name: str, found: torch.Tensor, expected: torch.Tensor, bound: float) -> None:
    """Compares a tensor, and each of its rows beside what a row has on average."""
    found = found.detach().double()
    assert torch.isfinite(found).all(), name
    assert (found - expected).norm() <= bound * expected.norm(), name
    if expected.dim() < 2:
        return
    sizes = expected.norm(dim=-1)
    most = 4 * bound * (sizes + 0.2 * sizes.square().mean().sqrt())
    assert ((found - expected).norm(dim=-1) <= most).all(), f"a row of {name}"


DTYPES = {
    "bf16": (torch.bfloat16, 4e-3),
    "f16": (torch.float16, 2.5e-3),
    "f32": (torch.float32, 2.5e-3),
}  # operands are f16 in each


@SIZES
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_and_gradients_are_those_of_the_equation(case: Case, dtype: str, size: Size) -> None:
    if not EVERY and dtype != "bf16" and case.name not in ("gated_delta_net", "mamba2"):
        pytest.skip("with WKVC_TEST_ALL")
    stored, bound = DTYPES[dtype]
    given = {name: x.requires_grad_() for name, x in drawn(case, stored, size).items()}
    start = torch.randn(size.shape("BHVK"), generator=torch.Generator().manual_seed(5)).to(size.device).requires_grad_()
    o, S = function(case)(**given, initial_state=start, output_final_state=True, **case.settings)
    exact = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    exact_start = start.detach().double().requires_grad_()
    expected_o, expected_S = reference(case, exact, exact_start)
    assert o is not None
    assert S is not None
    expect_near("o", o, expected_o.detach(), bound)
    expect_near("final_state", S, expected_S.detach(), bound)
    generator = torch.Generator().manual_seed(7)
    do, dS = (torch.randn(x.shape, generator=generator).to(x) for x in (o, S))
    found = torch.autograd.grad([o, S], [*given.values(), start], [do, dS])
    expected = torch.autograd.grad([expected_o, expected_S], [*exact.values(), exact_start], [do.double(), dS.double()])
    for name, x, y in zip([*given, "initial_state"], found, expected, strict=True):
        expect_near(f"d{name}", x, y, bound)


@SIZES
@pytest.mark.parametrize("case", CASES, ids=repr)
def test_decoding_and_packing_give_what_a_batch_gives(case: Case, size: Size) -> None:
    given = drawn(case, torch.float32, size)
    o, S = function(case)(**given, output_final_state=True, mma="f32", **case.settings)
    assert o is not None
    assert S is not None
    states = torch.zeros(size.shape("BHVK"), device=size.device)
    tokens = []
    for t in range(3):
        token = {name: x if x.shape[:1] == (H,) else x[:, t : t + 1] for name, x in given.items()}
        tokens.append(wkvc.decode(function(case), states=states, **token, **case.settings))
    expect_near("tokens", torch.cat(tokens, 1), o[:, :3].double(), 1e-5)
    if not EVERY and case.name not in ("gated_delta_net", "kda", "mamba2"):
        return
    packed = {name: x if x.shape[:1] == (H,) else x.flatten(0, 1).unsqueeze(0) for name, x in given.items()}
    starts = torch.tensor([0, size.T, 2 * size.T], dtype=torch.int32, device=size.device)
    rows, ends = function(case)(**packed, cu_seqlens=starts, output_final_state=True, mma="f32", **case.settings)
    assert rows is not None
    assert ends is not None
    expect_near("packed", rows, o.flatten(0, 1).unsqueeze(0).double(), 1e-5)
    expect_near("states", ends, S.double(), 1e-5)


def test_autocast_is_of_calls_and_not_of_decoding() -> None:
    case = Case("gated_delta_net", gated_delta_net)
    token = {name: x[:, :1] for name, x in drawn(case, torch.float32).items()}
    plain = wkvc.decode(wkvc.gated_delta_net, states=torch.zeros(CPU.shape("BHVK")), **token)
    with torch.autocast("cpu", torch.bfloat16):
        o, _ = wkvc.gated_delta_net(**token)
        decoded = wkvc.decode(wkvc.gated_delta_net, states=torch.zeros(CPU.shape("BHVK")), **token)
    assert o.dtype == torch.bfloat16
    assert torch.equal(decoded, plain)


def test_heads_are_shared() -> None:
    case = Case("gated_delta_net", gated_delta_net)
    given = drawn(case, torch.float32)
    few = {name: x[:, :, :2] if name in "qk" else x for name, x in given.items()}
    all_heads = {name: x.repeat_interleave(2, 2) if name in "qk" else x for name, x in few.items()}
    o, _ = wkvc.gated_delta_net(**few)
    expected, _ = wkvc.gated_delta_net(**all_heads)
    assert torch.equal(o, expected)


def test_compiled_code_has_no_breaks() -> None:
    case = Case("kda", kda, {"lower_bound": -5.0})
    given = drawn(case, torch.bfloat16)
    compiled = torch.compile(lambda **x: wkvc.kda(**x, **case.settings)[0], fullgraph=True)
    assert torch.equal(compiled(**given), wkvc.kda(**given, **case.settings)[0])


def test_an_unnormalised_zero_key_has_a_finite_gradient() -> None:
    case = Case("delta_net", delta_net, {"qk_norm": True})
    given = drawn(case, torch.float32)
    given["k"][:, 5] = 0
    given = {name: x.requires_grad_() for name, x in given.items()}
    o, _ = wkvc.delta_net(**given, qk_norm=True)
    assert all(torch.isfinite(x).all() for x in torch.autograd.grad(o.square().sum(), given.values()))


def test_mistakes() -> None:
    given = drawn(Case("gated_delta_net", gated_delta_net), torch.bfloat16)
    with pytest.raises(TypeError, match=r"takes no scal; known names are q, k, v, g, beta, .*scale"):
        wkvc.gated_delta_net(**given, scal=2)
    with pytest.raises(ValueError, match="the option gate is 'soft'; expected outside or softplus or sigmoid"):
        wkvc.gated_delta_net(**given, gate="soft")
    with pytest.raises(ValueError, match="scale is '1 2', expected one word"):
        wkvc.gated_delta_net(**given, scale="1 2")
    with pytest.raises(TypeError, match="missing: A_log, dt_bias"):
        wkvc.gated_delta_net(**given, gate="softplus")
    with pytest.raises(AttributeError, match="no attribute 'gated_delta_nt'"):
        _ = wkvc.gated_delta_nt
    with pytest.raises(TypeError, match=r"wkvc\.check takes no nonsense"):
        wkvc.check(wkvc.gated_delta_net, given, nonsense=1)
