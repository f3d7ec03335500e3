"""Operators in PyTorch: opcheck, compile, checkpoints, autocast, views, copies, threads, processes."""

import copy
import itertools
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

import wkvc
from conftest import KEYS, VALUES, a_state, gradients, rwkv6_inputs, rwkv7_inputs
from test_values import GATED_DELTA_NET

RAW = ""
F32 = "--mma f32"


def rwkv7(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    o, state = wkvc.rwkv7(*inputs[:6], initial_state=inputs[6], output_final_state=True, mma="f32")
    assert state is not None
    return o, state


def all_inputs() -> list[torch.Tensor]:
    return [*rwkv7_inputs(), a_state()]


def expect_equal(some: Sequence[torch.Tensor], others: Sequence[torch.Tensor]) -> None:
    assert all(torch.equal(x, y) for x, y in zip(some, others, strict=True))


# Operators.


def forward_arguments() -> Iterator[tuple[Any, tuple[Any, ...]]]:
    seven, names = torch.ops.wkvc.rwkv7.default, "r,w,k,v,a,b"
    yield seven, (*all_inputs(), None, RAW, F32, f"{names},initial_state", True)
    yield seven, (*rwkv7_inputs(), None, None, RAW, F32, names, False)
    yield seven, (*(t.detach() for t in rwkv7_inputs()), None, None, RAW, F32, "", True)
    yield torch.ops.wkvc.rwkv6.default, (*rwkv6_inputs(), a_state(), None, RAW, F32, "r,w,k,v,u,initial_state", True)
    family = wkvc.op(GATED_DELTA_NET).family
    q, _, _, v, k, _ = rwkv7_inputs()
    decay, gate = (torch.randn(q.shape[:-1]).requires_grad_() for _ in range(2))
    yield family.forward_op, (q, k, v, decay, gate, None, None, "", "", "q,k,v,decay,gate", True)


@pytest.mark.parametrize("place", range(5))
def test_opcheck_forward(place: int) -> None:
    op, arguments = next(itertools.islice(forward_arguments(), place, None))
    torch.library.opcheck(op, arguments)


@pytest.mark.parametrize("states", [True, False])
def test_opcheck_backward(states: bool) -> None:
    inputs = [tensor.detach() for tensor in all_inputs()]
    state = inputs[6] if states else None
    o, final_state, saved = torch.ops.wkvc.rwkv7(*inputs[:6], state, None, RAW, F32, "r,w,k,v,a,b", True)
    dstate = final_state if states else None
    arguments = (*inputs[:6], state, None, saved, o, dstate, RAW, F32, "r,w,k,v,a,b", states)
    torch.library.opcheck(torch.ops.wkvc.rwkv7_backward.default, arguments)


# Compilation.


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_is_eager(backend: str) -> None:
    compiled = torch.compile(rwkv7, fullgraph=True, backend=backend)
    inputs = all_inputs()
    results, expected = compiled(*inputs), rwkv7(*inputs)
    expect_equal(results, expected)
    expect_equal(gradients(results, inputs), gradients(expected, inputs))


def test_compiled_for_any_size() -> None:
    compiled = torch.compile(rwkv7, fullgraph=True, backend="aot_eager", dynamic=True)
    inputs = all_inputs()
    for tokens in (37, 20, 50):
        some = [tensor.detach()[:, :tokens] for tensor in rwkv7_inputs(tokens=64)]
        some = [tensor.requires_grad_() for tensor in [*some, inputs[6].detach()]]
        results, expected = compiled(*some), rwkv7(*some)
        expect_equal(results, expected)
        expect_equal(gradients(results, some), gradients(expected, some))


def test_compiled_with_a_scale_among_the_arguments() -> None:
    def function(scale: float, *inputs: torch.Tensor) -> torch.Tensor:
        return wkvc.rwkv7(*inputs, scale=scale, mma="f32")[0]

    inputs = [tensor.detach() for tensor in rwkv7_inputs()]
    compiled = torch.compile(function, fullgraph=True, backend="aot_eager", dynamic=True)
    for scale in (0.5, 0.25):
        expect_equal([compiled(scale, *inputs)], [function(scale, *inputs)])


class Mixer(torch.nn.Module):
    """A layer around an operator."""

    def __init__(self) -> None:
        super().__init__()
        self.op = wkvc.op(GATED_DELTA_NET)
        self.project = torch.nn.Linear(8, 2 * (2 * KEYS + VALUES + 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        widths = [KEYS, KEYS, VALUES, 1, 1]
        q, k, v, decay, gate = self.project(x).unflatten(-1, (2, -1)).split(widths, dim=-1)
        k = torch.nn.functional.normalize(k, dim=-1)
        o, _ = self.op(q, k, v, decay.squeeze(-1), gate.squeeze(-1))
        assert o is not None
        return o


def test_a_module_in_one_graph() -> None:
    module, x = Mixer(), torch.randn(2, 20, 8)
    expected = module(x)
    o = torch.compile(module, fullgraph=True, backend="aot_eager")(x)
    expect_equal([o], [expected])
    weight = module.project.weight
    expect_equal(torch.autograd.grad(o.sum(), weight), torch.autograd.grad(expected.sum(), weight))


# Checkpoints.


def save_operators(_: Any, op: Any, *arguments: Any, **options: Any) -> CheckpointPolicy:
    saved = op == torch.ops.wkvc.rwkv7.default
    return CheckpointPolicy.MUST_SAVE if saved else CheckpointPolicy.PREFER_RECOMPUTE


def selective(function: Callable[..., Any], *inputs: torch.Tensor) -> Any:
    def contexts() -> Any:
        return create_selective_checkpoint_contexts(save_operators)

    return checkpoint(function, *inputs, use_reentrant=False, context_fn=contexts)


@pytest.mark.parametrize("kind", ["reentrant", "other", "selective", "compiled"])
def test_checkpoints(kind: str) -> None:
    def run(*inputs: torch.Tensor) -> Any:
        if kind == "selective":
            return selective(rwkv7, *inputs)
        return checkpoint(rwkv7, *inputs, use_reentrant=kind == "reentrant")

    inputs = all_inputs()
    function = torch.compile(run, fullgraph=True, backend="aot_eager") if kind == "compiled" else run
    results, expected = function(*inputs), rwkv7(*inputs)
    if kind != "reentrant":  # whose first pass is one without gradients, of kernels that save nothing
        expect_equal(results, expected)
    generator = [torch.ones_like(result) for result in results]
    torch.autograd.backward(results, generator)
    expect_equal([tensor.grad for tensor in inputs], torch.autograd.grad(expected, inputs, generator))


def test_selective_checkpoints_run_the_operator_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from wkvc import _kernels

    passes = []
    launch = _kernels.Plan.launch

    def counted(plan: Any, *arguments: Any) -> None:
        passes.append(plan.direction)
        launch(plan, *arguments)

    monkeypatch.setattr(_kernels.Plan, "launch", counted)
    for run, expected in ((selective, [0, 1]), (lambda f, *x: checkpoint(f, *x, use_reentrant=False), [0, 0, 1])):
        passes.clear()
        o, state = run(rwkv7, *all_inputs())
        (o.sum() + state.sum()).backward()
        assert passes == expected


# Autocast.

DTYPES = [torch.float32, torch.float16, torch.bfloat16]


def mixed(dtype: torch.dtype, other: torch.dtype) -> Iterator[tuple[str, list[torch.Tensor]]]:
    """Inputs of one dtype but for each of them in turn, and the name of that one."""
    for place, name in enumerate("rwkvab"):
        inputs = [tensor.detach() for tensor in rwkv7_inputs(dtype)]
        inputs[place] = inputs[place].to(other)
        yield name, inputs


@pytest.mark.parametrize(("dtype", "other"), list(itertools.permutations(DTYPES, 2)))
def test_mixed_dtypes_without_autocast(dtype: torch.dtype, other: torch.dtype) -> None:
    for name, inputs in mixed(dtype, other):
        if name == "w" and other == torch.float32:
            continue  # a decay is welcome in float32
        with pytest.raises(TypeError) as error:
            wkvc.rwkv7(*inputs)
        given = str(other).removeprefix("torch.")
        assert ("like r" if name == "r" else f"{name} is {given}") in str(error.value)
        assert "like r" in str(error.value)
        assert "torch.autocast" in str(error.value)


@pytest.mark.parametrize("autocast", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(("dtype", "other"), list(itertools.product(DTYPES, repeat=2)))
def test_mixed_dtypes_under_autocast(autocast: torch.dtype, dtype: torch.dtype, other: torch.dtype) -> None:
    """The result is that of casts to autocast's dtype; a decay of another dtype goes to float32."""
    for _, inputs in mixed(dtype, other):
        with torch.autocast("cpu", dtype=autocast):
            o, _ = wkvc.rwkv7(*inputs)
        cast = [tensor.to(autocast) for tensor in inputs]
        if inputs[1].dtype != autocast:
            cast[1] = inputs[1].float()
        assert o.dtype == autocast
        expect_equal([o], wkvc.rwkv7(*cast)[:1])


def test_gradients_under_autocast_have_the_inputs_dtypes() -> None:
    inputs = rwkv7_inputs(torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o, _ = wkvc.rwkv7(*inputs)
    o.float().sum().backward()
    assert all(tensor.grad is not None and tensor.grad.dtype == torch.float32 for tensor in inputs)


# Views.


def test_views() -> None:
    """Fused, transposed, strided and expanded inputs are what their copies are."""
    inputs = [tensor.detach() for tensor in rwkv7_inputs(values=KEYS)]
    fused = torch.cat(inputs, dim=-1)
    heads_first = [tensor.transpose(1, 2).contiguous().transpose(1, 2) for tensor in inputs]
    spread = [torch.stack([tensor, tensor], dim=-1)[..., 0] for tensor in inputs]
    expanded = [tensor[:1].expand(2, -1, -1, -1) for tensor in inputs]
    for made in (fused.split(KEYS, dim=-1), heads_first, spread, expanded):
        views = [view.requires_grad_() for view in made]
        copies = [view.detach().clone().contiguous().requires_grad_() for view in views]
        assert not any(view.is_contiguous() for view in views)
        (o, _), (expected, _) = wkvc.rwkv7(*views, mma="f32"), wkvc.rwkv7(*copies, mma="f32")
        expect_equal([o], [expected])
        gradient = torch.randn_like(o).transpose(1, 2).contiguous().transpose(1, 2)
        expect_equal(torch.autograd.grad(o, views, gradient), torch.autograd.grad(expected, copies, gradient))


# Refusals.


def test_gradients_of_gradients() -> None:
    inputs = rwkv7_inputs()
    o, _ = wkvc.rwkv7(*inputs, mma="f32")
    (gradient,) = torch.autograd.grad(o.square().sum(), inputs[0], create_graph=True)
    with pytest.raises(RuntimeError, match="no gradients of gradients"):
        gradient.sum().backward()


# Copies, threads, processes.


def test_copies_of_modules() -> None:
    module, x = Mixer(), torch.randn(2, 20, 8)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        expect_equal([other(x)], [module(x)])


def test_threads() -> None:
    inputs = all_inputs()
    expected = (*rwkv7(*inputs), *gradients(rwkv7(*inputs), inputs))
    failures = []

    def run() -> None:
        own = [tensor.detach().clone().requires_grad_() for tensor in inputs]
        for _ in range(10):
            results = rwkv7(*own)
            if not all(torch.equal(x, y) for x, y in zip((*results, *gradients(results, own)), expected, strict=True)):
                failures.append("other bytes")

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


class Outputs(torch.utils.data.Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        o, _ = wkvc.rwkv7(*(tensor.detach() * (index + 1) / 4 for tensor in rwkv7_inputs()), mma="f32")
        return o


def test_workers_of_a_data_loader() -> None:
    expected = [Outputs()[index] for index in range(4)]
    loader = torch.utils.data.DataLoader(Outputs(), batch_size=None, num_workers=2, multiprocessing_context="fork")
    expect_equal(list(loader), expected)
