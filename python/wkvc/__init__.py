"""RWKV-style recurrences, compiled for H100 and H200 while a program runs.

    o, state = wkvc.rwkv7(r, w, k, v, a, b)

docs/pytorch.md is the guide.
"""

from . import _library
from ._check import Report, check
from ._decode import decode
from ._prepare import prepare
from ._recurrence import Recurrence, op
from ._rwkv import rwkv6, rwkv7

__version__ = _library.version()

__all__ = ["Recurrence", "Report", "check", "decode", "op", "prepare", "rwkv6", "rwkv7"]
