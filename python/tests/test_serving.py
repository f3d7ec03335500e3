"""Serving: states in slots of a pool, single tokens, heads that share keys."""

import pytest
import torch

import wkvc
from conftest import KEYS, VALUES, gradients, rwkv7_inputs
from wkvc import _library
from wkvc._call import StateLayout
from wkvc._rwkv import settings_of

HEADS = 2
SLOTS = 7
INDICES = [5, -1, 0]
LENGTHS = [9, 4, 21]
STARTS = torch.tensor([0, 9, 13, 34])


def packed_inputs(tokens: int = sum(LENGTHS), dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    return [tensor.detach()[:1].to(dtype) for tensor in rwkv7_inputs(tokens=tokens)]


def pool(dtype: torch.dtype = torch.float32, layout: str = "vk") -> torch.Tensor:
    states = torch.randn(SLOTS, HEADS, VALUES, KEYS, generator=torch.Generator().manual_seed(4)).to(dtype)
    return states if layout == "vk" else states.transpose(-1, -2).contiguous()


def indices(numbers: list[int] = INDICES) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.int32)


@pytest.mark.parametrize("layout", ["vk", "kv"])
def test_states_in_slots_are_updated_in_place(layout: StateLayout) -> None:
    inputs, states = packed_inputs(), pool(layout=layout)
    before = states.clone()
    o, returned = wkvc.rwkv7(
        *inputs, initial_state=states, state_indices=indices(), cu_seqlens=STARTS, state_layout=layout, mma="f32"
    )
    assert returned is states
    for n, slot in enumerate(INDICES):
        if slot < 0:
            continue
        part = [tensor[:, STARTS[n] : STARTS[n + 1]] for tensor in inputs]
        alone, state = wkvc.rwkv7(
            *part, initial_state=before[slot : slot + 1], output_final_state=True, state_layout=layout, mma="f32"
        )
        assert state is not None
        assert torch.equal(alone, o[:, STARTS[n] : STARTS[n + 1]])
        assert torch.equal(state, states[slot : slot + 1])
    others = [slot for slot in range(SLOTS) if slot not in INDICES]
    assert torch.equal(states[others], before[others])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_states_are_stored_in_the_pools_dtype(dtype: torch.dtype) -> None:
    inputs, exact, stored = packed_inputs(), pool(dtype).float(), pool(dtype)
    expected, _ = wkvc.rwkv7(*inputs, initial_state=exact, state_indices=indices(), cu_seqlens=STARTS, mma="f32")
    found, _ = wkvc.rwkv7(*inputs, initial_state=stored, state_indices=indices(), cu_seqlens=STARTS, mma="f32")
    assert torch.equal(expected[:, :9], found[:, :9])
    assert torch.equal(exact.to(dtype), stored)


@pytest.mark.parametrize("tokens", [1, 5, 8])
def test_decoding_is_the_recurrence(tokens: int) -> None:
    inputs = [tensor.detach()[:, :tokens] for tensor in rwkv7_inputs(tokens=8)]
    states = pool()[: inputs[0].shape[0]].contiguous()
    expected, state = wkvc.rwkv7(*inputs, initial_state=states, output_final_state=True, mma="f32")
    o = wkvc.decode(wkvc.rwkv7, *inputs, states=states)
    assert isinstance(o, torch.Tensor)
    assert state is not None
    torch.testing.assert_close(o, expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(states, state, rtol=1e-5, atol=1e-5)


def test_tokens_one_by_one_have_the_bytes_of_several() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=8)]
    together, single = pool(), pool()
    slots = indices([6, 2])
    o = wkvc.decode(wkvc.rwkv7, *inputs, states=together, state_indices=slots)
    assert isinstance(o, torch.Tensor)
    for token in range(8):
        part = [tensor[:, token : token + 1] for tensor in inputs]
        one = wkvc.decode(wkvc.rwkv7, *part, states=single, state_indices=slots)
        assert isinstance(one, torch.Tensor)
        assert torch.equal(one, o[:, token : token + 1])
    assert torch.equal(together, single)


@pytest.mark.parametrize(("dtype", "layout"), [(torch.float32, "vk"), (torch.bfloat16, "kv")])
def test_the_state_behind_each_token(dtype: torch.dtype, layout: StateLayout) -> None:
    """Each has the bytes that the pool has behind as many tokens: to accept k of T tokens is to copy a state."""
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=5)]
    slots, before = indices([6, 2]), pool(dtype, layout)
    states, buffer = before.clone(), torch.empty(2, 5, *before.shape[1:], dtype=dtype)
    settings = {"state_indices": slots, "state_layout": layout}
    o = wkvc.decode(wkvc.rwkv7, *inputs, states=states, intermediate_states=buffer, **settings)
    plain = before.clone()
    expected = wkvc.decode(wkvc.rwkv7, *inputs, states=plain, **settings)
    assert isinstance(o, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert torch.equal(o, expected)
    assert torch.equal(states, plain)
    for accepted in range(1, 6):
        shorter = before.clone()
        wkvc.decode(wkvc.rwkv7, *(tensor[:, :accepted] for tensor in inputs), states=shorter, **settings)
        states[slots.long()] = buffer[:, accepted - 1]
        assert torch.equal(states, shorter), f"{accepted} tokens accepted"


def test_speculated_tokens_of_packed_sequences() -> None:
    """Tokens that are packed have a state each: the last one accepted of a sequence goes to its slot."""
    lengths, accepted = [3, 1, 4], [2, 1, 4]
    starts = torch.tensor([0, *lengths]).cumsum(0)
    inputs, slots = packed_inputs(sum(lengths)), indices([4, 0, 3])
    states, expected = pool(), pool()
    buffer = torch.empty(1, sum(lengths), *states.shape[1:])
    wkvc.decode(wkvc.rwkv7, *inputs, states=states, state_indices=slots, cu_seqlens=starts, intermediate_states=buffer)
    states[slots.long()] = buffer[0, starts[:-1] + torch.tensor(accepted) - 1]
    for n, count in enumerate(accepted):
        part = [tensor[:, starts[n] : starts[n] + count] for tensor in inputs]
        wkvc.decode(wkvc.rwkv7, *part, states=expected, state_indices=slots[n : n + 1])
    assert torch.equal(states, expected)


@pytest.mark.parametrize("layout", ["vk", "kv"])
def test_the_states_of_prefixes(layout: StateLayout) -> None:
    """A prefix cache: a prompt goes on from the state behind its first tokens, with the bytes of the whole prompt."""
    inputs, initial = packed_inputs(41), pool(layout=layout)[:1]
    buffer = torch.empty(1, 41 // 16, *initial.shape[1:])
    settings = {"output_final_state": True, "state_layout": layout, "mma": "f32"}
    expected, last = wkvc.rwkv7(*inputs, initial_state=initial, **settings)
    o, final = wkvc.rwkv7(*inputs, initial_state=initial, intermediate_states=buffer, states_every=16, **settings)
    assert torch.equal(o, expected)
    assert final is not None
    assert last is not None
    assert torch.equal(final, last)
    assert torch.equal(initial, pool(layout=layout)[:1])
    for n in range(2):
        rest = [tensor[:, 16 * (n + 1) :] for tensor in inputs]
        o, final = wkvc.rwkv7(*rest, initial_state=buffer[:, n], **settings)
        assert torch.equal(o, expected[:, 16 * (n + 1) :])
        assert torch.equal(final, last)


def test_the_states_of_packed_prefixes() -> None:
    """Sequence n has those from cu_seqlens[n] // states_every on."""
    inputs, starts = packed_inputs(70), torch.tensor([0, 9, 50, 70])
    together = torch.full((1, 70 // 16, HEADS, VALUES, KEYS), torch.nan)
    wkvc.rwkv7(*inputs, cu_seqlens=starts, intermediate_states=together, states_every=16, mma="f32")
    for n, first in enumerate(starts[:-1].tolist()):
        part = [tensor[:, first : starts[n + 1]] for tensor in inputs]
        count = part[0].shape[1] // 16
        alone = torch.empty(1, count, HEADS, VALUES, KEYS)
        wkvc.rwkv7(*part, intermediate_states=alone, states_every=16, mma="f32")
        assert torch.equal(together[:, first // 16 : first // 16 + count], alone)


def test_intermediate_states_compile() -> None:
    inputs = packed_inputs(37)

    def run(buffer: torch.Tensor) -> torch.Tensor:
        return wkvc.rwkv7(*inputs, intermediate_states=buffer, states_every=16, mma="f32")[0]

    compiled, eager = (torch.zeros(1, 2, HEADS, VALUES, KEYS) for _ in range(2))
    result = torch.compile(run, fullgraph=True, backend="aot_eager")(compiled)
    assert torch.equal(result, run(eager))
    assert torch.equal(compiled, eager)
    assert eager.any()


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"states_every": 0}, ValueError, "states_every is 0, expected the tokens between"),
        ({"states_every": 24}, ValueError, "shape .1, 2, 2, 32, 16., expected .B, T // states_every, …. = .1, 1, "),
        ({"intermediate_states": None}, ValueError, "states_every is 16, but there is no tensor"),
        ({"intermediate_states": torch.zeros(1, 2, HEADS, VALUES, KEYS).half()}, TypeError, "float16 on cpu, expected"),
        (
            {"intermediate_states": torch.zeros(1, 2, HEADS, KEYS, VALUES).mT},
            ValueError,
            "contiguous",
        ),
        (
            {"states_every": 8, "intermediate_states": torch.zeros(1, 4, HEADS, VALUES, KEYS)},
            ValueError,
            "--states-every 8: states are those behind whole chunks; expected a multiple of 16 tokens",
        ),
    ],
)
def test_intermediate_states_that_are_refused(
    changes: dict[str, torch.Tensor | None], error: type[Exception], message: str
) -> None:
    buffer = torch.zeros(1, 2, HEADS, VALUES, KEYS)
    settings = {"intermediate_states": buffer, "states_every": 16, "mma": "f32", **changes}
    with pytest.raises(error, match=message):
        wkvc.rwkv7(*packed_inputs(37), **settings)


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (pool()[:1].half(), TypeError, "initial_state is float16, expected float32"),
        (pool()[0], ValueError, "initial_state has shape .2, 32, 16., expected four dimensions"),
        (pool()[:2], ValueError, "initial_state has shape .2, 2, 32, 16., expected .B, H, V, K. with B = 1 as in r"),
    ],
)
def test_initial_states_beside_intermediate_states_that_are_refused(
    state: torch.Tensor, error: type[Exception], message: str
) -> None:
    buffer = torch.zeros(1, 2, HEADS, VALUES, KEYS)
    with pytest.raises(error, match=message):
        wkvc.rwkv7(*packed_inputs(37), initial_state=state, intermediate_states=buffer, states_every=16)


def test_autocast_widens_initial_states_beside_intermediate_states() -> None:
    inputs, buffer, state = packed_inputs(37), torch.zeros(1, 2, HEADS, VALUES, KEYS), pool()[:1].half()
    with torch.autocast("cpu", torch.bfloat16):
        o, _ = wkvc.rwkv7(*inputs, initial_state=state, intermediate_states=buffer, states_every=16)
        expected, _ = wkvc.rwkv7(*inputs, initial_state=state)
    assert torch.equal(o, expected)
    assert buffer.any()


def test_pools_that_share_memory_are_refused() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=1)]
    with pytest.raises(ValueError, match="expected contiguous rows in memory of their own"):
        wkvc.decode(wkvc.rwkv7, *inputs, states=pool()[:1].expand(2, -1, -1, -1))


def test_gradients_of_intermediate_states_are_refused() -> None:
    inputs = [tensor.requires_grad_() for tensor in packed_inputs(37)]
    buffer = torch.zeros(1, 2, HEADS, VALUES, KEYS)
    with pytest.raises(
        RuntimeError, match=r"no gradients come from intermediate_states: call this under torch\.no_grad"
    ):
        wkvc.rwkv7(*inputs, intermediate_states=buffer, states_every=16)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cu_seqlens": STARTS + 1}, "cu_seqlens. begins with 1, expected 0"),
        ({"cu_seqlens": torch.tensor([0, 13, 9, 34])}, "cu_seqlens. decreases from 13 to 9 at 2"),
        ({"cu_seqlens": torch.tensor([0, 9, 13, 35])}, "cu_seqlens. ends with 35, expected at most 34"),
        ({"state_indices": indices([3, 1, 3])}, "state_indices. has the slot 3 twice"),
        ({"state_indices": indices([3, 1, SLOTS])}, "state_indices. has the slot 7, expected 0 to 6"),
    ],
)
def test_starts_and_slots_on_the_cpu_that_are_refused(changes: dict[str, torch.Tensor], message: str) -> None:
    settings = {"initial_state": pool(), "state_indices": indices(), "cu_seqlens": STARTS, "mma": "f32", **changes}
    with pytest.raises(ValueError, match=message):
        wkvc.rwkv7(*packed_inputs(), **settings)


def test_decoding_other_recurrences() -> None:
    text = _library.emit("rwkv7", f"--head {KEYS},{VALUES} --io f32 --mma f32")
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=3)]
    first, second = pool()[:2].contiguous(), pool()[:2].contiguous()
    op = wkvc.op(text)
    order = dict(zip("rwkvab", inputs, strict=True))
    o = wkvc.decode(op, *[order[name] for name in op.inputs], states=first)
    expected = wkvc.decode(wkvc.rwkv7, *inputs, states=second)
    assert isinstance(o, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert torch.equal(o, expected)
    assert torch.equal(first, second)


def test_faults_are_reported() -> None:
    inputs, report = packed_inputs(), torch.zeros(2, dtype=torch.int32)
    settings = {"initial_state": pool(), "mma": "f32", "report": report}
    wkvc.rwkv7(*inputs, state_indices=indices(), cu_seqlens=STARTS, **settings)
    assert report.tolist() == [0, 0]
    wkvc.rwkv7(*inputs, state_indices=indices([1, 3, 1]), cu_seqlens=STARTS + 1, **settings)
    assert report.tolist()[1] == 3
    assert report.tolist()[0] in (1, 3)


def test_opcheck() -> None:
    variant, options = settings_of(mma="f32")
    intermediate = torch.zeros(1, 34 // 16, HEADS, VALUES, KEYS)
    places = (pool(), indices([5, 2, 0]), STARTS, None, intermediate)
    arguments = (*packed_inputs(), *places, 16, variant, options, "vk")
    torch.library.opcheck(torch.ops.wkvc.rwkv7_in_slots.default, arguments)


def test_compiled_is_eager() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=2)]

    def step(states: torch.Tensor) -> torch.Tensor:
        o = wkvc.decode(wkvc.rwkv7, *inputs, states=states, state_indices=indices([1, 4]))
        assert isinstance(o, torch.Tensor)
        return o * 2

    compiled, eager = pool(), pool()
    result = torch.compile(step, fullgraph=True, backend="aot_eager")(compiled)
    assert torch.equal(result, step(eager))
    assert torch.equal(compiled, eager)


def shared_inputs() -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Inputs of which all but v have 2 heads for v's 6, and the same with a head for each."""
    inputs = rwkv7_inputs(tokens=21)
    generator = torch.Generator().manual_seed(8)
    v = torch.randn(2, 21, 3 * HEADS, VALUES, generator=generator)
    shared = [v if name == "v" else tensor.detach() for name, tensor in zip("rwkvab", inputs, strict=True)]
    own = [tensor if tensor is v else tensor.repeat_interleave(3, dim=2) for tensor in shared]
    return [x.clone().requires_grad_() for x in shared], [x.clone().requires_grad_() for x in own]


def test_shared_heads_are_those_of_their_own() -> None:
    shared, own = shared_inputs()
    found, _ = wkvc.rwkv7(*shared, mma="f32")
    expected, _ = wkvc.rwkv7(*own, mma="f32")
    assert torch.equal(found, expected)
    wanted = gradients((expected,), own)
    for name, gradient, whole in zip("rwkvab", gradients((found,), shared), wanted, strict=True):
        summed = whole if name == "v" else whole.unflatten(2, (HEADS, 3)).sum(3)
        torch.testing.assert_close(gradient, summed, rtol=1e-5, atol=1e-5)


def test_shared_heads_compile() -> None:
    shared, _ = shared_inputs()

    def run(*inputs: torch.Tensor) -> torch.Tensor:
        return wkvc.rwkv7(*inputs, mma="f32")[0]

    compiled, eager = torch.compile(run, fullgraph=True, backend="aot_eager")(*shared), run(*shared)
    assert torch.equal(compiled, eager)
    for x, y in zip(gradients((compiled,), shared), gradients((eager,), shared), strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"state_indices": indices().long()}, TypeError, "state_indices is int64, expected int32"),
        ({"state_indices": indices()[:2]}, ValueError, "expected .3., a slot for each sequence"),
        ({"initial_state": None}, ValueError, "without initial_state, the pool"),
        ({"initial_state": pool()[..., ::2]}, ValueError, "states have shape"),
        ({"report": torch.zeros(2)}, ValueError, "report is float32"),
        ({"state_indices": None, "report": torch.zeros(2, dtype=torch.int32)}, ValueError, "report is given without"),
    ],
)
def test_what_is_refused(changes: dict[str, torch.Tensor | None], error: type[Exception], message: str) -> None:
    settings = {"initial_state": pool(), "state_indices": indices(), "cu_seqlens": STARTS, **changes}
    with pytest.raises(error, match=message):
        wkvc.rwkv7(*packed_inputs(), **settings)


def test_strides_are_looked_at_in_every_call() -> None:
    """Also behind a call of the same shapes whose tensors are contiguous."""
    inputs, twice = packed_inputs(), torch.stack([indices(), indices()], -1)
    good = {"initial_state": pool(), "state_indices": indices(), "cu_seqlens": STARTS, "mma": "f32"}
    wkvc.rwkv7(*inputs, **good)
    with pytest.raises(ValueError, match="state_indices is not contiguous"):
        wkvc.rwkv7(*inputs, **{**good, "state_indices": twice[:, 0]})
    with pytest.raises(ValueError, match="cu_seqlens is not contiguous"):
        wkvc.rwkv7(*inputs, **{**good, "cu_seqlens": torch.stack([STARTS, STARTS], -1)[:, 0]})
    with pytest.raises(ValueError, match="expected contiguous rows, as they are updated in place"):
        wkvc.rwkv7(*inputs, **{**good, "initial_state": pool(layout="kv").mT})


def test_autograd_sees_that_tensors_have_changed() -> None:
    """Gradients that need a pool as it was are an error, not wrong numbers."""
    inputs, states = [tensor.detach() for tensor in rwkv7_inputs(tokens=1)], pool()[:2]
    weight, buffer = torch.ones(()).requires_grad_(), torch.zeros(2, 1, *states.shape[1:])
    report = torch.zeros(2, dtype=torch.int32)
    before = (states * weight).sum()
    changed = {"states": states, "intermediate_states": buffer, "report": report}
    versions = [tensor._version for tensor in changed.values()]
    wkvc.decode(wkvc.rwkv7, *inputs, **changed, state_indices=indices([0, 1]))
    assert [tensor._version for tensor in changed.values()] == [version + 1 for version in versions]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()
    with torch.inference_mode():
        states = pool()[:2]
    wkvc.decode(wkvc.rwkv7, *inputs, states=states)


def test_gradients_are_refused() -> None:
    inputs = [tensor.requires_grad_() for tensor in packed_inputs()]
    with pytest.raises(RuntimeError, match=r"call this under torch\.no_grad"):
        wkvc.rwkv7(*inputs, initial_state=pool(), state_indices=indices(), cu_seqlens=STARTS)


def test_too_many_tokens_are_refused() -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=9)]
    with pytest.raises(ValueError, match="T is 9, expected 1 to 8"):
        wkvc.decode(wkvc.rwkv7, *inputs, states=pool()[:2])
    packed, maps = packed_inputs(12), {"states": pool(), "state_indices": indices([3, 1])}
    with pytest.raises(ValueError, match="cu_seqlens has a sequence of 9, expected 1 to 8"):
        wkvc.decode(wkvc.rwkv7, *packed, cu_seqlens=torch.tensor([0, 9, 12]), **maps)
    with pytest.raises(ValueError, match=r"r has shape \[9, 2, 16\], expected \[B, T, H, K\]"):
        wkvc.decode(wkvc.rwkv7, inputs[0][0], *inputs[1:], states=pool()[:2])


def test_long_sequences_that_the_host_does_not_see() -> None:
    """With a report, as on a GPU, more than eight tokens of a sequence have right results all the same."""
    inputs, starts = packed_inputs(12), torch.tensor([0, 9, 12])
    states, report = pool(), torch.zeros(2, dtype=torch.int32)
    o = wkvc.decode(wkvc.rwkv7, *inputs, states=states, state_indices=indices([3, 1]), cu_seqlens=starts, report=report)
    expected = pool()
    part = [wkvc.decode(wkvc.rwkv7, *(x[:, t : t + 1] for x in inputs), states=expected[3:4]) for t in range(9)]
    assert isinstance(o, torch.Tensor)
    assert torch.equal(o[:, :9], torch.cat([x for x in part if isinstance(x, torch.Tensor)], 1))
    assert torch.equal(states[3], expected[3])
    assert not report.any()
