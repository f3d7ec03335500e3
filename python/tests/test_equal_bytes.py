"""Which of two ways to the same results have equal bytes: the table of docs/pytorch.md, Equal bytes."""

from collections.abc import Sequence

import pytest
import torch

import wkvc
from conftest import HEADS, KEYS, VALUES, doubles, loop, rwkv7_inputs, rwkv7_step, worst
from wkvc._rwkv import Mma

TOKENS = 41
CHUNK = 16
Results = tuple[torch.Tensor, torch.Tensor]  # outputs, and the state behind the last token


def inputs_of(tokens: int = TOKENS) -> list[torch.Tensor]:
    return [tensor.detach()[:1] for tensor in rwkv7_inputs(tokens=tokens)]


def a_state(sequences: int = 1) -> torch.Tensor:
    return torch.randn(sequences, HEADS, VALUES, KEYS, generator=torch.Generator().manual_seed(7))


def tokens_of(inputs: Sequence[torch.Tensor], first: int, last: int) -> list[torch.Tensor]:
    return [tensor[:, first:last] for tensor in inputs]


def prefill(inputs: Sequence[torch.Tensor], state: torch.Tensor, mma: Mma, **maps: torch.Tensor) -> Results:
    o, final = wkvc.rwkv7(*inputs, initial_state=state, output_final_state=True, mma=mma, **maps)
    assert final is not None
    return o, final


def in_parts(inputs: Sequence[torch.Tensor], state: torch.Tensor, mma: Mma, cut: int) -> Results:
    first, state = prefill(tokens_of(inputs, 0, cut), state, mma)
    second, state = prefill(tokens_of(inputs, cut, TOKENS), state, mma)
    return torch.cat([first, second], 1), state


def decoded(inputs: Sequence[torch.Tensor], state: torch.Tensor, each: int, **maps: torch.Tensor) -> Results:
    """`each` tokens a call."""
    states, outputs = state.clone(), []
    for first in range(0, inputs[0].shape[1], each):
        o = wkvc.decode(wkvc.rwkv7, *tokens_of(inputs, first, first + each), states=states, **maps)
        assert isinstance(o, torch.Tensor)
        outputs.append(o)
    return torch.cat(outputs, 1), states


def equal(found: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    return all(torch.equal(x, y) for x, y in zip(found, expected, strict=True))


def test_tokens_one_by_one_and_several_at_once() -> None:
    one_by_one = decoded(inputs_of(), a_state(), 1)
    assert equal(one_by_one, decoded(inputs_of(), a_state(), 3))
    assert equal(one_by_one, decoded(inputs_of(), a_state(), 8))


def packed_is_alone(run: str, mma: Mma = "f32") -> bool:
    lengths = [3, 21, 0, 7] if run == "prefill" else [3, 1, 0, 7]
    starts, inputs, states = torch.tensor([0, *lengths]).cumsum(0), inputs_of(sum(lengths)), a_state(4)

    def results(part: Sequence[torch.Tensor], state: torch.Tensor, **maps: torch.Tensor) -> Results:
        if run == "prefill":
            return prefill(part, state, mma, **maps)
        return decoded(part, state, max(1, part[0].shape[1]), **maps)

    o, final = results(inputs, states, cu_seqlens=starts)
    for n, length in enumerate(lengths):
        if length == 0:
            assert torch.equal(final[n], states[n])
            continue
        alone = results(tokens_of(inputs, int(starts[n]), int(starts[n + 1])), states[n : n + 1])
        if not equal((o[:, starts[n] : starts[n + 1]], final[n : n + 1]), alone):
            return False
    return True


def test_single_tokens_packed_and_alone() -> None:
    assert packed_is_alone("decode")


@pytest.mark.parametrize("mma", ["f32", "f16", "bf16"])
def test_prompts_packed_and_alone(mma: Mma) -> None:
    assert packed_is_alone("prefill", mma)


@pytest.mark.parametrize("mma", ["f32", "f16"])
def test_states_in_slots_and_states_of_sequences(mma: Mma) -> None:
    pool = a_state(4)
    slot = torch.tensor([2], dtype=torch.int32)
    expected = prefill(inputs_of(), pool[2:3].clone(), mma)
    o, _ = wkvc.rwkv7(*inputs_of(), initial_state=pool, state_indices=slot, mma=mma)
    assert equal((o, pool[2:3]), expected)
    pool = a_state(4)
    expected = decoded(inputs_of(8), pool[2:3], 8)
    o = wkvc.decode(wkvc.rwkv7, *inputs_of(8), states=pool, state_indices=slot)
    assert isinstance(o, torch.Tensor)
    assert equal((o, pool[2:3]), expected)


@pytest.mark.parametrize("mma", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("cut", [CHUNK, 2 * CHUNK])
def test_a_prompt_in_two_parts_that_are_cut_between_chunks(cut: int, mma: Mma) -> None:
    assert equal(in_parts(inputs_of(), a_state(), mma, cut), prefill(inputs_of(), a_state(), mma))


@pytest.mark.parametrize("way", ["whole", "cut elsewhere", "token by token"])
@pytest.mark.parametrize(("mma", "bound"), [("f32", 1e-5), ("f16", 1.8e-3), ("bf16", 3.2e-3)])
def test_ways_that_agree_within_the_bounds(way: str, mma: Mma, bound: float) -> None:
    inputs, state = inputs_of(), a_state()
    if way == "token by token":
        found, bound = decoded(inputs, state, 1), 1e-5
    else:
        found = prefill(inputs, state, mma) if way == "whole" else in_parts(inputs, state, mma, 21)
    expected = loop(rwkv7_step(), doubles(inputs), state.double())
    failures = [worst(*names, bound) for names in zip(("o", "final_state"), found, expected, strict=True)]
    assert not any(failures), failures
