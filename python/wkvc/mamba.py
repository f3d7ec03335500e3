"""state-spaces/mamba's functions of Mamba-2 by name, computed by wkvc.

from wkvc.mamba import mamba_chunk_scan_combined, selective_state_update
"""

import math
from typing import Any

import torch
from torch.nn.functional import silu

from ._decode import decode
from ._functions import operator

_NO_LIMIT = (0.0, math.inf)


def mamba_chunk_scan_combined(
    x: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    chunk_size: int | None = None,
    D: torch.Tensor | None = None,
    z: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    initial_states: torch.Tensor | None = None,
    seq_idx: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = _NO_LIMIT,
    return_final_states: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Mamba-2: S' = e^(A dt) S + (dt x) Bᵀ, o = S' C + D x, times z·sigmoid(z).

    Args:
        x: [batch, tokens, heads, values].
        dt: [batch, tokens, heads], with dt_bias [heads], a softplus and limits, in this order.
        A: [heads], negative.
        B, C: [batch, tokens, groups, keys]; each group serves as many neighbouring heads.
        chunk_size: without effect: kernels have chunks of their own.
        D: [heads], or [heads, values].
        z: as x.
        initial_states: [batch, heads, values, keys].
        seq_idx: None; sequences one behind the other have cu_seqlens.
        cu_seqlens: the bounds of sequences one behind the other, with a batch of 1, as `wkvc.rwkv7` takes them.
            initial_states and final states are of the sequences then.
        return_final_states: whether to return the states behind the last tokens, too.
    """
    if seq_idx is not None:
        raise ValueError("seq_idx was given: pass the bounds of the sequences as cu_seqlens, with a batch of 1")
    in_kernel = D is None or D.dim() == 1  # one number a head
    tensors = [x, dt, A, B, C]
    settings: dict[str, Any] = {"dt_softplus": bool(dt_softplus)}
    if dt_limit != _NO_LIMIT:
        settings |= {"dt_least": dt_limit[0], **({} if math.isinf(dt_limit[1]) else {"dt_most": dt_limit[1]})}
    more = {"has_dt_bias": dt_bias, "has_skip": D if in_kernel else None, "has_gate": z if in_kernel else None}
    for option, tensor in more.items():
        if tensor is not None:
            settings[option] = True
            tensors.append(tensor)
    o, states = operator("mamba2")(
        *tensors,
        initial_state=None if initial_states is None else initial_states.float(),
        output_final_state=return_final_states,
        cu_seqlens=cu_seqlens,
        **settings,
    )
    assert o is not None
    if D is not None and not in_kernel:
        o = (o + D * x) * (1 if z is None else silu(z.float()))
        o = o.to(x.dtype)
    if not return_final_states:
        return o
    assert states is not None
    return o, states


def selective_state_update(
    state: torch.Tensor,
    x: torch.Tensor,
    dt: torch.Tensor,
    A: torch.Tensor,
    B: torch.Tensor,
    C: torch.Tensor,
    D: torch.Tensor | None = None,
    z: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    dt_softplus: bool = False,
    state_batch_indices: torch.Tensor | None = None,
) -> torch.Tensor:
    """One token of each sequence, with states updated in place.

    Args:
        state: [slots, heads, values, keys], float32, float16 or bfloat16.
        x, z: [batch, heads, values].
        dt: [batch, heads, values], of which a head has one number, or [batch, heads].
        A: [heads, values, keys], of which a head has one number, or [heads].
        B, C: [batch, groups, keys].
        D, dt_bias: [heads, values], of which a head has one number, or [heads].
        state_batch_indices: int32, the slot of each sequence; None: sequence n has state[n].
    """
    settings: dict[str, Any] = {"dt_softplus": bool(dt_softplus)}
    named = {
        **{name: tensor.unsqueeze(1) for name, tensor in {"x": x, "dt": _first(dt, 2, "dt"), "B": B, "C": C}.items()},
        "A": _first(A, 1, "A"),
    }
    if dt_bias is not None:
        named["dt_bias"], settings["has_dt_bias"] = _first(dt_bias, 1, "dt_bias"), True
    if D is not None:
        named["D"], settings["has_skip"] = _first(D, 1, "D"), True
    if z is not None:
        named["z"], settings["has_gate"] = z.unsqueeze(1), True
    o = decode(operator("mamba2"), states=state, state_indices=state_batch_indices, **named, **settings)
    assert isinstance(o, torch.Tensor)
    return o.squeeze(1)


def _first(tensor: torch.Tensor, dims: int, name: str) -> torch.Tensor:
    """The number that stands in all elements behind the first `dims` dimensions."""
    if any(stride != 0 for stride, size in zip(tensor.stride()[dims:], tensor.shape[dims:], strict=True) if size > 1):
        raise ValueError(
            f"{name} has a number for each value: Mamba-2 has one for each head, expanded (stride 0) or without the "
            "dimension; Mamba-1 is not in the class of wkvc"
        )
    return tensor[(..., *[0] * (tensor.dim() - dims))]
