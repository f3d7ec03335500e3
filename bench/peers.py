"""The best public kernel for each recurrence, as its users call it, at the fastest settings that are known.

Each needs packages of its own, and a GPU; what is not installed, or refuses a size, is named with the reason.
flash-linear-attention 0.6.0 runs with its Triton kernels and with its TileLang back end (tilelang 0.1.15 and nvcc),
whose first calls compile and tune for minutes; TileLang needs TVM_FFI_DISABLE_TORCH_C_DLPACK=1 and CUDA_HOME, too.
FlashQLA is flash-qla 0.1.3, cuDNN nvidia-cudnn-frontend 1.32.0, FlashInfer flashinfer-python 0.7.2.post1 with
nvidia-cutlass-dsl 4.8.1 (forward alone), and mamba_ssm 2.3.2.post1 with its Triton kernels.
"""
import os
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Callable, NamedTuple

import torch

from c_interface import PASSES
from recurrences import RECURRENCES, RWKV6_LOGW, SIMPLE_GLA, STEEPEST, Recurrence
from reference import Reference

# Variables by which flash-linear-attention chooses who computes; read at each call.
TRITON = {"FLA_TILELANG": "0", "FLA_FLASH_QLA": "0", "FLA_FLASH_KDA": "0"}
TILELANG = {**TRITON, "FLA_TILELANG": "1"}


class Peer(NamedTuple):
    """A public kernel at one setting."""

    name: str
    call: Callable  # from inputs and (batches, tokens, heads): o [B, T, H, V]
    module: str  # that has the kernel
    environment: dict = {}
    inputs: Callable = dict  # its inputs by name, of ours
    recurrence: Recurrence | None = None  # that its inputs are of, where they are not all ours
    other: tuple = ()  # inputs that are not ours: gradients by them are not compared
    keys: tuple = ()  # heads that it takes; empty: any
    dtypes: tuple = (torch.bfloat16, torch.float16)  # of inputs that are stored in 16 bits
    passes: tuple = PASSES  # that it has

    def refusal(self, what, size_of_head, dtype):
        """Why a pass of such heads is not given to it, or None."""
        if what not in self.passes:
            return f"has no pass '{what}'"
        if self.keys and size_of_head not in self.keys:
            return f"takes heads of {', '.join(map(str, self.keys))}"
        return None if dtype in self.dtypes else f"is not run with {str(dtype).removeprefix('torch.')}"


def log_decays(function):
    """Inputs whose w is the log decay, which `function` makes of ours in float32."""
    def inputs(x):
        return {**x, "w": function(x["w"].float()).to(x["w"].dtype)}
    return inputs


def by_fla(module, function, names, **arguments):
    """A call of flash-linear-attention with inputs in the order of their names."""
    def call(x, size):
        return getattr(import_module(module), function)(*(x[name] for name in names), **arguments)[0]
    return call


def rwkv7_by_fla(tilelang, **arguments):
    def call(x, size):
        if tilelang and size[0] * size[2] < 66:  # chunk_rwkv7 leaves few heads to Triton: the back end takes them
            module = import_module("fla.ops.generalized_delta_rule.dplr.backends.tilelang.chunk")
            q, gk, others = x["r"], x["w"], {name: x[name] for name in "kvab"}
            return module.chunk_dplr_delta_rule_tilelang(q=q, gk=gk, scale=1.0, **others, **arguments)[0]
        chunk_rwkv7 = import_module("fla.ops.rwkv7").chunk_rwkv7
        return chunk_rwkv7(*(x[name] for name in "rwkvab"), scale=1.0, **arguments)[0]
    return call


def rwkv7_peers(**changes):
    bounded = {"lower_bound": STEEPEST, "disable_recompute": True}
    settings = [("fla Triton, chunk 16", False, {"safe_gate": True}),
                ("fla Triton, chunk 64", False, {**bounded, "chunk_size": 64}),
                ("fla TileLang, chunk 16", True, {**bounded, "chunk_size": 16}),
                ("fla TileLang, chunk 32", True, {**bounded, "chunk_size": 32})]
    return [Peer(name, rwkv7_by_fla(tilelang, **arguments), "fla.ops.rwkv7", TILELANG if tilelang else TRITON,
                 **changes) for name, tilelang, arguments in settings]


def fla_peers(module, call, has_tilelang=True, **changes):
    """With Triton, and with the TileLang back end where that has some of the kernels."""
    settings = [("fla Triton", TRITON), ("fla TileLang", TILELANG)][:2 if has_tilelang else 1]
    return [Peer(name, call, module, environment, **changes) for name, environment in settings]


@lru_cache
def starts(batches, tokens, dtype=torch.int32):
    return torch.arange(0, (batches + 1) * tokens, tokens, device="cuda", dtype=dtype)


def kda_by_cudnn(x, size):
    """On sequences one behind the other, which is how it takes batches."""
    kimi_delta_attention = import_module("cudnn.linear_attention.ops").kimi_delta_attention
    packed = (x[name].flatten(0, 1) for name in ("q", "k", "v", "g", "beta"))
    return kimi_delta_attention(*packed, starts(*size[:2]))[0].unflatten(0, size[:2])


def gated_delta_net_by_flash_qla(x, size):
    chunk_gated_delta_rule = import_module("flash_qla").chunk_gated_delta_rule
    return chunk_gated_delta_rule(*(x[name] for name in DELTA), scale=x["q"].shape[-1] ** -0.5)[0]


def decays_in_place_of_logarithms(x):
    return {**x, "g": torch.exp(x["g"])}


def gated_delta_net_by_flashinfer(x, size):
    """On sequences one behind the other, which is how it takes batches."""
    chunk_gated_delta_rule = import_module("flashinfer.gdn_prefill").chunk_gated_delta_rule
    packed = (x[name].flatten(0, 1) for name in DELTA)
    o = chunk_gated_delta_rule(*packed, scale=x["q"].shape[-1] ** -0.5, max_seqlen=size[1],
                               cu_seqlens=starts(*size[:2], torch.int64))
    return o.unflatten(0, size[:2])


def mamba2_by_mamba_ssm(x, size):
    scan = import_module("mamba_ssm.ops.triton.ssd_combined").mamba_chunk_scan_combined
    return scan(x["x"], x["dt"], x["A"], x["B"], x["C"], chunk_size=256)


def mamba2_for_simple_gla(x):
    """Keys and queries of every head, and values that are multiplied beforehand."""
    heads = x["x"].shape[2]
    every = {name: x[name].expand(-1, -1, heads, -1).contiguous() for name in "BC"}
    return {**every, "x": (x["dt"].unsqueeze(-1) * x["x"]).to(x["x"].dtype), "g": x["A"] * x["dt"], "do": x["do"]}


def retnet_by_fla(x, size):
    chunk_simple_gla = import_module("fla.ops.simple_gla").chunk_simple_gla
    return chunk_simple_gla(x["q"], x["k"], x["v"], g_gamma=x["g"].detach())[0]


def two_rows_a_token(x):
    """Keys, values and strengths of both steps, one behind the other, as chunk_gated_delta_product takes them."""
    rows = {name: torch.stack([x[name + "1"], x[name + "2"]], 2).flatten(1, 2) for name in ("k", "v", "beta")}
    return {"q": x["q"], "g": x["g"], "do": x["do"], **rows}


def keys_of_gates(x):
    """HGRN2's keys are what its gates forget."""
    return {**x, "k": (1 - torch.exp(x["g"])).to(x["q"].dtype)}


DELTA = ("q", "k", "v", "g", "beta")
KDA = [*fla_peers("fla.ops.kda", by_fla("fla.ops.kda", "chunk_kda", DELTA, safe_gate=True, disable_recompute=True)),
       Peer("cuDNN", kda_by_cudnn, "cudnn.linear_attention.ops", keys=(128,), dtypes=(torch.bfloat16,))]
PEERS = {
    "rwkv7": rwkv7_peers(inputs=log_decays(lambda w: STEEPEST * torch.sigmoid(w)),
                         recurrence=RECURRENCES["rwkv7_logw"], other=("w",)),
    "rwkv7_logw": rwkv7_peers(),
    "rwkv6": fla_peers("fla.ops.rwkv6", by_fla("fla.ops.rwkv6", "chunk_rwkv6", "rkvwu", scale=1.0),
                       inputs=log_decays(lambda w: -torch.exp(w)), recurrence=RWKV6_LOGW, other=("w",)),
    "gated_delta_net": [
        *fla_peers("fla.ops.gated_delta_rule", by_fla("fla.ops.gated_delta_rule", "chunk_gated_delta_rule", DELTA)),
        Peer("FlashQLA", gated_delta_net_by_flash_qla, "flash_qla", keys=(128,), dtypes=(torch.bfloat16,)),
        Peer("FlashInfer", gated_delta_net_by_flashinfer, "flashinfer.gdn_prefill", keys=(128,),
             inputs=decays_in_place_of_logarithms, passes=("forward",))],
    "kda": KDA,
    "kda_gate5": KDA,
    "mamba2": [
        *fla_peers("fla.ops.simple_gla", by_fla("fla.ops.simple_gla", "chunk_simple_gla", "CBxg", scale=1.0),
                   inputs=mamba2_for_simple_gla, recurrence=SIMPLE_GLA, other=("B", "C", "g", "x")),
        Peer("mamba_ssm", mamba2_by_mamba_ssm, "mamba_ssm.ops.triton.ssd_combined", other=("A", "dt"))],
    "gla": fla_peers("fla.ops.gla", by_fla("fla.ops.gla", "chunk_gla", "qkvg"), has_tilelang=False),
    "retnet": fla_peers("fla.ops.simple_gla", retnet_by_fla, has_tilelang=False,
                        other=("g",)),
    "simple_gla": fla_peers("fla.ops.simple_gla", by_fla("fla.ops.simple_gla", "chunk_simple_gla", "qkvg"),
                            has_tilelang=False),
    "hgrn2": fla_peers("fla.ops.gla", by_fla("fla.ops.gla", "chunk_gla", "qkvg"), has_tilelang=False,
                       inputs=keys_of_gates, other=("k", "g")),
    "delta_net": fla_peers("fla.ops.delta_rule",
                           by_fla("fla.ops.delta_rule", "chunk_delta_rule", ("q", "k", "v", "beta")),
                           has_tilelang=False),
    "comba": fla_peers("fla.ops.comba", by_fla("fla.ops.comba", "chunk_comba", ("q", "k", "v", "p", "g", "beta")),
                       has_tilelang=False),
    "gdn2": fla_peers("fla.ops.gdn2", by_fla("fla.ops.gdn2", "chunk_gdn2", "qkvgbw"), has_tilelang=False),
    "gated_delta_product": fla_peers(
        "fla.ops.gated_delta_product",
        by_fla("fla.ops.gated_delta_product", "chunk_gated_delta_product", DELTA, num_householder=2),
        has_tilelang=False, inputs=two_rows_a_token, other=("k", "v", "beta")),
    "iplr": fla_peers("fla.ops.generalized_delta_rule",
                      by_fla("fla.ops.generalized_delta_rule", "chunk_iplr_delta_rule", "qkvab"), has_tilelang=False,
                      passes=("forward",)),
    "unnamed": [],
}


class Contestant(NamedTuple):
    """Calls that take the number of a set of inputs; what they give is o, or o and gradients by name."""

    forward: Callable
    both: Callable


@contextmanager
def environment_of(peer):
    before = {name: os.environ.get(name) for name in peer.environment}
    os.environ.update(peer.environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})


def contestant(peer, size, sets):
    """Calls on copies of the inputs; inside environment_of(peer). Raises ImportError for what is not installed."""
    import_module(peer.module)
    if peer.environment is TILELANG:  # without it flash-linear-attention says nothing, and runs Triton's kernels
        import_module("tilelang")
    inputs = [{name: t.detach().clone().requires_grad_(name != "do") for name, t in peer.inputs(x).items()}
              for x in sets]

    def forward(i):
        with torch.no_grad():
            return peer.call(inputs[i], size)

    def both(i):
        x = inputs[i]
        o, names = peer.call(x, size), [name for name in x if name != "do"]
        gradients = torch.autograd.grad(o, [x[name] for name in names], x["do"], allow_unused=True)
        return o, dict(zip(names, gradients))

    return Contestant(forward, both)


def results_of(peer, o, gradients=None):
    """Results by name, those that are ours to compare with."""
    ours = {"d" + name: g for name, g in (gradients or {}).items() if name not in peer.other and g is not None}
    return {"o": o.detach(), **ours}


def reference_of(peer, x, reference):
    """The reference for a peer's results: `reference`, of ours, unless its inputs are others, rounded by themselves."""
    if peer.recurrence is None:
        return reference
    return Reference(peer.recurrence, peer.inputs(x), reference.head, reference.heads)


def memory_beside(call):
    """Bytes of the GPU that a call of both passes takes at most beside inputs and results."""
    if not torch.cuda.is_available():
        return 0
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    o, gradients = call(0)
    most = torch.cuda.max_memory_allocated() - before
    return most - sum(t.nbytes for t in (o, *gradients.values()) if t is not None)


def reason_of(fault):
    """One line of what an exception says."""
    return f"{type(fault).__name__}: {fault}".split("\n")[0][:200]
