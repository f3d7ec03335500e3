"""Other names for the same: flash-linear-attention, RWKV-LM, RWKV-PEFT; and check, prepare, the command."""

import importlib
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import wkvc
import wkvc.fla
from conftest import HEADS, KEYS, TOKENS, VALUES, a_state, doubles, gradients, loop, rwkv7_inputs, rwkv7_step, worst
from wkvc import _kernels, rwkv_lm

ROOT = Path(__file__).parents[2]  # of the clone, or of a copy of its documents beside the tests


def twice_exponential(w: torch.Tensor) -> torch.Tensor:
    return torch.exp(-torch.exp(w))


def lm_inputs() -> list[torch.Tensor]:
    """[B, T, C] with two heads of 64, and decays as RWKV-LM's layers clamp them."""
    generator = torch.Generator().manual_seed(5)
    r, w, k, v, kk, rate = (torch.randn(2, 20, HEADS, 64, generator=generator) for _ in range(6))
    kk = torch.nn.functional.normalize(kk, dim=-1)
    w = -torch.nn.functional.softplus(-w) - 0.5
    inputs = (r, w, k, v, -kk, kk * rate.sigmoid())
    return [tensor.flatten(2).bfloat16() for tensor in inputs]


def split(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.double().unflatten(-1, (-1, 64)) for tensor in tensors]


def expect_near(name: str, result: torch.Tensor, reference: torch.Tensor) -> None:
    assert worst(name, result, reference, 1.8e-3) == []


def test_rwkv_lm() -> None:
    inputs = lm_inputs()
    state = torch.zeros(2, HEADS, 64, 64, dtype=torch.float64)
    o, _ = loop(rwkv7_step(), split(inputs), state)
    expect_near("o", rwkv_lm.RWKV7_CLAMPW_CUDA(*inputs), o.flatten(2))
    o, _ = loop(rwkv7_step(twice_exponential), split(inputs), state)
    expect_near("o", rwkv_lm.RUN_CUDA_RWKV7g(*inputs), o.flatten(2))
    r, w, *rest = (tensor.unflatten(-1, (-1, 64)) for tensor in inputs)
    expect_near("o", rwkv_lm.WindBackstepping.apply(w, r, *rest), o)
    with pytest.raises(ValueError, match=r"w has shape \[2, 20, 2, 64\], expected \[B, T, C\]"):
        rwkv_lm.RWKV7_CLAMPW_CUDA(inputs[0], w, *inputs[2:])
    with pytest.raises(TypeError, match="w is None, expected a tensor"):
        rwkv_lm.WindBackstepping.apply(None, r, *rest)  # pyright: ignore[reportArgumentType]


def test_rwkv_peft() -> None:
    r, w, k, v, a, b = inputs = lm_inputs()
    learnt = torch.randn(HEADS, 64, 64, generator=torch.Generator().manual_seed(6)).requires_grad_()
    exact = learnt.detach().double().requires_grad_()
    o, last = rwkv_lm.RUN_RWKV7_STATE(r, k, v, w, a, b, learnt)
    expected, expected_last = loop(rwkv7_step(twice_exponential), split(inputs), exact.expand(2, -1, -1, -1))
    expect_near("o", o, expected.flatten(2))
    expect_near("final_state", last, expected_last)
    (gradient,) = torch.autograd.grad(last.sum(), learnt)
    (expected_gradient,) = torch.autograd.grad(expected_last.sum(), exact)
    expect_near("dinitial_state", gradient.unsqueeze(0), expected_gradient.unsqueeze(0))
    state = learnt.detach().transpose(-1, -2).expand(2, -1, -1, -1)
    parts = []
    for part in (slice(0, 9), slice(9, None)):
        some, state = rwkv_lm.RUN_RWKV7_INFCTX(*(x[:, part] for x in (r, k, v, w, a, b)), state)
        parts.append(some)
    expect_near("o", torch.cat(parts, 1), expected.flatten(2))
    expect_near("final_state", state.transpose(-1, -2), expected_last)
    with pytest.raises(TypeError, match="s is None, expected a tensor"):
        rwkv_lm.RUN_RWKV7_STATE(*inputs, None)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match=r"s has shape \[3, 2, 64, 64\], expected .* with B = 2"):
        rwkv_lm.RUN_RWKV7_STATE(*inputs, learnt.expand(3, -1, -1, -1))
    with pytest.raises(ValueError, match=r"s has shape \[2, 64, 64\], expected \[B, H, K, V\]"):
        rwkv_lm.RUN_RWKV7_INFCTX(*inputs, learnt)


@pytest.fixture
def chunk_rwkv7() -> Callable[..., tuple[torch.Tensor, torch.Tensor | None]]:
    pytest.importorskip("fla", reason="flash-linear-attention is not installed")
    wkvc.fla.enable()
    return importlib.import_module("fla.ops.rwkv7").chunk_rwkv7


@pytest.mark.filterwarnings("ignore")  # flash-linear-attention warns of CPUs and of float32
@pytest.mark.parametrize(("keys", "values"), [(KEYS, VALUES), (10, 20)])
def test_flash_linear_attention(
    chunk_rwkv7: Callable[..., tuple[torch.Tensor, torch.Tensor]], keys: int, values: int
) -> None:
    """Its function on wkvc: states with keys first, a scale, heads that wkvc pads."""
    r, w, k, v, a, b = rwkv7_inputs()
    inputs = [x.detach()[..., :keys] for x in (r, -0.6 * w.sigmoid(), k, v, a, b)]
    inputs[3] = v.detach()[..., :values]
    inputs.append(a_state().detach().transpose(-1, -2)[..., :keys, :values])
    inputs = [tensor.contiguous().requires_grad_() for tensor in inputs]
    before = wkvc.fla.report()
    results = chunk_rwkv7(*inputs[:6], scale=0.5, initial_state=inputs[6], output_final_state=True, lower_bound=-0.61)
    assert "on wkvc" in wkvc.fla.report() != before
    exact = doubles(inputs)
    o, state = loop(rwkv7_step(torch.exp), exact[:6], exact[6].transpose(-1, -2))
    expected = (o * 0.5, state.transpose(-1, -2))
    names = ("o", "final_state", "dr", "dw", "dk", "dv", "da", "db", "dinitial_state")
    got = (*results, *gradients(results, inputs))
    exact_results = (*expected, *gradients(expected, exact, like=results))
    failures = [worst(*case, 2e-5) for case in zip(names, got, exact_results, strict=True)]
    assert failures == [[]] * len(names)


@pytest.mark.filterwarnings("ignore")
def test_what_stays_with_flash_linear_attention(chunk_rwkv7: Callable[..., object]) -> None:
    r, w, k, v, a, b = (tensor.detach() for tensor in rwkv7_inputs())
    with pytest.raises(Exception, match=r".+"):  # its own kernels do not run on a CPU
        chunk_rwkv7(r, w, k.half(), v, a, b)
    assert "by the original: k is float16" in wkvc.fla.report()
    with pytest.raises(Exception, match=r".+"):
        chunk_rwkv7(*(tensor.double() for tensor in (r, w, k, v, a, b)))
    assert "r is float64, expected float32" in wkvc.fla.report()


@pytest.mark.filterwarnings("ignore")
def test_packed_sequences_of_flash_linear_attention(chunk_rwkv7: Callable[..., Any]) -> None:
    inputs = [tensor.detach()[:1] for tensor in rwkv7_inputs()]
    inputs[1] = -inputs[1].sigmoid()
    o, state = chunk_rwkv7(*inputs, cu_seqlens=torch.tensor([0, 20, TOKENS]), output_final_state=True)
    for n, part in enumerate((slice(0, 20), slice(20, TOKENS))):
        alone, own = chunk_rwkv7(*(tensor[:, part] for tensor in inputs), output_final_state=True)
        assert torch.equal(o[:, part], alone)
        assert torch.equal(state[n : n + 1], own)


def test_prepare(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A call after it compiles nothing."""
    wkvc.prepare(wkvc.rwkv7, [(2, 37, 2)], head=(KEYS, VALUES), dtype=torch.bfloat16, device="cpu", progress=True)
    assert "1/1 ready" in capsys.readouterr().err

    def refuse(*_: object) -> None:
        raise AssertionError("something is compiled")

    monkeypatch.setattr(_kernels.Kernels, "__init__", refuse)
    wkvc.rwkv7(*rwkv7_inputs(torch.bfloat16))
    starts = torch.tensor([0, 30, 37])
    with pytest.raises(AssertionError, match="something is compiled"):
        wkvc.prepare(
            wkvc.rwkv7, [(1, 37, 2)], head=(KEYS, VALUES), device="cpu", cu_seqlens=starts, options="--chunk 32"
        )
    with pytest.raises(TypeError, match=r"expected a function of wkvc, such as wkvc\.rwkv7"):
        wkvc.prepare(print, [(1, 1, 1)], device="cpu")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sizes": (1, 40, 2)}, "sizes have 1, expected batches, tokens and heads"),
        ({"sizes": [(1, 40)]}, r"sizes have \(1, 40\), expected"),
        ({"sizes": [(1, -40, 2)]}, r"sizes have \(1, -40, 2\), expected"),
        ({"sizes": None}, "sizes are None, expected"),
        ({"head": 17}, "head is 17, expected a multiple of 16 up to 256, or a pair"),
        ({"head": (16,)}, r"head is \(16,\), expected"),
        ({"head": "64"}, "head is '64', expected"),
        ({"dtype": "bfloat16"}, "dtype is 'bfloat16', expected torch.float32"),
        ({"device": "meta"}, "device is 'meta', expected \"cuda\""),
        ({"grad": None}, "grad is None, expected True or False"),
    ],
)
def test_what_cannot_be_prepared(changes: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        wkvc.prepare(wkvc.rwkv7, **{"sizes": [(1, 40, 2)], "device": "cpu", **changes})


def test_prepare_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="device is 'cuda', but PyTorch finds no GPU here: pass device=\"cpu\""):
        wkvc.prepare(wkvc.rwkv7, [(1, 40, 2)])


def test_command() -> None:
    command = [sys.executable, "-m", "wkvc"]
    result = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert result.stdout == f"wkvc {wkvc.__version__}\n"
    assert importlib.metadata.version("wkvc") == wkvc.__version__
    refused = subprocess.run([*command, "emit", "rwkv9"], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    text = subprocess.run([*command, "emit", "rwkv7", "--stage", "rec"], capture_output=True, text=True, check=True)
    assert wkvc.op(text.stdout).inputs == ("r", "w", "k", "a", "b", "v")


def test_the_command_finds_the_nvrtc_of_pytorch() -> None:
    """PyTorch loads it, so that wkvc finds it wherever the two lie."""
    packages = Path(torch.__file__).parents[1]
    if not [*packages.glob("nvidia/*/lib/libnvrtc.so.1[23]")]:
        pytest.skip("this PyTorch brings no NVRTC")
    hidden = ("WKVC_NVRTC", "VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "LD_LIBRARY_PATH")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    command = [sys.executable, "-m", "wkvc", "emit", "rwkv7", "--head", "16", "--stage", "ptx"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    assert ".target sm_90a" in result.stdout


def test_the_example_trains() -> None:
    """Its loss falls, and the documents show it as it is."""
    files = [folder / name for folder, name in ((ROOT, "README.md"), (ROOT / "docs", "pytorch.md"))]
    example = ROOT / "examples" / "train.py"
    for file in files:
        assert example.read_text() in file.read_text(), f"{file} has another example"
    script = example.read_text().replace("range(20)", "range(4)").replace("(4, 64, 128", "(1, 32, 128")
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    losses = [float(line.split()[-1]) for line in result.stdout.splitlines()]
    assert len(losses) == 4
    assert losses[-1] < losses[0]


def test_the_example_serves() -> None:
    """Its sequences have the outputs that they have alone."""
    example = ROOT / "examples" / "serve.py"
    result = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 8


def test_time_mixing_in_one_graph() -> None:
    """The example's block gives eager results, and gradients of each parameter, from one graph."""
    sys.path.insert(0, str(ROOT / "examples"))
    from time_mix import TimeMix  # pyright: ignore[reportMissingImports]

    torch.manual_seed(0)
    block, x = TimeMix(32, head=16), torch.randn(2, 20, 32)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    expected, o = block(x), compiled(x)
    assert torch.equal(o, expected)
    parameters = list(block.parameters())
    for result in zip(*(torch.autograd.grad(y.square().sum(), parameters) for y in (o, expected)), strict=True):
        assert torch.equal(*result)
        assert result[0].isfinite().all()
        assert result[0].any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_time_mixing_under_autocast(dtype: torch.dtype) -> None:
    """Eager and in one graph; near the results in float32."""
    sys.path.insert(0, str(ROOT / "examples"))
    from time_mix import TimeMix  # pyright: ignore[reportMissingImports]

    torch.manual_seed(0)
    block, x = TimeMix(32, head=16), torch.randn(2, 20, 32)
    compiled = torch.compile(block, fullgraph=True, backend="aot_eager")
    expected = block(x).detach()
    for function in (block, compiled):
        with torch.autocast("cpu", dtype=dtype):
            o = function(x)
        assert (o.float() - expected).norm() < 3e-2 * expected.norm()
        gradients = torch.autograd.grad(o.float().square().sum(), list(block.parameters()))
        assert all(gradient.isfinite().all() and gradient.dtype == torch.float32 for gradient in gradients)


@pytest.mark.parametrize(
    ("batches", "chosen"), [(1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (7, 8), (9, 12), (13, 16), (192, 192), (200, 256)]
)
def test_kernels_are_chosen_for_few_numbers_of_batches(batches: int, chosen: int) -> None:
    assert _kernels.size_options(_kernels.Size(batches, 100, 12)) == f"--shape {chosen},128,12"
