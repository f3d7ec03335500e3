"""RWKV-6, RWKV-7 and DPLR under the names of flash-linear-attention 0.6.0, as `_fla_functions`."""

from typing import Any

import torch

from ._fla_run import Results, run
from ._rwkv import Mma, rwkv6, rwkv7


def chunk_rwkv6(
    r: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    w: torch.Tensor,
    u: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """RWKV-6; w is the log decay of each key, u the bonus of the current token."""
    states = (scale, initial_state, output_final_state, False, cu_seqlens)
    return run(rwkv6, (r, w, k, v, u), *states, decay="log", mma=mma or "f16")


def chunk_dplr_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    gk: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    safe_gate: bool = False,
    chunk_size: int | None = None,
    disable_recompute: bool = False,
    cp_context: Any = None,
    lower_bound: float | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Diagonal plus low rank, as RWKV-7 has it; gk is the log decay of each key."""
    states = (scale, initial_state, output_final_state, False, cu_seqlens, cp_context)
    return run(rwkv7, (q, gk, k, v, a, b), *states, decay="log", lower_bound=lower_bound, mma=mma or "f16")


def fused_mul_recurrent_rwkv7(
    r: torch.Tensor,
    w: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    kk: torch.Tensor,
    a: torch.Tensor,
    scale: float | None = 1.0,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """RWKV-7 with the key kk of which the old value goes, and the share a of it."""
    states = (scale, initial_state, output_final_state, cu_seqlens)
    return chunk_dplr_delta_rule(r, k, v, -kk, kk * a, w, *states, mma=mma)
