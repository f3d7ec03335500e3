"""Single tokens behind a prompt, and calls without tokens."""

import pytest
import torch

import wkvc
from conftest import rwkv7_inputs
from test_serving import indices, pool
from wkvc._call import StateLayout


@pytest.mark.parametrize("layout", ["vk", "kv"])
def test_tokens_go_on_from_the_final_state_of_a_prompt(layout: StateLayout) -> None:
    inputs = [tensor.detach() for tensor in rwkv7_inputs(tokens=23)]
    prompt, tokens = ([tensor[:, part] for tensor in inputs] for part in (slice(0, 20), slice(20, 23)))
    _, state = wkvc.rwkv7(*prompt, output_final_state=True, state_layout=layout, mma="f32")
    assert state is not None
    assert state.is_contiguous()
    o = wkvc.decode(wkvc.rwkv7, *tokens, states=state, state_layout=layout)
    expected, _ = wkvc.rwkv7(*inputs, mma="f32")
    assert isinstance(o, torch.Tensor)
    torch.testing.assert_close(o, expected[:, 20:], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("slots", [[6, 2], [6, 99], [6, 6], [-1, -1]])
@pytest.mark.parametrize("reported", [False, True])
def test_decoding_no_tokens_is_refused(slots: list[int], reported: bool) -> None:
    """Also with slots that nobody would check, and packed."""
    inputs = [tensor.detach()[:, :0] for tensor in rwkv7_inputs()]
    settings = {"state_indices": indices(slots), "report": torch.zeros(2, dtype=torch.int32) if reported else None}
    with pytest.raises(ValueError, match="T is 0, expected 1 to 8 tokens of each sequence"):
        wkvc.decode(wkvc.rwkv7, *inputs, states=pool(), **settings)
    one = [tensor[:1] for tensor in inputs]
    with pytest.raises(ValueError, match="T is 0, expected 1 to 8 tokens of each sequence"):
        wkvc.decode(wkvc.rwkv7, *one, states=pool(), cu_seqlens=torch.tensor([0, 0, 0]), **settings)
