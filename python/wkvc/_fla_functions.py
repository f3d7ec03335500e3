"""Functions with the names, signatures and defaults of flash-linear-attention 0.6.0, computed by wkvc.

All take [B, T, H, D]. `cu_seqlens` has the bounds of sequences one behind the other. States are float32 with keys
first, [N, H, K, V], or with values first where `state_v_first` is true. `scale` is 1/√K where it is None. Each returns
the output and the final state, or None in its place. q and k may have fewer heads than v.
"""

from typing import Any

import torch

from ._functions import Operator, operator

Results = tuple[torch.Tensor, torch.Tensor | None]


def _run(
    op: Operator,
    tensors: tuple[torch.Tensor, ...],
    scale: float | None,
    initial_state: torch.Tensor | None,
    output_final_state: bool,
    state_v_first: bool,
    cu_seqlens: torch.Tensor | None,
    cp_context: Any = None,
    **settings: Any,
) -> Results:
    if cp_context is not None:
        raise ValueError("cp_context was given: wkvc has no context parallelism, leave it out")
    o, state = op(
        *tensors,
        scale=scale,
        initial_state=None if initial_state is None else initial_state.float(),
        output_final_state=bool(output_final_state),
        state_layout="vk" if state_v_first else "kv",
        cu_seqlens=cu_seqlens,
        **settings,
    )
    assert o is not None
    return o, state


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
) -> Results:
    """Gated linear attention; g is the log decay of each key."""
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens)
    return _run(operator("gla"), (q, k, v, g), *states)


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
) -> Results:
    """Linear attention with the log decay g of each token, or g_gamma of each head."""
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    if (g is None) == (g_gamma is None):
        raise ValueError("expected g, the log decay of each token, or g_gamma, that of each head: pass one of the two")
    if g is not None:
        return _run(operator("simple_gla"), (q, k, v, g), *states)
    assert g_gamma is not None
    return _run(operator("retnet"), (q, k, v, g_gamma), *states)


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
) -> Results:
    """DeltaNet."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    states = (scale, initial_state, output_final_state, False, cu_seqlens)
    return _run(operator("delta_net"), (q, k, v, beta), *states, beta_most="2")


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
) -> Results:
    """Gated DeltaNet; g is the log decay, or what −exp(A_log)·softplus(g + dt_bias) makes log decays of."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    beta = _strength(beta, use_beta_sigmoid_in_kernel, allow_neg_eigval)
    tensors: tuple[torch.Tensor, ...] = (q, k, v, g, beta)
    if use_gate_in_kernel:
        tensors += _gate_parameters(A_log, dt_bias, g)
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    gate = "softplus" if use_gate_in_kernel else "outside"
    return _run(operator("gated_delta_net"), tensors, *states, gate=gate, beta_most="2")


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
) -> Results:
    """Kimi Delta Attention; g is the log decay of each key, or what a gate makes log decays of."""
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    beta = _strength(beta, use_beta_sigmoid_in_kernel, allow_neg_eigval)
    tensors: tuple[torch.Tensor, ...] = (q, k, v, g, beta)
    settings: dict[str, Any] = {"gate": "outside"}
    if use_gate_in_kernel:
        settings["gate"] = "sigmoid" if safe_gate and lower_bound is not None else "softplus"
        tensors += _gate_parameters(A_log, dt_bias, g)
    if safe_gate and lower_bound is not None:
        settings["lower_bound"] = lower_bound
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    return _run(operator("kda"), tensors, *states, beta_most="2", **settings)


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
    safe_gate: bool = False,
    lower_bound: float | None = None,
    state_v_first: bool = False,
    cu_seqlens: torch.Tensor | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None,
    cp_context: Any = None,
) -> Results:
    """GDN-2: the gate b of each key that is erased, and w of each value that is written."""
    settings = {"lower_bound": lower_bound} if safe_gate and lower_bound is not None else {}
    states = (scale, initial_state, output_final_state, state_v_first, cu_seqlens, cp_context)
    return _run(operator("gdn2"), (q, k, v, g, b, w), *states, **settings)


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
) -> Results:
    """Comba, with the second key p."""
    q, k, p = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k, p))
    strength = torch.ones_like(g) if beta is None else beta
    states = (scale, initial_state, output_final_state, False, cu_seqlens)
    return _run(operator("comba"), (q, k, v, p, g, strength), *states, beta_most="2")


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
) -> Results:
    """Identity plus low rank."""
    return _run(operator("iplr"), (q, k, v, a, b), scale, initial_state, output_final_state, False, cu_seqlens)


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
) -> Results:
    """Gated DeltaProduct: k, v and beta have num_householder rows a token, one behind the other."""
    if num_householder not in (1, 2, 3, 4):
        raise ValueError(f"num_householder is {num_householder}, expected 1, 2, 3 or 4")
    q, k = (_unit(x, use_qk_l2norm_in_kernel) for x in (q, k))
    decay = beta.new_zeros(beta[:, ::num_householder].shape, dtype=torch.float32) if g is None else g
    states = (scale, initial_state, output_final_state, False, cu_seqlens, cp_context)
    if num_householder == 1:
        return _run(operator("gated_delta_net"), (q, k, v, decay, beta), *states, beta_most="2")
    steps = [x[:, step::num_householder] for step in range(num_householder) for x in (k, v, beta)]
    settings = {"steps": str(num_householder), "beta_most": "2"}
    return _run(operator("gated_delta_product"), (q, decay, *steps), *states, **settings)
