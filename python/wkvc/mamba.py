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
    settings: dict[str, Any] = {"dt_softplus": bool(dt_softplus)}
    if dt_limit != _NO_LIMIT:
        settings |= {"dt_least": dt_limit[0], **({} if math.isinf(dt_limit[1]) else {"dt_most": dt_limit[1]})}
    o, states = operator("mamba2")(
        x=x,
        dt=dt,
        A=A,
        B=B,
        C=C,
        **_optional(dt_bias, D if in_kernel else None, z if in_kernel else None),
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
    o = decode(
        operator("mamba2"),
        x=x.unsqueeze(1),
        dt=_first(dt, 2, "dt").unsqueeze(1),
        A=_first(A, 1, "A"),
        B=B.unsqueeze(1),
        C=C.unsqueeze(1),
        states=state,
        state_indices=state_batch_indices,
        dt_softplus=bool(dt_softplus),
        **_optional(
            None if dt_bias is None else _first(dt_bias, 1, "dt_bias"),
            None if D is None else _first(D, 1, "D"),
            None if z is None else z.unsqueeze(1),
        ),
    )
    assert isinstance(o, torch.Tensor)
    return o.squeeze(1)


def _optional(dt_bias: torch.Tensor | None, D: torch.Tensor | None, z: torch.Tensor | None) -> dict[str, Any]:
    """Tensors that are given, by name, with the options that take them."""
    options = {"dt_bias": "has_dt_bias", "D": "has_skip", "z": "has_gate"}
    given = {name: tensor for name, tensor in {"dt_bias": dt_bias, "D": D, "z": z}.items() if tensor is not None}
    return {**given, **{options[name]: True for name in given}}


def _first(tensor: torch.Tensor, dims: int, name: str) -> torch.Tensor:
    """The number that stands in all elements behind the first `dims` dimensions."""
    if any(stride != 0 for stride, size in zip(tensor.stride()[dims:], tensor.shape[dims:], strict=True) if size > 1):
        raise ValueError(
            f"{name} has a number for each value: Mamba-2 has one for each head, expanded (stride 0) or without the "
            "dimension; Mamba-1 is not in the class of wkvc"
        )
    return tensor[(..., *[0] * (tensor.dim() - dims))]
