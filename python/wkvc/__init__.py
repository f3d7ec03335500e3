"""RWKV-style recurrences, compiled for H100 and H200 while a program runs.

    o, state = wkvc.rwkv7(r, w, k, v, a, b)

docs/pytorch.md is the guide.
"""

from typing import TYPE_CHECKING, Any

from . import _library
from ._check import Report, check
from ._config import Config
from ._decode import decode
from ._from_torch import from_torch
from ._functions import Operator, operator, recurrence
from ._prepare import prepare
from ._recurrence import Recurrence, op
from ._rwkv import rwkv6, rwkv7
from ._states import States

__version__ = _library.version()

__all__ = [
    "Config",
    "Operator",
    "Recurrence",
    "Report",
    "States",
    "check",
    "decode",
    "from_torch",
    "op",
    "prepare",
    "recurrence",
    "rwkv6",
    "rwkv7",
]

_OTHERS = {name for name in _library.names() if name not in __all__ and name != "rwkv7_logw"}

if not TYPE_CHECKING:  # so that a checker of types says which names there are not

    def __getattr__(name: str) -> Any:
        """The other built-in recurrences, as functions."""
        if name in _OTHERS:
            return operator(name)
        raise AttributeError(f"module 'wkvc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_OTHERS})
