"""wkvc in place of flash-linear-attention's kernels: its functions, layers and models run on wkvc after `enable`.

    import wkvc.fla
    wkvc.fla.enable()

The plug-in point is `fla.backends` of flash-linear-attention 0.6.0, at "generalized_delta_rule.dplr": `chunk_rwkv7`,
`chunk_dplr_delta_rule`, and every layer and model of RWKV-7. Other operators have no such point there: call the
functions of this module, which have flash-linear-attention's names, signatures and defaults.
"""

import importlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import _library
from ._call import autocast_dtype
from ._fla_functions import (
    chunk_comba,
    chunk_delta_rule,
    chunk_gated_delta_product,
    chunk_gated_delta_rule,
    chunk_gdn,
    chunk_gdn2,
    chunk_gla,
    chunk_iplr_delta_rule,
    chunk_kda,
    chunk_simple_gla,
)
from ._rwkv import Mma, rwkv7

__all__ = [
    "chunk_comba",
    "chunk_delta_rule",
    "chunk_gated_delta_product",
    "chunk_gated_delta_rule",
    "chunk_gdn",
    "chunk_gdn2",
    "chunk_gla",
    "chunk_iplr_delta_rule",
    "chunk_kda",
    "chunk_simple_gla",
    "enable",
    "report",
]

_OPERATION = "generalized_delta_rule.dplr"
_calls: Counter[str] = Counter()  # by what became of them
_found: dict[Any, tuple[Mma | None, str]] = {}


def enable() -> None:
    """Registers wkvc with flash-linear-attention. Calls that wkvc does not support stay with its kernels: `report`.

    Raises ImportError without flash-linear-attention 0.6.0 or later.
    """
    try:
        backends: Any = importlib.import_module("fla.backends")
        importlib.import_module("fla.ops.generalized_delta_rule.dplr.backends")  # the plug-in point is there
    except ImportError as error:
        raise ImportError(
            "wkvc.fla needs flash-linear-attention with fla.backends: pip install 'flash-linear-attention>=0.6.0'"
        ) from error
    backend = type(
        "WkvcBackend",
        (backends.BaseBackend,),
        {
            "__doc__": "RWKV-7 and DPLR on wkvc.",
            "backend_type": "wkvc",
            "priority": -1,  # before all others
            "chunk_dplr_delta_rule": staticmethod(_chunk_dplr_delta_rule),
            "chunk_dplr_delta_rule_verifier": staticmethod(_verify),
        },
    )
    backends.register(_OPERATION)(backend)


def report() -> str:
    """Counts calls that ran on wkvc and calls that did not, with the reasons; prints and returns the text."""
    lines = [f"{count:>8}  {what}" for what, count in _calls.most_common()]
    text = "\n".join(lines) if lines else "no calls so far"
    print(text)
    return text


def _verify(*arguments: Any, **options: Any) -> tuple[bool, str | None]:
    reason = _reason(*arguments, **options)
    _calls["on wkvc" if reason is None else f"by flash-linear-attention: {reason}"] += 1
    return reason is None, reason


def _reason(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    gk: torch.Tensor,
    *,
    scale: float | None = None,
    cu_seqlens: torch.Tensor | None = None,
    lower_bound: float | None = None,
    cp_context: Any = None,
    **_: Any,
) -> str | None:
    """The reason for which a call stays with flash-linear-attention, if there is one."""
    if cp_context is not None:
        return "context parallelism"
    if lower_bound is not None and lower_bound >= 0:
        return f"lower_bound is {lower_bound}"
    autocast = autocast_dtype(q) is not None
    if not autocast and any(tensor.dtype != q.dtype for tensor in (k, v, a, b)):
        dtypes = ", ".join(str(tensor.dtype).removeprefix("torch.") for tensor in (q, k, v, a, b))
        return f"q, k, v, a, b are {dtypes}, not of one dtype"
    if not autocast and gk.dtype not in (q.dtype, torch.float32):
        return f"gk is {gk.dtype} beside {q.dtype}"
    if not (q.is_cpu or (q.is_cuda and _library.runs_on(torch.cuda.get_device_capability(q.device)))):
        return f"{q.device} is no H100 or H200"
    mma, why_not = _kernels_for((q, gk, k, v, a, b), _scale_of(scale, k), lower_bound, cu_seqlens)
    return why_not if mma is None else None


def _kernels_for(
    inputs: Sequence[torch.Tensor], scale: float, lower_bound: float | None, cu_seqlens: torch.Tensor | None
) -> tuple[Mma | None, str]:
    """The operands of contractions that kernels for these inputs, padded, have, or None and why there are no kernels.

    Compiles where the answer is not known: a call with tensors that have no memory.
    """
    layouts = tuple((tensor.shape, tensor.dtype, tensor.device, tensor.requires_grad) for tensor in inputs)
    starts = None if cu_seqlens is None else (cu_seqlens.shape, cu_seqlens.dtype)
    key = (layouts, starts, scale, lower_bound, torch.is_grad_enabled(), autocast_dtype(inputs[0]))
    if key not in _found:
        _found[key] = _find(inputs, scale, lower_bound, cu_seqlens)
    return _found[key]


def _find(
    inputs: Sequence[torch.Tensor], scale: float, lower_bound: float | None, cu_seqlens: torch.Tensor | None
) -> tuple[Mma | None, str]:
    choices: tuple[Mma, ...] = ("f32", "f16") if inputs[0].dtype == torch.float32 else ("f16", "bf16")
    reasons = []
    for mma in choices:
        with FakeTensorMode():
            fakes = [
                _padded(torch.empty(tensor.shape, dtype=tensor.dtype, device=tensor.device)).requires_grad_(
                    tensor.requires_grad
                )
                for tensor in inputs
            ]
            starts = None
            if cu_seqlens is not None:
                starts = torch.empty(cu_seqlens.shape, dtype=cu_seqlens.dtype, device=cu_seqlens.device)
            try:
                rwkv7(*fakes, scale=scale, decay="log", lower_bound=lower_bound, mma=mma, cu_seqlens=starts)
                return mma, ""
            except (TypeError, ValueError) as error:
                reasons.append(f"{mma}: {error}")
    return None, "; ".join(reasons)


def _scale_of(scale: float | None, k: torch.Tensor) -> float:
    return k.shape[-1] ** -0.5 if scale is None else float(scale)


def _padded(tensor: torch.Tensor) -> torch.Tensor:
    missing = -tensor.shape[-1] % 16
    return torch.nn.functional.pad(tensor, (0, missing)) if missing else tensor


def _chunk_dplr_delta_rule(
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
    lower_bound: float | None = None,
    **_: Any,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """flash-linear-attention's operator: log decays, states with keys first, heads of any size up to 256."""
    keys, values = k.shape[-1], v.shape[-1]
    factor = _scale_of(scale, k)
    inputs = (q, gk, k, v, a, b)
    mma, why_not = _kernels_for(inputs, factor, lower_bound, cu_seqlens)
    if mma is None:
        raise ValueError(why_not)
    if initial_state is not None:
        padding = (0, -values % 16, 0, -keys % 16)
        initial_state = torch.nn.functional.pad(initial_state.float(), padding)
    o, state = rwkv7(
        *(_padded(tensor) for tensor in inputs),
        initial_state=initial_state,
        output_final_state=bool(output_final_state),
        scale=factor,
        decay="log",
        lower_bound=lower_bound,
        state_layout="kv",
        cu_seqlens=cu_seqlens,
        mma=mma,
    )
    o = o[..., :values].to(q.dtype)
    return o, None if state is None else state[..., :keys, :values]
