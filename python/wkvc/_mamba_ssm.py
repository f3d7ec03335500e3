"""The package mamba_ssm with Mamba-2's functions alone, for programs that import them where it is not installed."""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PLACES = {  # the modules of mamba_ssm, by the functions in them
    "mamba_chunk_scan_combined": "mamba_ssm.ops.triton.ssd_combined",
    "mamba_split_conv1d_scan_combined": "mamba_ssm.ops.triton.ssd_combined",
    "selective_state_update": "mamba_ssm.ops.triton.selective_state_update",
}


def make(functions: Mapping[str, Callable[..., Any]]) -> None:
    """Makes the package of these functions, unless there is one."""
    if importlib.util.find_spec("mamba_ssm") is not None:
        return
    for name, place in PLACES.items():
        setattr(_module(place), name, functions[name])


def _module(path: str) -> ModuleType:
    """A module that imports find, with its parents."""
    if path in sys.modules:
        return sys.modules[path]
    module = sys.modules[path] = ModuleType(path, "Mamba-2 of wkvc, in the place of mamba_ssm.")
    module.__spec__ = ModuleSpec(path, None, is_package=True)
    module.__path__ = []
    parent, _, name = path.rpartition(".")
    if parent:
        setattr(_module(parent), name, module)
    return module
