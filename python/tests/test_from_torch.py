"""Recurrences from plain PyTorch: the texts of twins in the language, and the step's own results."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest
import torch
from torch.nn.functional import logsigmoid, normalize, relu, silu, softplus

import test_language
import wkvc
from test_language import BETA, G
from test_operators import DTYPES, expect_near
from wkvc import _mapped
from wkvc.language import K, V, bf16, f16, f32

KEYS = f32[K].within(-1e6, 0)


def rwkv7(S, x):
    log_w = -math.exp(-0.5) * torch.sigmoid(x["w"].float())
    S = S * log_w.exp() + torch.outer(S @ x["a"].float(), x["b"].float()) + torch.outer(x["v"].float(), x["k"].float())
    return S, (S @ x["r"].float()).bfloat16()


def rwkv6(S, x):
    r, w, k, v, u = x
    log_w = -torch.exp(w.float())
    uk = u.float() * k.float()
    return S * torch.exp(log_w) + torch.outer(v.float(), k.float()), {
        "o": ((S + torch.outer(v.float(), uk)) @ r.float()).to(torch.bfloat16)
    }


def gla(S, x):
    S = S * x.g.exp()[None, :] + x.v.float()[:, None] * x.k.float()[None, :]
    return S, {"o": (x.q.shape[-1] ** -0.5 * (S @ x.q.float())).bfloat16()}


def delta_net(S, x):
    k = x["k"].float()
    change = x["beta"] * (x["v"].float() - torch.mv(S, k))
    S = S + torch.outer(change, k)
    return S, {"o": (k.size(0) ** -0.5 * (S * x["q"].float()).sum(-1)).to(x["v"])}


def gated_delta_net(S, x):
    decayed = x["g"].exp() * S
    change = x["beta"] * (x["v"].float() - decayed @ x["k"].float())
    S = decayed + torch.outer(change, x["k"].float())
    return S, {"o": (x["q"].shape[-1] ** -0.5 * torch.einsum("vk,k->v", S, x["q"].float())).bfloat16()}


def kda(S, x):
    """As naive loops of other packages have it: states are [K, V]."""
    decayed = S.clone() * x["g"].exp()[..., None]
    change = x["beta"][..., None] * (x["v"].float() - (decayed * x["k"].float()[..., None]).sum(-2))
    S = decayed + x["k"].float().unsqueeze(-1) * change.unsqueeze(-2)
    return S, {"o": (x["q"].shape[-1] ** -0.5 * torch.einsum("...k,...kv->...v", x["q"].float(), S)).bfloat16()}


def mamba2(S, x):
    S = torch.exp(x["A"] * x["dt"]) * S + torch.outer(x["dt"] * x["x"].float(), x["B"].float())
    return S, ((S @ x["C"].float()[:, None]).squeeze(-1)).bfloat16()


def gated_norms(S, x):
    """Norms, gates and two outputs."""
    q, k, v, g = x
    k = k.float() * (k.float().square().sum(-1, keepdim=True) + 1e-6).rsqrt()
    S = S * (logsigmoid(g) / 16).exp() + torch.outer(silu(v.float()) + relu(v.float()), k)
    size = (q.float() * k).sum() ** 2 + q.float().pow(2).mean()
    return S, (torch.tanh(S @ q.float()).bfloat16(), softplus(size))


class Case(NamedTuple):
    step: Callable[..., Any]
    inputs: Mapping[str, Any]
    head: tuple[int, int] = (128, 128)
    options: Mapping[str, Any] = {}

    def op(self) -> Any:
        return wkvc.from_torch(self.step, **self.inputs, head=self.head, **self.options)

    def __repr__(self) -> str:
        return self.step.__name__


QKV = {"q": bf16[K], "k": bf16[K], "v": bf16[V]}
TWINS = [
    Case(rwkv7, {name: bf16[V if name == "v" else K] for name in "rwkabv"}, (64, 64)),
    Case(rwkv6, {**{name: bf16[V if name == "v" else K] for name in "rwkv"}, "u": bf16[K].of_head()}, (64, 64)),
    Case(gla, {**QKV, "g": KEYS}),
    Case(delta_net, {**QKV, "beta": BETA}),
    Case(gated_delta_net, {**QKV, "g": G, "beta": BETA}),
    Case(kda, {**QKV, "g": KEYS, "beta": BETA}, options={"state_layout": "kv"}),
]
OTHERS = [
    Case(mamba2, {"x": bf16[V], "dt": BETA, "A": G.of_head(), "B": bf16[K], "C": bf16[K]}),
    Case(gated_norms, {**QKV, "g": f32[K]}),
]
CASES = TWINS + OTHERS


@pytest.mark.parametrize("case", TWINS, ids=repr)
def test_the_text_is_that_of_the_twin(case: Case) -> None:
    twin = wkvc.recurrence(head=case.head)(getattr(test_language, case.step.__name__))
    assert case.op().text() == twin.text()
    of_call = ("", (32, 16), "f16", "bf16")
    assert case.op().source.emit(*of_call) == twin.source.emit(*of_call)


def without_names(text: str) -> str:
    numbers: dict[str, int] = {}
    return re.sub(r"%\w+", lambda found: f"%{numbers.setdefault(found[0], len(numbers))}", text)


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_the_printed_source_has_the_same_text(case: Case) -> None:
    scope: dict[str, Any] = {}
    op = case.op()
    exec(op.python((32, 16)), scope)
    assert without_names(scope[case.step.__name__].text()) == without_names(op.source.emit("", (32, 16), None, None))


def test_the_printed_source_is_the_language() -> None:
    assert TWINS[4].op().python() == (
        "import wkvc\n"
        "from wkvc.language import K, V, bf16, exp, f32, outer\n\n\n"
        '@wkvc.recurrence(head=(128, 128), compute="f16")\n'
        "def gated_delta_net(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32.within(-1000000.0, 0.0), "
        "beta=f32.within(0.0, 1.0)):\n"
        "    decayed = exp(g) * S\n"
        "    change = beta * (f32(v) - decayed @ k)\n"
        "    S_next = decayed + outer(change, k)\n"
        '    return S_next, {"o": bf16(K.extent**-0.5 * (S_next @ q))}\n'
    )


# Results.

LENGTHS = {"B": 2, "T": 37, "H": 2, "K": 16, "V": 32}


def drawn(op: Any, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Inputs inside their ranges, rounded to their storage; all but q, k and v are small."""
    generator = torch.Generator().manual_seed(3)
    given = {}
    for spec in op.family.inputs:
        x = torch.randn([LENGTHS[dim] for dim in spec.dims()], generator=generator)
        if spec.name in ("g", "A"):
            x = -0.4 * torch.sigmoid(x)
        elif spec.name in ("beta", "dt"):
            x = torch.sigmoid(x)
        elif spec.name in ("k", "a"):
            x = normalize(x, dim=-1)
        elif spec.name == "b":
            x = -0.5 * given["a"].float()
        given[spec.name] = x if spec.dtype == torch.float32 else x.to(dtype)
    return given


def a_start() -> torch.Tensor:
    shape = [LENGTHS[dim] for dim in "BHVK"]
    return torch.randn(shape, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_results_and_gradients_are_those_of_the_step_in_float64(case: Case) -> None:
    dtype, bound = DTYPES["bf16"]
    op, layout = case.op(), case.options.get("state_layout", "vk")
    given = {name: x.requires_grad_() for name, x in drawn(op, dtype).items()}
    start = (a_start() if layout == "vk" else a_start().mT.contiguous()).requires_grad_()
    results = op(**given, initial_state=start, output_final_state=True, state_layout=layout)
    exact = {name: x.detach().double().requires_grad_() for name, x in given.items()}
    exact_start = start.detach().double().requires_grad_()
    expected = op.eager(**exact, initial_state=exact_start)
    for n, (x, y) in enumerate(zip(results, expected, strict=True)):
        assert y.dtype == torch.float64
        expect_near(f"result {n}", x, y.detach(), bound)
    generator = torch.Generator().manual_seed(7)
    wanted = [torch.randn(x.shape, generator=generator).to(x.dtype) for x in results]
    found = torch.autograd.grad(results, [*given.values(), start], wanted)
    exact_found = torch.autograd.grad(expected, [*exact.values(), exact_start], [x.double() for x in wanted])
    for name, x, y in zip([*given, "initial_state"], found, exact_found, strict=True):
        expect_near(f"d{name}", x, y, bound)


@pytest.mark.parametrize("case", [TWINS[1], TWINS[4]], ids=repr)
def test_decoding_and_packing_give_what_a_batch_gives(case: Case) -> None:
    op = case.op()
    given = drawn(op, torch.float32)
    o, S = op(**given, output_final_state=True, mma="f32")
    is_token = {spec.name: not spec.is_parameter for spec in op.family.inputs}
    states, tokens = torch.zeros_like(S), []
    for t in range(3):
        token = {name: x[:, t : t + 1] if is_token[name] else x for name, x in given.items()}
        tokens.append(wkvc.decode(op, states=states, **token))
    expect_near("tokens", torch.cat(tokens, 1), o[:, :3].double(), 1e-5)
    packed = {name: x.flatten(0, 1).unsqueeze(0) if is_token[name] else x for name, x in given.items()}
    starts = torch.tensor([0, LENGTHS["T"], 2 * LENGTHS["T"]], dtype=torch.int32)
    rows, ends = op(**packed, cu_seqlens=starts, output_final_state=True, mma="f32")
    expect_near("packed", rows, o.flatten(0, 1).unsqueeze(0).double(), 1e-5)
    expect_near("states", ends, S.double(), 1e-5)


def every_function(S, x):
    """A row for each function that is mapped."""
    q, k, v, g = x.q.float(), x.k.float(), x.v.float(), x.g
    S = S * torch.exp(g) - (-v.view(-1, 1)) @ k.reshape((1, -1))
    decayed = (S / (2 + torch.sigmoid(g[None]))).T
    u = 1.5 - torch.tanh(v) + 2 / (3 + torch.square(v)) - v / 4
    positive = u * u + 1
    size = (q * k * 0.5).sum() - (2 * (q * k)).sum(-1, keepdim=True)[:].squeeze(0) + torch.mean(-q * k)
    return S, {
        "logs": torch.log(positive) + positive.sqrt() + torch.reciprocal(positive) + positive**-1 + positive**-0.5,
        "powers": torch.pow(u, 2) + positive.pow(0.5) + torch.rsqrt(positive) + u.neg(),
        "gates": softplus(u) - logsigmoid(u) + silu(u) * relu(v) + torch.mul(u, 0.5),
        "reads": q @ decayed + torch.mm(S, k[:, None])[..., :].squeeze() + torch.mv(decayed.mT, k),
        "sums": (S.contiguous() * q.unsqueeze(0)).sum(dim=1) + torch.einsum("k,kv->v", k, S.t().clone()),
        "products": torch.matmul(S.transpose(0, 1).T, q) + torch.einsum("v,v->v", u, v),
        "more": torch.sub(torch.add(u, v), torch.div(v, positive)) + torch.dot(q, k) * torch.outer(v, k)[:, :] @ q,
        "number": size.type_as(g).to(torch.float32),
    }


def test_each_function_is_that_of_pytorch(monkeypatch: pytest.MonkeyPatch) -> None:
    used = set()
    for name, function in _mapped.MAPPED.items():

        def recorded(*args: Any, name: str = name, function: Any = function, **kwargs: Any) -> Any:
            used.add(name)
            return function(*args, **kwargs)

        monkeypatch.setitem(_mapped.MAPPED, name, recorded)
    op = wkvc.from_torch(every_function, **QKV, g=KEYS, head=(16, 32))
    assert used == _mapped.MAPPED.keys() - {"bfloat16", "half"}
    given = drawn(op, torch.bfloat16)
    results = op(**given, output_final_state=True, mma="f32")
    for spec, x, y in zip([*op.family.outputs, None], results, op.eager(**given), strict=True):
        expect_near(spec.name if spec else "state", x, y, 1e-5)


def test_eager_is_the_step_over_tokens() -> None:
    op = TWINS[4].op()
    given = drawn(op, torch.bfloat16)
    o, S = op.eager(**given, dtype=None)
    assert (o.dtype, S.dtype) == (torch.bfloat16, torch.float32)
    state = torch.zeros(32, 16)
    for t in range(LENGTHS["T"]):
        state, outputs = gated_delta_net(state, {name: x[1, t, 1] for name, x in given.items()})
        assert torch.allclose(o[1, t, 1].float(), outputs["o"].float(), atol=1e-2)
    assert torch.allclose(S[1, 1], state, atol=1e-5)
    exact, _ = op.eager(*(x.double() for x in given.values()), initial_state=torch.zeros(2, 2, 32, 16))
    assert 1e-4 < (o - exact).norm() / exact.norm() < 1e-2  # casts round the one and not the other


def test_it_is_checked_and_compiled() -> None:
    op = TWINS[4].op()
    given = drawn(op, torch.bfloat16)
    assert wkvc.check(op, given).passed
    compiled = torch.compile(lambda **x: op(**x)[0], fullgraph=True)
    assert torch.equal(compiled(**given), op(**given)[0])
    assert repr(op) == "wkvc.from_torch(gated_delta_net)"


def test_functions_of_one_text_differ_for_other_heads() -> None:
    def step(S, x):
        S = S + torch.outer(x.v.float(), x.k.float())
        return S, (x.k.shape[0] * (S @ x.k.float())).bfloat16()

    def fixed():
        def step(S, x):
            S = S + torch.outer(x.v.float(), x.k.float())
            return S, (32 * (S @ x.k.float())).bfloat16()

        return step

    ops = [wkvc.from_torch(function, k=bf16[K], v=bf16[V], head=32) for function in (step, fixed())]
    assert ops[0].text() == ops[1].text()
    ones = torch.ones(1, 1, 1, 16, dtype=torch.bfloat16)
    assert [op(ones, ones)[0][0, 0, 0, 0].item() for op in ops] == [256, 512]


def test_keyword_only_parameters_are_options() -> None:
    def scaled(S, x, *, scale=1.0, gated=False):
        v = x.v.float() * (torch.sigmoid(x.v.float()) if gated else 1)
        S = S + torch.outer(v, x.k.float())
        return S, (scale * (S @ x.k.float())).half()

    op = wkvc.from_torch(scaled, k=f16[K], v=f16[V], head=16)
    given = [torch.ones(1, 3, 1, 16, dtype=torch.float16) for _ in range(2)]
    assert op(*given, scale=0.5)[0][0, :, 0, 0].tolist() == [8, 16, 24]
    assert op.eager(*given, scale=0.5)[0][0, :, 0, 0].tolist() == [8, 16, 24]
    assert "sigmoid" in op.python(gated=True)
    assert "sigmoid" not in op.python()


def test_names_of_outputs() -> None:
    class Outputs(NamedTuple):
        read: torch.Tensor
        size: torch.Tensor

    def two(S, x):
        S = S + torch.outer(x.v.float(), x.k.float())
        return S, Outputs((S @ x.k.float()).bfloat16(), x.k.float() @ x.k.float())

    op = wkvc.from_torch(two, k=bf16[K], v=bf16[V], head=16)
    assert [spec.name for spec in op.family.outputs] == ["read", "size"]
    assert [spec.name for spec in CASES[-1].op().family.outputs] == ["o0", "o1"]
