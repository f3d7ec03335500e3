"""wkvc in place of flash-linear-attention's kernels: its functions, layers and models run on wkvc after `enable`.

    import wkvc.fla
    wkvc.fla.enable()

`TABLE` says which functions wkvc takes over. Functions that others call, such as `chunk_retention` of
`chunk_simple_gla`, come with these. The functions of this module have flash-linear-attention's names, signatures and
defaults, and run without it, too.
"""

import importlib
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import mamba
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
from ._fla_rwkv import chunk_dplr_delta_rule, chunk_rwkv6, fused_mul_recurrent_rwkv7
from ._mamba_ssm import PLACES
from ._takeover import Function, Takeover, report, swap

__all__ = [
    "chunk_comba",
    "chunk_delta_rule",
    "chunk_dplr_delta_rule",
    "chunk_gated_delta_product",
    "chunk_gated_delta_rule",
    "chunk_gdn",
    "chunk_gdn2",
    "chunk_gla",
    "chunk_iplr_delta_rule",
    "chunk_kda",
    "chunk_rwkv6",
    "chunk_simple_gla",
    "disable",
    "enable",
    "fused_mul_recurrent_rwkv7",
    "report",
]


class Row(NamedTuple):
    """A function of another package, and that of wkvc which computes the same."""

    module: str
    name: str
    function: Function
    renames: Mapping[str, str] = {}  # arguments, where the names differ
    chunks: tuple[int, ...] = ()  # sizes that it takes, where these are not all powers of two
    plug_in: str = ""  # the operation of fla.backends that dispatches it, or "function" where it is its own


_DPLR = "fla.ops.generalized_delta_rule.dplr"
_IPLR = "fla.ops.generalized_delta_rule.iplr"
_GATED = "fla.ops.gated_delta_rule"

TABLE = (
    Row("fla.ops.gla", "chunk_gla", chunk_gla),
    Row("fla.ops.gla", "fused_recurrent_gla", chunk_gla, {"gk": "g"}),
    Row("fla.ops.simple_gla", "chunk_simple_gla", chunk_simple_gla),
    Row("fla.ops.simple_gla", "fused_chunk_simple_gla", chunk_simple_gla, plug_in="function"),
    Row("fla.ops.simple_gla", "fused_recurrent_simple_gla", chunk_simple_gla, plug_in="function"),
    Row("fla.ops.simple_gla", "parallel_simple_gla", chunk_simple_gla, plug_in="function"),
    Row("fla.ops.delta_rule", "chunk_delta_rule", chunk_delta_rule),
    Row("fla.ops.delta_rule", "fused_recurrent_delta_rule", chunk_delta_rule),
    Row(_GATED, "chunk_gated_delta_rule", chunk_gated_delta_rule, plug_in="gated_delta_rule"),
    Row(_GATED, "fused_recurrent_gated_delta_rule", chunk_gated_delta_rule),
    Row("fla.ops.kda", "chunk_kda", chunk_kda, chunks=(32, 64), plug_in="function"),
    Row("fla.ops.kda", "fused_recurrent_kda", chunk_kda),
    Row("fla.ops.gdn2", "chunk_gdn2", chunk_gdn2, chunks=(64,)),
    Row("fla.ops.gdn2", "fused_recurrent_gdn2", chunk_gdn2),
    Row("fla.ops.comba", "chunk_comba", chunk_comba),
    Row("fla.ops.comba", "fused_recurrent_comba", chunk_comba),
    Row("fla.ops.gated_delta_product", "chunk_gated_delta_product", chunk_gated_delta_product),
    Row("fla.ops.rwkv6", "chunk_rwkv6", chunk_rwkv6),
    Row("fla.ops.rwkv6", "fused_recurrent_rwkv6", chunk_rwkv6),
    Row("fla.ops.rwkv7", "fused_recurrent_rwkv7", chunk_dplr_delta_rule, {"r": "q", "w": "gk"}),
    Row("fla.ops.rwkv7", "fused_mul_recurrent_rwkv7", fused_mul_recurrent_rwkv7),
    Row(_DPLR, "chunk_dplr_delta_rule", chunk_dplr_delta_rule, plug_in="generalized_delta_rule.dplr"),
    Row(_DPLR, "fused_recurrent_dplr_delta_rule", chunk_dplr_delta_rule),
    Row(_IPLR, "chunk_iplr_delta_rule", chunk_iplr_delta_rule),
    Row(_IPLR, "fused_recurrent_iplr_delta_rule", chunk_iplr_delta_rule),
    *(Row(place, name, getattr(mamba, name)) for name, place in PLACES.items()),
)

_plugged_in: set[str] = set()  # names of functions that fla.backends brings here
_replaced: list[tuple[Function, Function]] = []  # while wkvc is enabled


def enable() -> None:
    """Lets wkvc run what it supports of flash-linear-attention, and of mamba_ssm where that is installed: `report`.

    Other calls stay with the original functions. Call it before or after modules that use them are loaded.
    Raises ImportError without flash-linear-attention 0.6.0 or later.
    """
    try:
        backends: Any = importlib.import_module("fla.backends")
        importlib.import_module("fla.ops")
    except ImportError as error:
        raise ImportError(
            "wkvc.fla needs flash-linear-attention with fla.backends: pip install 'flash-linear-attention>=0.6.0'"
        ) from error
    if _replaced:
        return
    for row in TABLE:
        original = _original(row)
        if original is None:
            continue
        takeover = Takeover(f"{row.module}.{row.name}", row.function, original, row.renames, chunks=row.chunks)
        if not _plug_in(backends, row, original, takeover):
            _replaced.append((original, takeover.instead_of(original)))
    swap(_replaced)


def disable() -> None:
    """Gives all functions back."""
    swap((new, old) for old, new in _replaced)
    _replaced.clear()


def _original(row: Row) -> Function | None:
    """The function of a row, where the installed package has it."""
    try:
        return getattr(importlib.import_module(row.module), row.name, None)
    except ImportError:
        return None


def _plug_in(backends: Any, row: Row, original: Function, takeover: Takeover) -> bool:
    """Registers a function with flash-linear-attention, which asks it first, whoever calls; tells if it does."""
    if not row.plug_in or os.environ.get("FLA_DISABLE_BACKEND_DISPATCH") == "1":
        return False
    if row.name in _plugged_in:
        return True
    backend = type(
        "WkvcBackend",
        (backends.BaseBackend,),
        {
            "__doc__": "Recurrences on wkvc.",
            "backend_type": "wkvc",
            "priority": -1,  # before all others
            "is_enabled": lambda _: bool(_replaced),
            row.name: staticmethod(takeover.run),
            f"{row.name}_verifier": staticmethod(takeover.verify),
        },
    )
    if row.plug_in != "function":
        backends.register(row.plug_in)(backend)
    else:
        try:
            backends.register(original, backend=backend, verifier=takeover.verify)(takeover.run)
        except KeyError:  # a version that does not dispatch this function
            return False
    _plugged_in.add(row.name)
    return True
