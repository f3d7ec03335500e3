"""Results and every gradient against a loop over tokens in float64."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch

import wkvc
from conftest import (
    BATCHES,
    HEADS,
    KEYS,
    TOKENS,
    VALUES,
    a_state,
    dot,
    doubles,
    gradients,
    loop,
    outer,
    raw_decay,
    rwkv6_inputs,
    rwkv7_inputs,
    rwkv7_step,
    worst,
)

Bounds = tuple[float, float]  # of results, of gradients
EXACT = (1e-5, 2e-5)
ATTRIBUTES = f'{{key_dim = {KEYS}, value_dim = {VALUES}, compute = "f32", sram_budget = 232448}}'
GATED_DELTA_NET = f"""rec.recurrence @delta attributes {ATTRIBUTES} {{
  %q = rec.input "q" dim K : tensor<{KEYS}xf32>
  %k = rec.input "k" dim K : tensor<{KEYS}xf32>
  %v = rec.input "v" dim V : tensor<{VALUES}xf32>
  %decay = rec.input "decay" dim 1 : tensor<1xf32>
  %gate = rec.input "gate" dim 1 : tensor<1xf32>
  %S = rec.state "S" : tensor<{VALUES}x{KEYS}xf32>
  %0 = rec.softplus %decay : tensor<1xf32>
  %1 = rec.neg %0 : tensor<1xf32>
  %2 = rec.exp %1 : tensor<1xf32>
  %decayed = rec.scale %2, %S : tensor<{VALUES}x{KEYS}xf32>
  %3 = rec.sigmoid %gate : tensor<1xf32>
  %4 = rec.dot %decayed, %k : tensor<{VALUES}x{KEYS}xf32>, tensor<{KEYS}xf32> -> tensor<{VALUES}xf32>
  %5 = rec.sub %v, %4 : tensor<{VALUES}xf32>
  %change = rec.scale %3, %5 : tensor<{VALUES}xf32>
  %6 = rec.outer %change, %k : tensor<{VALUES}xf32>, tensor<{KEYS}xf32> -> tensor<{VALUES}x{KEYS}xf32>
  %S_next = rec.add %decayed, %6 : tensor<{VALUES}x{KEYS}xf32>
  rec.update %S, %S_next : tensor<{VALUES}x{KEYS}xf32>
  %o = rec.dot %S_next, %q : tensor<{VALUES}x{KEYS}xf32>, tensor<{KEYS}xf32> -> tensor<{VALUES}xf32>
  rec.output "o" %o dim V : tensor<{VALUES}xf32> as f32
}}
"""


def check(
    function: Callable[..., tuple[torch.Tensor, ...]],
    reference: Callable[..., tuple[torch.Tensor, ...]],
    inputs: Sequence[torch.Tensor],
    names: Sequence[str],
    bounds: Bounds,
) -> None:
    """Compares outputs and final state, and gradients by all inputs, of which the last one is the initial state."""
    results = function(*inputs)
    exact = doubles(inputs)
    expected = reference(*exact)
    failures = []
    for name, result, value in zip(("o", "final_state"), results, expected, strict=True):
        failures += worst(name, result, value, bounds[0])
    exact_gradients = gradients(expected, exact, like=results)
    for name, result, value in zip(names, gradients(results, inputs), exact_gradients, strict=True):
        failures += worst(f"d{name}", result, value, bounds[1])
    assert not failures, "\n".join(failures)


def reference7(scale: float = 1, decay: Callable[[torch.Tensor], torch.Tensor] = raw_decay):
    def reference(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        o, state = loop(rwkv7_step(decay), inputs[:-1], inputs[-1])
        return o * scale, state

    return reference


NAMES7 = ("r", "w", "k", "v", "a", "b", "initial_state")


@pytest.mark.parametrize(
    ("dtype", "mma", "bounds"),
    [
        (torch.float32, "f32", EXACT),
        (torch.bfloat16, "f16", (1.8e-3, 2e-3)),
        (torch.float16, "f16", (1.8e-3, 2e-3)),
    ],
)
def test_rwkv7(dtype: torch.dtype, mma: str, bounds: Bounds) -> None:
    def function(*x: torch.Tensor):
        return wkvc.rwkv7(*x[:6], initial_state=x[6], output_final_state=True, mma=mma)

    check(function, reference7(), [*rwkv7_inputs(dtype), a_state()], NAMES7, bounds)


def test_rwkv7_with_everything() -> None:
    """A log decay with a lower bound, a scale, states with keys first and a decay in float32."""
    r, w, k, v, a, b = rwkv7_inputs(torch.bfloat16)
    log_w = (-2 * w.detach().float().sigmoid()).requires_grad_()

    def function(*x: torch.Tensor):
        return wkvc.rwkv7(*x[:6], initial_state=x[6], output_final_state=True, scale=0.25, decay="log",
                          lower_bound=-2.0, state_layout="kv", mma="f32")  # fmt: skip

    def reference(*x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        o, state = reference7(0.25, torch.exp)(*x[:6], x[6].transpose(-1, -2))
        return o, state.transpose(-1, -2)

    state = a_state().detach().transpose(-1, -2).contiguous().requires_grad_()
    check(function, reference, [r, log_w, k, v, a, b, state], NAMES7, (1.8e-3, 2e-3))


@pytest.mark.parametrize("decay", ["raw", "log"])
def test_rwkv6(decay: str) -> None:
    inputs = rwkv6_inputs()
    if decay == "log":
        inputs[1] = (-inputs[1].detach().exp()).requires_grad_()

    def function(*x: torch.Tensor):
        return wkvc.rwkv6(*x[:5], initial_state=x[5], output_final_state=True, mma="f32", decay=decay)

    def reference(*x: torch.Tensor):
        u = x[4]

        def step(state: torch.Tensor, r: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor):
            decayed = w.exp() if decay == "log" else torch.exp(-torch.exp(w))
            return dot(state + outer(v, u * k), r), state * decayed.unsqueeze(-2) + outer(v, k)

        return loop(step, x[:4], x[5])

    check(function, reference, [*inputs, a_state()], ("r", "w", "k", "v", "u", "initial_state"), EXACT)


def test_a_recurrence_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "delta.mlir"
    file.write_text(GATED_DELTA_NET)
    op = wkvc.op(file)
    assert op.inputs == ("q", "k", "v", "decay", "gate")
    q, _, _, v, k, _ = rwkv7_inputs()
    decay, gate = (torch.randn(BATCHES, TOKENS, HEADS).requires_grad_() for _ in range(2))

    def step(state: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor,
             gate: torch.Tensor):  # fmt: skip
        state = state * torch.exp(-torch.nn.functional.softplus(decay))[..., None, None]
        state = state + outer(gate.sigmoid().unsqueeze(-1) * (v - dot(state, k)), k)
        return dot(state, q), state

    check(
        lambda *x: op(*x[:5], initial_state=x[5], output_final_state=True),
        lambda *x: loop(step, x[:5], x[5]),
        [q, k, v, decay, gate, a_state()],
        ("q", "k", "v", "decay", "gate", "initial_state"),
        EXACT,
    )


def test_parameters_of_one_number_a_head() -> None:
    """The gate of Mamba-2 and of gated delta networks: -exp(A_log) · softplus(decay + dt_bias)."""
    declared = "".join(f'  %{name} = rec.parameter "{name}" dim 1 : tensor<1xf32>\n' for name in ("A_log", "dt_bias"))
    biased = "  %biased = rec.add %decay, %dt_bias : tensor<1xf32>\n  %0 = rec.softplus %biased : tensor<1xf32>\n"
    rate = "  %rate = rec.exp %A_log : tensor<1xf32>\n  %log_w = rec.mul %rate, %1 : tensor<1xf32>\n"
    text = GATED_DELTA_NET.replace("  %S = rec.state", declared + "  %S = rec.state")
    text = text.replace("  %0 = rec.softplus %decay : tensor<1xf32>\n", biased)
    text = text.replace("  %2 = rec.exp %1 :", rate + "  %2 = rec.exp %log_w :")
    op = wkvc.op(text)
    assert op.inputs == ("q", "k", "v", "decay", "gate", "A_log", "dt_bias")
    q, _, _, v, k, _ = rwkv7_inputs()
    decay, gate = (torch.randn(BATCHES, TOKENS, HEADS).requires_grad_() for _ in range(2))
    A_log, dt_bias = (torch.randn(HEADS).requires_grad_() for _ in range(2))

    def reference(*x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        *tokens, A_log, dt_bias, state = x

        def step(state: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, decay: torch.Tensor,
                 gate: torch.Tensor):  # fmt: skip
            state = state * torch.exp(-A_log.exp() * torch.nn.functional.softplus(decay + dt_bias))[..., None, None]
            state = state + outer(gate.sigmoid().unsqueeze(-1) * (v - dot(state, k)), k)
            return dot(state, q), state

        return loop(step, tokens, state)

    check(
        lambda *x: op(*x[:7], initial_state=x[7], output_final_state=True),
        reference,
        [q, k, v, decay, gate, A_log, dt_bias, a_state()],
        (*op.inputs, "initial_state"),
        EXACT,
    )
    # Packed, and token by token: all sequences have the same parameters.
    packed, numbers = [tensor.detach()[:1] for tensor in (q, k, v, decay, gate)], (A_log, dt_bias)
    first, _ = op(*(tensor[:, :9] for tensor in packed), *numbers)
    expected, _ = op(*(tensor[:, 9:] for tensor in packed), *numbers)
    found, _ = op(*packed, *numbers, cu_seqlens=torch.tensor([0, 9, 9, TOKENS]))
    assert isinstance(found, torch.Tensor)
    assert isinstance(first, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert torch.equal(found[:, 9:], expected)
    alone = torch.autograd.grad(first.square().sum() + expected.square().sum(), numbers)
    for x, y in zip(torch.autograd.grad(found.square().sum(), numbers), alone, strict=True):
        torch.testing.assert_close(x, y, rtol=1e-5, atol=1e-5)
    numbers = (A_log.detach(), dt_bias.detach())
    decoded = wkvc.decode(
        op, *(tensor[:, 9:12] for tensor in packed), *numbers, states=torch.zeros(1, HEADS, VALUES, KEYS)
    )
    torch.testing.assert_close(decoded, expected[:, :3], rtol=1e-5, atol=1e-5)


def test_results_that_nobody_uses_have_no_gradients() -> None:
    """The gradient of one result is what it is with zeros for the other."""
    inputs = [*rwkv7_inputs(), a_state()]
    o, state = wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True, mma="f32")
    zeros_o, zeros_state = torch.zeros_like(o), torch.zeros_like(state)
    for used, zero, other in ((o, zeros_state, state), (state, zeros_o, o)):
        alone = torch.autograd.grad(used, inputs, torch.ones_like(used), retain_graph=True)
        both = torch.autograd.grad((used, other), inputs, (torch.ones_like(used), zero), retain_graph=True)
        assert all(torch.equal(x, y) for x, y in zip(alone, both, strict=True))


@pytest.mark.parametrize("wanted", [("r",), ("v", "w"), ("initial_state",), ("k", "initial_state")])
def test_gradients_of_some_inputs(wanted: tuple[str, ...]) -> None:
    """Gradients asked for are those of all; saved tensors of a forward pass without gradients are empty."""
    inputs = dict(zip(NAMES7, [*rwkv7_inputs(), a_state()], strict=True))

    def run(values: dict[str, torch.Tensor]) -> torch.Tensor:
        o, _ = wkvc.rwkv7(*(values[n] for n in NAMES7[:6]), initial_state=values["initial_state"], mma="f32")
        return o

    some = {n: t.detach().requires_grad_(n in wanted) for n, t in inputs.items()}
    alone = torch.autograd.grad(run(some).sum(), [some[n] for n in wanted])
    every = torch.autograd.grad(run(inputs).sum(), [inputs[n] for n in wanted])
    for x, y in zip(alone, every, strict=True):
        assert torch.allclose(x, y, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("tokens", [0, 1])
def test_few_tokens(tokens: int) -> None:
    inputs = [*rwkv7_inputs(tokens=tokens), a_state()]
    o, state = wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True, mma="f32")
    assert o.shape == (BATCHES, tokens, HEADS, VALUES)
    if tokens == 0:
        assert torch.equal(state, inputs[6])
        (gradient,) = torch.autograd.grad(state.sum(), inputs[6])
        assert torch.equal(gradient, torch.ones_like(gradient))
        return
    expected = reference7()(*doubles(inputs))
    assert not worst("o", o, expected[0], 1e-5) + worst("final_state", state, expected[1], 1e-5)


def test_options_of_the_backward_pass_without_gradients() -> None:
    """The same options serve training, evaluation and decoding."""
    op, options = wkvc.op(GATED_DELTA_NET, options="--saved f16 --save-every 32 --teams 1,2"), "--saved f16"
    q, _, _, v, k, _ = rwkv7_inputs()
    gates = [torch.randn(BATCHES, TOKENS, HEADS) for _ in range(2)]
    trained = op(q, k, v, *gates)[0], wkvc.rwkv7(*rwkv7_inputs(), mma="f32", options=options)[0]
    with torch.no_grad():
        evaluated = op(q, k, v, *gates)[0], wkvc.rwkv7(*rwkv7_inputs(), mma="f32", options=options)[0]
        wkvc.decode(op, *(tensor[:, :1] for tensor in (q, k, v, *gates)), states=a_state().detach())
    for some, others in zip(trained, evaluated, strict=True):
        assert some is not None
        assert others is not None
        assert torch.equal(some, others)


def test_an_empty_batch() -> None:
    inputs = [tensor.detach()[:0].requires_grad_() for tensor in rwkv7_inputs()]
    o, _ = wkvc.rwkv7(*inputs, mma="f32")
    o.sum().backward()
    assert o.shape == (0, TOKENS, HEADS, VALUES)
    assert all(tensor.grad is not None and tensor.grad.shape == tensor.shape for tensor in inputs)


def test_equal_bytes_in_every_run() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        inputs = rwkv7_inputs()
        runs = [(o, *gradients([o], inputs)) for o in (wkvc.rwkv7(*inputs, mma="f32")[0] for _ in range(2))]
        assert all(torch.equal(x, y) for x, y in zip(*runs, strict=True))
    finally:
        torch.use_deterministic_algorithms(False)
