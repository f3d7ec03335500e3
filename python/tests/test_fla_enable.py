"""flash-linear-attention's own functions on wkvc, against its reference implementations in PyTorch."""

import importlib
import inspect
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch.nn.functional import normalize

import wkvc.fla
import wkvc.mamba

pytest.importorskip("fla", reason="flash-linear-attention is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # flash-linear-attention warns of CPUs and of float32

B, T, H, K, V = 2, 37, 2, 16, 32
HEADS_FIRST = (
    "delta_rule_recurrence",
    "dplr_recurrence",
    "iplr_recurrence",
    "naive_recurrent_rwkv6",
    "naive_retention",
)
FEW = ("gated_delta_rule", "retention", "rwkv6", "rwkv7")  # modules that are tested with few tokens, too
HOUSEHOLDER = 2

# Functions of flash-linear-attention, a reference there, and the inputs of both, by the names that `inputs` has.
CASES = [
    ("gla", "chunk_gla", "naive.naive_recurrent_gla", "q k v g=gk"),
    ("gla", "fused_recurrent_gla", "naive.naive_recurrent_gla", "q k v gk"),
    ("simple_gla", "chunk_simple_gla fused_chunk_simple_gla", "naive.naive_recurrent_simple_gla", "q k v g"),
    ("simple_gla", "parallel_simple_gla fused_recurrent_simple_gla", "naive.naive_recurrent_simple_gla", "q k v g"),
    ("retention", "chunk_retention fused_recurrent_retention", "naive.naive_retention", "q k v"),
    ("delta_rule", "chunk_delta_rule fused_recurrent_delta_rule", "naive.delta_rule_recurrence", "q k v beta"),
    (
        "gated_delta_rule",
        "chunk_gated_delta_rule fused_recurrent_gated_delta_rule chunk_gdn fused_recurrent_gdn",
        "naive.naive_recurrent_gated_delta_rule",
        "q k v g beta",
    ),
    ("kda", "chunk_kda fused_recurrent_kda", "naive.naive_recurrent_kda", "q k v g=gk beta"),
    ("gdn2", "chunk_gdn2 fused_recurrent_gdn2", "naive.naive_recurrent_gdn2", "q k v g=gk b=erase w=write"),
    ("comba", "chunk_comba fused_recurrent_comba", "naive.naive_chunk_comba", "q k v p g beta"),
    (
        "gated_delta_product",
        "chunk_gated_delta_product",
        "naive.naive_recurrent_gated_delta_product",
        "q k=many_k v=many_v g beta=many_beta scale=scale num_householder=num_householder",
    ),
    ("rwkv6", "chunk_rwkv6 fused_recurrent_rwkv6", "recurrent_naive.naive_recurrent_rwkv6", "r=q k v w=gk u"),
    ("rwkv7", "chunk_rwkv7 fused_recurrent_rwkv7", "", "r=q w=gk k v a=-kk b=kk_rate scale=scale"),
    ("rwkv7", "fused_mul_recurrent_rwkv7", "", "r=q w=gk k v kk a=rate scale=scale"),
    (
        "generalized_delta_rule.dplr",
        "chunk_dplr_delta_rule fused_recurrent_dplr_delta_rule",
        "naive.dplr_recurrence",
        "q k v a=-kk b=kk_rate gk",
    ),
    (
        "generalized_delta_rule.iplr",
        "chunk_iplr_delta_rule fused_recurrent_iplr_delta_rule",
        "naive.iplr_recurrence",
        "q k v a=-kk b=kk_rate",
    ),
]
REFERENCE_NAMES = {  # where a reference has another name for an argument
    "naive_recurrent_rwkv6": {"r": "q"},
    "naive_recurrent_gla": {"g": "gk"},
    "dplr_recurrence": {"a": "alpha", "b": "beta"},
    "iplr_recurrence": {"a": "alpha", "b": "beta"},
}


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    wkvc.fla.enable()
    yield
    wkvc.fla.disable()


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def unit(*shape: int, seed: int) -> torch.Tensor:
    return normalize(draw(*shape, seed=seed), dim=-1)


def inputs(names: str, tokens: int = T, keys: int = K) -> dict[str, Any]:
    """Inputs as layers give them: "g=gk" is gk as the argument g."""
    key, value, number = (B, tokens, H, keys), (B, tokens, H, V), (B, tokens, H)
    kk, rate = unit(*key, seed=2), draw(*key, seed=5).sigmoid()
    many = (B, tokens * HOUSEHOLDER, H)
    made = {
        "q": draw(*key),
        "k": unit(*key, seed=1),
        "v": draw(*value),
        "p": unit(*key, seed=3),
        "g": -0.4 * draw(*number).sigmoid(),
        "gk": -0.4 * draw(*key).sigmoid(),
        "beta": draw(*number, seed=1).sigmoid(),
        "erase": draw(*key, seed=4).sigmoid(),
        "write": draw(*value, seed=4).sigmoid(),
        "u": draw(H, keys),
        "kk": kk,
        "-kk": -kk,
        "rate": rate,
        "kk_rate": kk * rate,
        "many_k": unit(*many, keys, seed=1),
        "many_v": draw(*many, V),
        "many_beta": draw(*many).sigmoid(),
        "scale": keys**-0.5,
        "num_householder": HOUSEHOLDER,
    }
    pairs = [name.partition("=") for name in names.split()]
    return {name: made[other or name] for name, _, other in pairs}


def found(path: str) -> Callable[..., Any]:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(f"fla.ops.{module}"), name)


def reference(path: str, given: dict[str, Any]) -> torch.Tensor:
    """The output of a reference, which may take heads before tokens and other names."""
    function, name = found(path), path.rpartition(".")[2]
    turn: Callable[[Any], Any] = lambda x: (  # noqa: E731
        x.transpose(1, 2) if name in HEADS_FIRST and torch.is_tensor(x) and x.dim() > 2 else x
    )
    names = REFERENCE_NAMES.get(name, {})
    results = function(**{names.get(key, key): turn(x) for key, x in given.items()})
    return turn(results if torch.is_tensor(results) else results[0])


def on_wkvc(capsys: pytest.CaptureFixture[str]) -> int:
    wkvc.fla.report()
    return sum(int(line.split()[0]) for line in capsys.readouterr().out.splitlines() if line.endswith(": on wkvc"))


def is_near(result: torch.Tensor, expected: torch.Tensor) -> bool:
    return float((result - expected).norm() / expected.norm()) < 2e-5


@pytest.mark.parametrize(("module", "names", "path", "given"), CASES, ids=[case[1].split()[0] for case in CASES])
def test_functions(module: str, names: str, path: str, given: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Many tokens; and few ones, where kernels go token by token."""
    for tokens in (T, 3) if module in FEW else (T,):
        made = inputs(given, tokens)
        if path:
            expected = reference(f"{module}.{path}", made)
        else:
            a, b = (made["a"], made["b"]) if "b" in made else (-made["kk"], made["kk"] * made["a"])
            same = {"q": made["r"], "k": made["k"], "v": made["v"], "a": a, "b": b, "gk": made["w"]}
            expected = reference("generalized_delta_rule.dplr.naive.dplr_recurrence", same)
        for name in names.split():
            before = on_wkvc(capsys)
            o, _ = found(f"{module}.{name}")(**made)
            assert on_wkvc(capsys) == before + 1, f"{name} did not run on wkvc"
            assert is_near(o, expected), name


@pytest.mark.gpu
@pytest.mark.parametrize(("module", "names", "path", "given"), CASES, ids=[case[1].split()[0] for case in CASES])
def test_beside_the_originals(module: str, names: str, path: str, given: str) -> None:
    """Outputs in bfloat16 on a GPU, and gradients where the original has them."""
    made = inputs(given, tokens=200, keys=64)
    for name, x in made.items():
        if torch.is_tensor(x):
            made[name] = x.cuda() if name == "g" and x.dim() == 3 else x.cuda().bfloat16()
    leaves = [x for x in made.values() if torch.is_tensor(x)]
    for name in names.split():
        has_gradients = "recurrent" not in name
        results = []
        for switch in (wkvc.fla.enable, wkvc.fla.disable):
            switch()
            for leaf in leaves:
                leaf.requires_grad_(has_gradients)
            o = found(f"{module}.{name}")(**made)[0]
            results.append([o, *(torch.autograd.grad(o.float().square().sum(), leaves) if has_gradients else ())])
        for ours, theirs in zip(*results, strict=True):
            assert float((ours.float() - theirs.float()).norm() / theirs.float().norm()) < 2e-2, name


def test_gradients_and_states() -> None:
    """Through a function that fla.backends dispatches, and one that is replaced."""
    given = {name: x.requires_grad_() for name, x in inputs("q k v g beta").items()}
    start = draw(B, H, K, V).requires_grad_()
    leaves = [*given.values(), start]
    results = []
    functions = ("chunk_gated_delta_rule", "naive.naive_recurrent_gated_delta_rule", "fused_recurrent_gated_delta_rule")
    for name in functions:
        o, S = found(f"gated_delta_rule.{name}")(**given, initial_state=start, output_final_state=True)
        results.append([o, S, *torch.autograd.grad(o.square().sum() + S.sum(), leaves)])
    for chunk, naive, recurrent in zip(*results, strict=True):
        assert is_near(chunk.detach(), naive.detach())
        assert torch.equal(chunk, recurrent)


def test_heads_of_any_size() -> None:
    given, start = inputs("q k v g beta", keys=10), draw(B, H, 10, V)
    options = {"initial_state": start, "output_final_state": True}
    o, S = found("gated_delta_rule.chunk_gated_delta_rule")(**given, **options)
    expected, expected_S = found("gated_delta_rule.naive.naive_recurrent_gated_delta_rule")(**given, **options)
    assert is_near(o, expected)
    assert is_near(S, expected_S)


def test_errors_and_old_names_are_those_of_the_originals(capsys: pytest.CaptureFixture[str]) -> None:
    for name, given, size in (
        ("kda.chunk_kda", "q k v g=gk beta", 16),
        ("gdn2.chunk_gdn2", "q k v g=gk b=erase w=write", 32),
    ):
        with pytest.raises(ValueError, match="`chunk_size` must be"):
            found(name)(**inputs(given), chunk_size=size)
    given = inputs("q k v g=gk beta")
    before = on_wkvc(capsys)
    _, expected = found("kda.chunk_kda")(**given, output_final_state=True, state_v_first=True)
    with pytest.warns(DeprecationWarning, match="call the argument state_v_first"):
        _, state = found("kda.chunk_kda")(**given, output_final_state=True, transpose_state_layout=True)
    assert on_wkvc(capsys) == before + 2
    assert torch.equal(state, expected)
    assert list(state.shape) == [B, H, V, K]
    with pytest.raises(ValueError, match="both"):
        found("kda.chunk_kda")(**given, state_v_first=True, transpose_state_layout=True)


def test_what_stays(capsys: pytest.CaptureFixture[str]) -> None:
    """Calls that wkvc does not support raise what they raised before, here that there is no GPU."""
    given = inputs("q k v gk")
    for others in ({"gv": given["v"]}, {"reverse": True}, {"head_first": True}, {"chunk_size": 48}):
        with pytest.raises(Exception, match=r".*"):
            found("gla.fused_recurrent_gla")(**given, **others)
    with pytest.raises(Exception, match=r".*"):
        found("gla.chunk_gla")(*(x.double() for x in given.values()))
    for context in (object(), {}):
        with pytest.raises(Exception, match=r".*"):
            found("simple_gla.chunk_simple_gla")(**inputs("q k v g"), cp_context=context)
    wkvc.fla.report()
    report = capsys.readouterr().out
    for reason in ("wkvc takes no gv", "wkvc takes no reverse", "wkvc takes no head_first", "chunk_size is 48"):
        assert f"fla.ops.gla.fused_recurrent_gla: by the original: {reason}" in report
    assert "fla.ops.gla.chunk_gla: by the original: q is float64" in report
    for reason in ("cp_context was given", "unhashable type: 'dict'"):
        assert f"fla.ops.simple_gla.chunk_simple_gla: by the original: {reason}" in report


def test_modules_and_disabling() -> None:
    """Modules that were loaded before have the function, too; `disable` gives it back."""
    taken = found("gla.chunk_gla")
    user = types.ModuleType("a_users_module")
    sys.modules[user.__name__] = user
    wkvc.fla.disable()
    original = user.chunk_gla = found("gla.chunk_gla")  # pyright: ignore[reportAttributeAccessIssue]
    assert original is inspect.unwrap(taken, stop=lambda f: f is original)
    wkvc.fla.enable()
    wkvc.fla.enable()
    assert user.chunk_gla is found("gla.chunk_gla") is not original
    wkvc.fla.disable()
    assert user.chunk_gla is found("gla.chunk_gla") is original
    del sys.modules[user.__name__]


def test_the_table_has_the_functions_of_this_version() -> None:
    rows = [row for row in wkvc.fla.TABLE if row.module.startswith("fla.")]
    for row in rows:
        function = inspect.unwrap(getattr(importlib.import_module(row.module), row.name))
        names = [row.renames.get(name, name) for name in inspect.signature(function).parameters]
        needed = [p.name for p in inspect.signature(row.function).parameters.values() if p.default is p.empty]
        assert set(needed) <= set(names), row.name


def test_mamba_ssm(capsys: pytest.CaptureFixture[str]) -> None:
    """Where it is not installed, wkvc stands in; where it is, `enable` takes its functions over."""
    wkvc.fla.disable()
    wkvc.mamba.stand_in()
    original = wkvc.mamba.mamba_chunk_scan_combined
    wkvc.fla.enable()
    assert wkvc.mamba.mamba_chunk_scan_combined is original
    scan = importlib.import_module("mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    before = on_wkvc(capsys)
    x, shared, dt, A = draw(B, T, 4, 16), draw(B, T, 1, 16), draw(B, T, 4), -torch.rand(4)
    o = scan(x, dt, A, shared, shared, 64, dt_softplus=True, D=None, z=None)
    assert on_wkvc(capsys) == before + 1
    assert is_near(o, wkvc.mamba.mamba_chunk_scan_combined(x, dt, A, shared, shared, dt_softplus=True, mma="f32"))
    wkvc.fla.disable()
    for module in [name for name in sys.modules if name.partition(".")[0] == "mamba_ssm"]:
        del sys.modules[module]
