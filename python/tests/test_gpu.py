"""Tests that need a GPU: values, streams, graphs, devices, and the host's time of a launch."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

import wkvc
from conftest import BATCHES, a_state, doubles, gradients, loop, rwkv7_inputs, rwkv7_step, worst
from wkvc import _library
from wkvc._families import family_of

pytestmark = pytest.mark.gpu

MOST_OVER_C = 10  # microseconds of a launch, beside those of the C interface


def inputs_on(device: str) -> list[torch.Tensor]:
    inputs = [*rwkv7_inputs(torch.bfloat16), a_state()]
    return [tensor.detach().to(device).requires_grad_() for tensor in inputs]


def run(inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    o, state = wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True)
    assert state is not None
    return o, state, *gradients_of(o, state, inputs)


def gradients_of(o: torch.Tensor, state: torch.Tensor, inputs: list[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad((o, state), inputs, (torch.ones_like(o), torch.ones_like(state)))


def expect_equal(some: tuple[torch.Tensor, ...], others: tuple[torch.Tensor, ...]) -> None:
    assert all(torch.equal(x, y) for x, y in zip(some, others, strict=True))


def test_values() -> None:
    inputs = inputs_on("cuda")
    exact = doubles([tensor.cpu() for tensor in inputs])
    o, state = loop(rwkv7_step(), exact[:6], exact[6])
    got = wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True)
    results = (*got, *gradients(got, inputs))
    expected = (o, state, *gradients((o, state), exact, like=got))
    names = ("o", "final_state", "dr", "dw", "dk", "dv", "da", "db", "dinitial_state")
    failures = [worst(*case, 2e-3) for case in zip(names, results, expected, strict=True)]
    assert failures == [[]] * len(names)


def test_views_and_unaligned_rows() -> None:
    inputs = inputs_on("cuda")
    odd = [torch.nn.functional.pad(x.detach(), (1, 2))[..., 1:-2].requires_grad_() for x in inputs[:6]]
    expect_equal(run([*odd, inputs[6]])[:2], run(inputs)[:2])


def test_another_stream() -> None:
    inputs = inputs_on("cuda")
    expected = run(inputs)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        results = run(inputs)
    stream.synchronize()
    expect_equal(results, expected)


def test_a_cuda_graph() -> None:
    inputs = inputs_on("cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run(inputs)  # compiles
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        results = run(inputs)
    with torch.no_grad():
        for tensor in inputs:
            tensor.mul_(0.5)
    graph.replay()
    torch.cuda.synchronize()
    expect_equal(results, run(inputs))


def test_compiled_is_eager() -> None:
    def forward(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True)

    inputs = inputs_on("cuda")
    for mode in ("default", "reduce-overhead"):
        compiled = torch.compile(forward, fullgraph=True, mode=mode)
        for _ in range(4):  # CUDA graphs are recorded in a later call than the first
            o, state = compiled(*inputs)
            assert state is not None
            expect_equal((o, state, *gradients_of(o, state, inputs)), run(inputs))


def test_devices() -> None:
    inputs = inputs_on("cuda")
    with pytest.raises(ValueError, match="k is on cpu, but the first input is on cuda:0"):
        wkvc.rwkv7(*inputs[:2], inputs[2].cpu(), *inputs[3:6])
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU: nothing to test on a second")
    second = inputs_on("cuda:1")
    results = run(second)
    assert all(tensor.device.index == 1 for tensor in results)
    expect_equal(tuple(tensor.to("cuda:0") for tensor in results), run(inputs))


def microseconds(function: Callable[[], object], count: int = 200) -> float:
    """The host's time of a call, the least of several."""
    times = []
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count * 1e6)
    torch.cuda.synchronize()
    return min(times)


def test_a_launch_takes_the_host_little_more_than_the_c_interface() -> None:
    inputs = [tensor.detach() for tensor in inputs_on("cuda")]
    wkvc.rwkv7(*inputs[:6])
    call = next(reversed(family_of(wkvc.rwkv7)._calls.values()))
    plan, results = call.plan, call.allocate()
    tensors = [*inputs[:6], None, *results[:-1]]
    plan.launch(tensors, results[-1], None)
    (descriptors,) = plan._free
    scratch = torch.empty(plan.scratch_bytes, dtype=torch.uint8, device="cuda")
    arguments = (
        *plan.size[:3],
        None,
        descriptors.address,
        len(plan.kernels.passes[0]),
        None,
        scratch.data_ptr(),
        0,
        _library.CHECK_LAYOUT,
    )
    through_c = microseconds(lambda: _library.check(_library.launch(plan.kernels.handle, 0, *arguments)))
    whole = microseconds(lambda: plan.launch(tensors, results[-1], None))
    assert whole - through_c <= MOST_OVER_C, f"{whole:.1f} against {through_c:.1f} microseconds"


class DecodeStep:
    """Tensors of a decoding step at fixed addresses: up to four tokens of each sequence, states in a pool."""

    SEQUENCES, MOST, SLOTS = 6, 4, 16

    def __init__(self, device: str) -> None:
        capacity = self.SEQUENCES * self.MOST
        self.inputs = [tensor.detach()[:1].to(device) for tensor in rwkv7_inputs(torch.bfloat16, tokens=capacity)]
        self.states = torch.cat([a_state(device=device).detach() for _ in range(self.SLOTS // BATCHES)])
        self.starts = torch.zeros(self.SEQUENCES + 1, dtype=torch.int32, device=device)
        self.slots = torch.zeros(self.SEQUENCES, dtype=torch.int32, device=device)
        self.o = self.run(self.states)

    def run(self, states: torch.Tensor) -> torch.Tensor:
        o = wkvc.decode(wkvc.rwkv7, *self.inputs, states=states, state_indices=self.slots, cu_seqlens=self.starts)
        assert isinstance(o, torch.Tensor)
        return o

    def draw(self, generator: torch.Generator) -> int:
        """Other inputs, lengths and slots, some of them padding; returns the number of tokens."""
        lengths = torch.randint(self.MOST + 1, (self.SEQUENCES,), generator=generator)
        self.starts[1:] = lengths.cumsum(0)
        slots = torch.randperm(self.SLOTS, generator=generator)[: self.SEQUENCES]
        slots[torch.rand(self.SEQUENCES, generator=generator) < 0.2] = -1
        self.slots.copy_(slots)
        for tensor in self.inputs:
            tensor.copy_(tensor.roll(int(torch.randint(1, 9, (1,), generator=generator)), 1))
        return int(lengths.sum())

    def capture(self) -> torch.cuda.CUDAGraph:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.o = self.run(self.states)
        return graph


def test_a_graph_of_decoding_with_other_slots_and_lengths() -> None:
    step, generator = DecodeStep("cuda"), torch.Generator().manual_seed(8)
    graph = step.capture()
    for _ in range(1000):
        tokens = step.draw(generator)
        expected_states = step.states.clone()
        step.o.fill_(7)
        expected = torch.zeros_like(step.o)  # of tokens of no sequence, and of sequences without a slot
        graph.replay()
        eager = step.run(expected_states)
        starts, slots = step.starts.tolist(), step.slots.tolist()
        for n, slot in enumerate(slots):
            part = slice(starts[n], starts[n + 1])
            if slot >= 0:
                expected[:, part] = eager[:, part]
        assert starts[-1] == tokens
        assert torch.equal(step.o, expected)
        assert torch.equal(step.states, expected_states)


# A first call of a size that the wheel has kernels for. No NVRTC can be opened, and nobody's cache is used.
FIRST_CALL = """
import time, torch, wkvc
x = [torch.randn(8, 4096, 64, 64, device="cuda").bfloat16() for _ in range(6)]
torch.cuda.synchronize()
start = time.perf_counter()
o, _ = wkvc.rwkv7(x[0], x[1], x[2] / 8, x[3], -x[4] / 64, x[5] / 64)
torch.cuda.synchronize()
print(time.perf_counter() - start)
"""


def test_first_call_of_a_wheel() -> None:
    kernels = Path(wkvc.__file__).parent / "kernels"
    if not kernels.is_dir():
        pytest.skip("the package is not installed from a wheel that has kernels")
    environment = {**os.environ, "WKVC_CACHE_DIR": "", "WKVC_NVRTC": "/no/libnvrtc.so"}
    run = subprocess.run(
        [sys.executable, "-c", FIRST_CALL], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < 1
