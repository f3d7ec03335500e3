"""Functions with the names, signatures and defaults of flash-linear-attention 0.6.0, computed by wkvc.

All take [B, T, H, D]. `cu_seqlens` has the bounds of sequences one behind the other. States are float32 with keys
first, [N, H, K, V], or with values first where `state_v_first` is true. `scale` is 1/√K where it is None. `mma` is that
of `wkvc.rwkv7`. Each returns the output and the final state, or None in its place. q and k may have fewer heads than v.
"""

from typing import Any

import torch
from torch.nn.functional import pad

from ._fla_run import Results, run
from ._functions import operator
from ._rwkv import Mma


def _unit(x: torch.Tensor, is_wanted: bool) -> torch.Tensor:
    """Queries or keys divided by their norms, in their dtype."""
    if not is_wanted:
        return x
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + 1e-6)).to(x.dtype)


def _strength(beta: torch.Tensor, is_sigmoid: bool, may_be_negative: bool) -> torch.Tensor:
    """The share of the old value that goes, up to 2."""
    return (2 if may_be_negative else 1) * beta.float().sigmoid() if is_sigmoid else beta


def chunk_gla(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Gated linear attention; g is the log decay of each key."""
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens)
    return run(operator("gla"), (q, k, v, g), *states, mma=mma)


def chunk_simple_gla(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor | None = None,
    g_gamma: torch.Tensor | None = None,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    cp_context: Any = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Linear attention with the log decay g of each token, or g_gamma of each head."""
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    if (g is None) == (g_gamma is None):
        raise ValueError("expected g, the log decay of each token, or g_gamma, that of each head: pass one of the two")
    if g is not None:
        return run(operator("simple_gla"), (q, k, v, g), *states, mma=mma)
    assert g_gamma is not None
    return run(operator("retnet"), (q, k, v, g_gamma), *states, mma=mma)


def chunk_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    beta: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """DeltaNet."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    states = (scale, initial_state, output_final_state, False, cu_seqlens)
    return run(operator("delta_net"), (q, k, v, beta), *states, mma=mma, beta_most="2")


def chunk_gated_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    chunk_indices: torch.Tensor | None = None,
    cp_context: Any = None,
    use_gate_in_kernel: bool = False,
    A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    chunk_size: int | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Gated DeltaNet; g is the log decay, or what −exp(A_log)·softplus(g + dt_bias) makes log decays of."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    beta = _strength(beta, use_beta_sigmoid_in_kernel, allow_neg_eigval)
    gate, settings = _gate(g, use_gate_in_kernel, False, None, A_log, dt_bias)
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    return run(operator("gated_delta_net"), (q, k, v, g, beta, *gate), *states, mma=mma, beta_most="2", **settings)


chunk_gdn = chunk_gated_delta_rule


def chunk_kda(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    state_v_first: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    cp_context: Any = None,
    A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Kimi Delta Attention; g is the log decay of each key, or what a gate makes log decays of."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    beta = _strength(beta, use_beta_sigmoid_in_kernel, allow_neg_eigval)
    gate, settings = _gate(g, use_gate_in_kernel, safe_gate, lower_bound, A_log, dt_bias)
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    return run(operator("kda"), (q, k, v, g, beta, *gate), *states, mma=mma, beta_most="2", **settings)


def _gate(
    g: torch.Tensor,
    is_in_kernel: bool,
    is_safe: bool,
    lower_bound: float | None,
    A_log: torch.Tensor | None,
    dt_bias: torch.Tensor | None,
) -> tuple[tuple[torch.Tensor, ...], dict[str, Any]]:
    """The parameters of the gate that makes log decays of g, and its settings."""
    bound = {} if lower_bound is None else {"lower_bound": lower_bound}
    if not is_in_kernel:
        return (), bound if is_safe else {}
    return _gate_parameters(A_log, dt_bias, g), {"gate": "sigmoid" if bound else "softplus", **bound}


def _gate_parameters(
    A_log: torch.Tensor | None, dt_bias: torch.Tensor | None, g: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """A_log of each head, and dt_bias as g has it in a token; zeros where one is None."""
    shape = g.shape[2:]
    zeros = g.new_zeros(shape, dtype=torch.float32)
    bias = zeros if dt_bias is None else dt_bias.reshape(shape)
    return g.new_zeros(shape[:1], dtype=torch.float32) if A_log is None else A_log.reshape(shape[:1]), bias


def chunk_gdn2(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    b: torch.Tensor,
    w: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    state_v_first: bool = False,
    cp_context: Any = None,
    A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """GDN-2: the gate b of each key that is erased, and w of each value that is written."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    gate, settings = _gate(g, use_gate_in_kernel, safe_gate, lower_bound, A_log, dt_bias)
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    return run(operator("gdn2"), (q, k, v, g, b, w, *gate), *states, mma=mma, **settings)


def chunk_comba(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    p: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor | None = None,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Comba, with the second key p."""
    q, k, p = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k, p))
    strength = torch.ones_like(g) if beta is None else beta
    states = (scale, initial_state, output_final_state, False, cu_seqlens)
    return run(operator("comba"), (q, k, v, p, g, strength), *states, mma=mma, beta_most="2")


def chunk_iplr_delta_rule(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Identity plus low rank."""
    return run(operator("iplr"), (q, k, v, a, b), scale, initial_state, output_final_state, False, cu_seqlens, mma=mma)


def chunk_gated_delta_product(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor | None,
    beta: torch.Tensor,
    num_householder: int,
    scale: float | None = None,
    initial_state: torch.Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cp_context: Any = None,
    *,
    mma: Mma | None = None,
) -> Results:
    """Gated DeltaProduct: k, v and beta have num_householder rows a token, one behind the other.

    It runs as Gated DeltaNet of as many tokens, of which the first one of each token decays and the last one is read.
    """
    steps: Any = num_householder
    if not isinstance(steps, int) or isinstance(steps, bool) or steps < 1:
        raise ValueError(f"num_householder is {steps!r}, expected a whole number from 1 on")
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    q, starts = _at_row(q, steps - 1, steps), None if cu_seqlens is None else cu_seqlens * steps
    states = (scale, initial_state, output_final_state, False, starts, cp_context)
    if g is None:
        o, state = run(operator("delta_net"), (q, k, v, beta), *states, mma=mma, beta_most="2")
    else:
        tensors = (q, k, v, _at_row(g, 0, steps), beta)
        o, state = run(operator("gated_delta_net"), tensors, *states, mma=mma, beta_most="2")
    return o[:, steps - 1 :: steps].contiguous(), state


def _at_row(x: torch.Tensor, row: int, rows: int) -> torch.Tensor:
    """[B, T, …] as [B, T · rows, …], with x at that row of each token, and zeros at the others."""
    behind = (0, 0) * (x.dim() - 2)
    return pad(x.unsqueeze(2), (*behind, row, rows - 1 - row)).flatten(1, 2)
