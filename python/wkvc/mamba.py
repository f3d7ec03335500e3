"""state-spaces/mamba's functions of Mamba-2 by name, computed by wkvc.

from wkvc.mamba import mamba_chunk_scan_combined, mamba_split_conv1d_scan_combined, selective_state_update
"""

import math
from typing import Any

import torch
from torch.nn.functional import conv1d, linear, pad, silu

from . import _mamba_ssm
from ._decode import decode
from ._functions import operator
from ._rwkv import Mma

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
    *,
    mma: Mma | None = None,
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
        mma: that of `wkvc.rwkv7`.
    """
    if seq_idx is not None:
        raise ValueError("seq_idx was given: pass the bounds of the sequences as cu_seqlens, with a batch of 1")
    in_kernel = D is None or D.dim() == 1  # one number a head
    settings: dict[str, Any] = {"dt_softplus": bool(dt_softplus), "mma": mma}
    if tuple(dt_limit) != _NO_LIMIT:
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
        o = _with_skip(o, x, D, z)
    if not return_final_states:
        return o
    assert states is not None
    return o, states


def mamba_split_conv1d_scan_combined(
    zxbcdt: torch.Tensor,
    conv1d_weight: torch.Tensor,
    conv1d_bias: torch.Tensor | None,
    dt_bias: torch.Tensor | None,
    A: torch.Tensor,
    D: torch.Tensor,
    chunk_size: int | None = None,
    initial_states: torch.Tensor | None = None,
    seq_idx: torch.Tensor | None = None,
    dt_limit: tuple[float, float] = _NO_LIMIT,
    return_final_states: bool = False,
    activation: str | None = "silu",
    rmsnorm_weight: torch.Tensor | None = None,
    rmsnorm_eps: float = 1e-6,
    outproj_weight: torch.Tensor | None = None,
    outproj_bias: torch.Tensor | None = None,
    headdim: int | None = None,
    ngroups: int = 1,
    norm_before_gate: bool = True,
    *,
    mma: Mma | None = None,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """A layer of Mamba-2 between its projections: convolution, scan, gated norm, and the output projection.

    Args:
        zxbcdt: [batch, tokens, 2 · heads · values + 2 · ngroups · keys + heads], the gate z, x, B, C and dt.
        conv1d_weight: [heads · values + 2 · ngroups · keys, width], of a causal convolution over tokens.
        D: [heads], with headdim, the values of a head; or [heads, values].
        activation: "silu", "swish" or None, behind the convolution.
        rmsnorm_weight: [heads · values], of a norm of each group; None: there is no norm.
        outproj_weight: [width of the model, heads · values]; None: there is no projection.
        norm_before_gate: whether the gate is behind the norm.

    The other arguments are those of `mamba_chunk_scan_combined`. Only the scan is one of wkvc's kernels.
    """
    if activation not in ("silu", "swish", None):
        raise ValueError(f"activation is {activation!r}, expected 'silu', 'swish' or None")
    heads, values = D.shape[0], D.shape[1] if headdim is None else headdim
    width = heads * values
    z, xbc, dt = zxbcdt.split([width, zxbcdt.shape[-1] - width - heads, heads], -1)
    before = pad(xbc.transpose(1, 2), (conv1d_weight.shape[-1] - 1, 0)).to(conv1d_weight.dtype)
    xbc = conv1d(before, conv1d_weight.unsqueeze(1), conv1d_bias, groups=xbc.shape[-1]).transpose(1, 2)
    xbc = (xbc if activation is None else silu(xbc)).to(zxbcdt.dtype)
    x, B, C = xbc.tensor_split([width, width + (xbc.shape[-1] - width) // 2], -1)
    o, states = mamba_chunk_scan_combined(  # pyright: ignore[reportGeneralTypeIssues]  a pair, with final states
        x.unflatten(-1, (heads, values)),
        dt,
        A,
        B.unflatten(-1, (ngroups, -1)),
        C.unflatten(-1, (ngroups, -1)),
        chunk_size,
        D=D,
        z=z.unflatten(-1, (heads, values)) if rmsnorm_weight is None else None,
        dt_bias=dt_bias,
        initial_states=initial_states,
        seq_idx=seq_idx,
        dt_softplus=True,
        dt_limit=dt_limit,
        return_final_states=True,
        mma=mma,
    )
    o = o.flatten(2)
    if rmsnorm_weight is not None:
        o = _norm(o, z, rmsnorm_weight, rmsnorm_eps, ngroups, norm_before_gate)
    if outproj_weight is not None:
        o = linear(o.to(outproj_weight.dtype), outproj_weight, outproj_bias)
    return (o, states) if return_final_states else o


def _norm(
    o: torch.Tensor, z: torch.Tensor, weight: torch.Tensor, eps: float, groups: int, is_before_gate: bool
) -> torch.Tensor:
    """The root mean square norm of each group, with the gate behind or before it."""
    wide, gate = o.float(), silu(z.float())
    each = (wide if is_before_gate else wide * gate).unflatten(-1, (groups, -1))
    each = each * torch.rsqrt(each.square().mean(-1, keepdim=True) + eps)
    normed = each.flatten(-2) * weight
    return (normed * gate if is_before_gate else normed).to(o.dtype)


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
        D: [heads, values] or [heads].
        dt_bias: [heads, values], of which a head has one number, or [heads].
        state_batch_indices: int32, the slot of each sequence; None: sequence n has state[n].
    """
    in_kernel = D is None or _is_of_heads(D, 1)
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
            None if D is None or not in_kernel else _first(D, 1, "D"),
            None if z is None or not in_kernel else z.unsqueeze(1),
        ),
    )
    assert isinstance(o, torch.Tensor)
    return o.squeeze(1) if D is None or in_kernel else _with_skip(o.squeeze(1), x, D, z)


def stand_in() -> None:
    """Lets programs that import mamba_ssm find these functions, where it is not installed. Call it before they do.

    So flash-linear-attention's layers of Mamba-2 run on wkvc. Nothing else of mamba_ssm is there.
    """
    _mamba_ssm.make({function.__name__: function for function in _FUNCTIONS})


_FUNCTIONS = (mamba_chunk_scan_combined, mamba_split_conv1d_scan_combined, selective_state_update)


def _optional(dt_bias: torch.Tensor | None, D: torch.Tensor | None, z: torch.Tensor | None) -> dict[str, Any]:
    """Tensors that are given, by name, with the options that take them."""
    options = {"dt_bias": "has_dt_bias", "D": "has_skip", "z": "has_gate"}
    given = {name: tensor for name, tensor in {"dt_bias": dt_bias, "D": D, "z": z}.items() if tensor is not None}
    return {**given, **{options[name]: True for name in given}}


def _with_skip(o: torch.Tensor, x: torch.Tensor, D: torch.Tensor, z: torch.Tensor | None) -> torch.Tensor:
    """Outputs with a skip that has a number for each value, times the gate."""
    return ((o + D * x) * (1 if z is None else silu(z.float()))).to(x.dtype)


def _is_of_heads(tensor: torch.Tensor, dims: int) -> bool:
    """Whether one number stands in all elements behind the first `dims` dimensions."""
    behind = zip(tensor.stride()[dims:], tensor.shape[dims:], strict=True)
    return all(stride == 0 for stride, size in behind if size > 1)


def _first(tensor: torch.Tensor, dims: int, name: str) -> torch.Tensor:
    """The number that stands in all elements behind the first `dims` dimensions."""
    if not _is_of_heads(tensor, dims):
        raise ValueError(
            f"{name} has a number for each value: Mamba-2 has one for each head, expanded (stride 0) or without the "
            "dimension; Mamba-1 is not in the class of wkvc"
        )
    return tensor[(..., *[0] * (tensor.dim() - dims))]
