"""Models of transformers on wkvc against the same models with transformers' own loops in PyTorch."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import wkvc.transformers
from conftest import ROOT

pytest.importorskip("transformers", reason="transformers is not installed")
sys.path.insert(0, str(ROOT / "bench" / "training"))
models: Any = importlib.import_module("models")

TOKENS, PROMPT = 37, 11
FUNCTIONS = {  # what each model's layers call: of many tokens, and of one
    "qwen3_next": ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule"),
    "qwen3_5": ("torch_chunk_gated_delta_rule", "torch_recurrent_gated_delta_rule"),
    "kimi_linear": ("chunk_kimi_delta_attention", "recurrent_kimi_delta_attention"),
    "falcon_h1": ("mamba2_chunk_scan", "mamba2_selective_state_update"),
    "granite_hybrid": ("mamba2_chunk_scan", "mamba2_selective_state_update"),
    "bamba": ("mamba2_chunk_scan", "mamba2_selective_state_update"),
    "mamba2": ("mamba2_chunk_scan", "mamba2_selective_state_update"),
}
BOUNDS = {"logits": 1e-5, "loss": 1e-5}
GRADIENTS = 5e-4  # against float64, A_log's is off by 3e-4 in transformers' chunks, and by 3e-5 in wkvc's


@pytest.fixture(autouse=True)
def disabled() -> Iterator[None]:
    wkvc.transformers.disable()
    yield
    wkvc.transformers.disable()


def build(name: str) -> Any:
    torch.manual_seed(0)
    return models.make(name, width=32, head=16, vocabulary=64, initializer_range=0.3)


def tokens(count: int = TOKENS) -> torch.Tensor:
    return torch.randint(3, 64, (2, count), generator=torch.Generator().manual_seed(1))


def module_of(model: Any) -> Any:
    return sys.modules[type(model).__module__]


def with_loops(model: Any, function: Callable[[Any], dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    with models.loops(model, wkvc.transformers.NAMES):
        return function(model)


def trained(model: Any) -> dict[str, torch.Tensor]:
    """Logits, the loss and all gradients."""
    model.train()
    out = model(tokens(), labels=tokens(), use_cache=False)
    out.loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    model.zero_grad(set_to_none=True)
    return {"logits": out.logits.detach(), "loss": out.loss.detach(), **gradients}


def generated(model: Any) -> dict[str, torch.Tensor]:
    model.eval()
    options = {"max_new_tokens": 5, "min_new_tokens": 5, "do_sample": False, "return_dict_in_generate": True}
    out = model.generate(
        tokens(PROMPT), attention_mask=torch.ones(2, PROMPT, dtype=torch.long), output_logits=True, **options
    )
    return {"ids": out.sequences, "logits": torch.stack(out.logits)}


def error(result: torch.Tensor, reference: torch.Tensor) -> float:
    return float((result.double() - reference.double()).norm() / reference.double().norm())


def calls(capsys: pytest.CaptureFixture[str], name: str) -> int:
    """How often a function ran on wkvc so far."""
    wkvc.transformers.report()
    lines = capsys.readouterr().out.splitlines()
    return sum(int(line.split()[0]) for line in lines if line.endswith(f".{name}: on wkvc"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_model(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It trains and generates as it does without wkvc, and wkvc ran both."""
    if name not in models.available():
        pytest.skip(f"this transformers has no {name}")
    model = build(name)
    expected, expected_text = with_loops(model, trained), with_loops(model, generated)
    wkvc.transformers.enable()
    before = [calls(capsys, function) for function in FUNCTIONS[name]]
    found, text = trained(model), generated(model)
    many, one = (calls(capsys, function) - b for function, b in zip(FUNCTIONS[name], before, strict=True))
    layers = 2 if name in ("falcon_h1", "mamba2") else 1
    assert (many, one) == (2 * layers, 4 * layers)
    assert found.keys() == expected.keys()
    off = {part: error(found[part], expected[part]) for part in expected}
    assert {part: e for part, e in off.items() if not e < BOUNDS.get(part, GRADIENTS)} == {}
    assert torch.equal(text["ids"], expected_text["ids"])
    assert error(text["logits"], expected_text["logits"]) < 1e-5


@pytest.mark.filterwarnings("ignore")
def test_bfloat16() -> None:
    """wkvc is as near to the model in float32 as transformers' loops are."""
    model = build("qwen3_5")
    expected = with_loops(model, trained)
    model.bfloat16()
    loops = with_loops(model, trained)
    wkvc.transformers.enable()
    found = trained(model)
    worse = {part: error(found[part], expected[part]) / error(loops[part], expected[part]) for part in expected}
    del worse["loss"]  # one number, near by chance
    assert {part: ratio for part, ratio in worse.items() if ratio > 1.5} == {}


@pytest.mark.filterwarnings("ignore")
def test_what_stays_with_transformers(capsys: pytest.CaptureFixture[str]) -> None:
    """A model in float64 goes on with the function that was there."""
    model = build("qwen3_5").double()
    expected = with_loops(model, trained)
    with models.loops(model, wkvc.transformers.NAMES):
        wkvc.transformers.enable()
        found = trained(model)
        wkvc.transformers.disable()
    wkvc.transformers.report()
    assert "qwen3_5.torch_chunk_gated_delta_rule: by the original: q is float64" in capsys.readouterr().out
    assert torch.equal(found["logits"], expected["logits"])


@pytest.mark.filterwarnings("ignore")
def test_enabled_before_and_twice_and_disabled() -> None:
    integrations = importlib.import_module("transformers.integrations")
    module, name = module_of(build("qwen3_5")), "torch_chunk_gated_delta_rule"
    original, decorator = getattr(module, name), integrations.use_kernel_func_from_hub_with_fallback
    wkvc.transformers.enable()
    taken = getattr(module, name)
    wkvc.transformers.enable()
    assert taken is getattr(module, name) is not original
    mark = integrations.use_kernel_func_from_hub_with_fallback("chunk_gated_delta_rule", "fla")
    loaded_later = mark(inspect.unwrap(original))
    q, g = torch.randn(1, 20, 2, 16), -torch.rand(1, 20, 2)
    results = [function(q, q, q, g, g.exp(), use_qk_l2norm_in_kernel=True)[0] for function in (taken, loaded_later)]
    assert torch.equal(*results)
    starts = torch.tensor([0, 9, 20])
    packed, _ = taken(q, q, q, g, g.exp(), use_qk_l2norm_in_kernel=True, cu_seqlens=starts, unknown=1)
    part, _ = taken(q[:, 9:], q[:, 9:], q[:, 9:], g[:, 9:], g[:, 9:].exp(), use_qk_l2norm_in_kernel=True)
    assert torch.equal(packed[:, 9:], part)
    wkvc.transformers.disable()
    assert getattr(module, name) is original
    assert integrations.use_kernel_func_from_hub_with_fallback is decorator


@pytest.mark.filterwarnings("ignore")
def test_every_model_has_its_functions_back() -> None:
    modules = [module_of(build(name)) for name in ("mamba2", "bamba", "qwen3_5", "qwen3_next")]
    held = [{name: vars(module).get(name) for name in wkvc.transformers.NAMES} for module in modules]
    wkvc.transformers.enable()
    for module, functions in zip(modules, held, strict=True):
        assert all(getattr(module, name) is not function for name, function in functions.items() if function)
    wkvc.transformers.disable()
    assert held == [{name: vars(module).get(name) for name in wkvc.transformers.NAMES} for module in modules]


def test_another_version(monkeypatch: pytest.MonkeyPatch) -> None:
    integrations = importlib.import_module("transformers.integrations")
    monkeypatch.setattr(integrations, "use_kernel_func_from_hub_with_fallback", None)
    with pytest.raises(ImportError, match=r"found transformers \S+ without .*, expected a version with it, such as 5"):
        wkvc.transformers.enable()
