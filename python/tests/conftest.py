"""References in float64 and the inputs that tests share, so that few kernels are compiled for the host."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

BATCHES, TOKENS, HEADS, KEYS, VALUES = 2, 37, 2, 16, 32
ROOT = Path(__file__).parents[2]  # of the clone, or of a copy of parts of it


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    supported = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
    skip = pytest.mark.skip(reason="needs an H100 or H200, and there is none")
    for item in items:
        if "gpu" in item.keywords and not supported:
            item.add_marker(skip)


def run_bench(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, f"bench/{script}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


def rwkv7_inputs(
    dtype: torch.dtype = torch.float32, values: int = VALUES, tokens: int = TOKENS, device: str = "cpu"
) -> list[torch.Tensor]:
    """r, w, k, v, a, b as the layer gives them: a is minus a key of length 1, b that key times a rate."""
    generator = torch.Generator().manual_seed(1)

    def draw(width: int) -> torch.Tensor:
        return torch.randn(BATCHES, tokens, HEADS, width, generator=generator, dtype=torch.float64)

    kk = torch.nn.functional.normalize(draw(KEYS), dim=-1)
    tensors = [draw(KEYS), draw(KEYS), draw(KEYS), draw(values), -kk, kk * draw(KEYS).sigmoid()]
    return [tensor.to(dtype).to(device).requires_grad_() for tensor in tensors]


def rwkv6_inputs(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    r, w, k, v, _, _ = rwkv7_inputs(dtype)
    u = torch.randn(HEADS, KEYS, generator=torch.Generator().manual_seed(2)).to(dtype).requires_grad_()
    return [r, w, k, v, u]


def a_state(values: int = VALUES, device: str = "cpu") -> torch.Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.randn(BATCHES, HEADS, values, KEYS, generator=generator).to(device).requires_grad_()


def outer(column: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    return column.unsqueeze(-1) * row.unsqueeze(-2)


def dot(state: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    return (state @ row.unsqueeze(-1)).squeeze(-1)


def loop(
    step: Callable[..., tuple[torch.Tensor, torch.Tensor]], inputs: Sequence[torch.Tensor], state: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs and the last state of a step over tokens, which gives an output and the next state."""
    outputs = []
    for token in range(inputs[0].shape[1]):
        output, state = step(state, *(tensor[:, token] for tensor in inputs))
        outputs.append(output)
    return torch.stack(outputs, 1), state


def raw_decay(w: torch.Tensor) -> torch.Tensor:
    return torch.exp(-torch.exp(torch.tensor(-0.5, dtype=torch.float64)) * w.sigmoid())


Step = Callable[..., tuple[torch.Tensor, torch.Tensor]]


def rwkv7_step(decay: Callable[[torch.Tensor], torch.Tensor] = raw_decay) -> Step:
    def step(state: torch.Tensor, *token: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        r, w, k, v, a, b = token
        state = state * decay(w).unsqueeze(-2) + outer(dot(state, a), b) + outer(v, k)
        return dot(state, r), state

    return step


def doubles(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [tensor.detach().double().requires_grad_() for tensor in tensors]


def worst(name: str, result: torch.Tensor, reference: torch.Tensor, bound: float) -> list[str]:
    """Errors beyond the bound: the norm of the difference, or four times the bound in a row of a token and head."""
    result, reference = result.detach().double().cpu(), reference.detach()
    difference = result - reference
    failures = []
    if not torch.isfinite(result).all():
        failures.append(f"{name} is not finite")
    error = float(difference.norm() / reference.norm())
    if error > bound:
        failures.append(f"{name} is off by {error:.2e}, allowed {bound:.2e}")
    rows = reference.flatten(2 if name in ("final_state", "dinitial_state") else -1).norm(dim=-1)
    off = difference.flatten(2 if name in ("final_state", "dinitial_state") else -1).norm(dim=-1)
    if float((off / rows).max()) > 4 * bound:
        failures.append(f"{name}: a row is off by {float((off / rows).max()):.2e}, allowed {4 * bound:.2e}")
    return failures


def gradients(
    results: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], like: Sequence[torch.Tensor] | None = None
) -> tuple[torch.Tensor, ...]:
    """Gradients of the results' inner products with fixed numbers, which are exact in the dtypes of `like`."""
    generator = torch.Generator().manual_seed(4)
    given = []
    for result, rounded in zip(results, like or results, strict=True):
        drawn = torch.randn(result.shape, generator=generator, dtype=torch.float64)
        given.append(drawn.to(rounded.dtype).to(result))
    return torch.autograd.grad(results, inputs, given)
