"""wkvc in models of Hugging Face's transformers: Gated DeltaNet, Kimi Delta Attention and Mamba-2 run on it.

    import wkvc.transformers
    wkvc.transformers.enable()

Models that are built before or after that run on wkvc, in training and in `generate`. transformers 5 looks for
flash-linear-attention and mamba_ssm, and has its own loops where they are missing: wkvc takes the place of both.
"""

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from . import mamba
from ._fla_functions import chunk_gated_delta_rule, chunk_kda
from ._takeover import Function, Takeover, report, swap

__all__ = ["disable", "enable", "is_enabled", "report"]


class Taken(NamedTuple):
    """A function of wkvc, and its arguments by transformers' names."""

    function: Function
    renames: Mapping[str, str]


_QUERY_KEY_VALUE = MappingProxyType({"query": "q", "key": "k", "value": "v"})
_HIDDEN = MappingProxyType({"hidden_states": "x"})

TABLE = {  # by the name of the function in the modules of models
    "torch_chunk_gated_delta_rule": Taken(chunk_gated_delta_rule, _QUERY_KEY_VALUE),
    "torch_recurrent_gated_delta_rule": Taken(chunk_gated_delta_rule, _QUERY_KEY_VALUE),
    "chunk_kimi_delta_attention": Taken(chunk_kda, _QUERY_KEY_VALUE),
    "recurrent_kimi_delta_attention": Taken(chunk_kda, _QUERY_KEY_VALUE),
    "mamba2_chunk_scan": Taken(mamba.mamba_chunk_scan_combined, _HIDDEN),
    "mamba2_selective_state_update": Taken(mamba.selective_state_update, _HIDDEN),
}
_FUSED = "mamba2_split_conv1d_scan_combined"  # models call its parts where it gives None
NAMES = (*TABLE, _FUSED)
_DECORATOR = "use_kernel_func_from_hub_with_fallback"  # what transformers marks such functions with

_replaced: list[tuple[Function, Function]] = []  # while wkvc is enabled
_decorators: list[tuple[Function, Function]] = []


def enable() -> None:
    """Lets wkvc run what it supports of the models; other calls stay with transformers: `report`.

    Raises ImportError where transformers is missing, or chooses kernels another way.
    """
    decorator = _decorator()
    if is_enabled():
        return
    _decorators.append((decorator, _taking_over(decorator)))
    _replaced.extend((old, _replacement(old)) for old in _loaded())
    swap((*_decorators, *_replaced))


def disable() -> None:
    """Gives all functions back."""
    swap((new, old) for old, new in (*_decorators, *_replaced))
    _decorators.clear()
    _replaced.clear()


def is_enabled() -> bool:
    return bool(_decorators)


def _decorator() -> Callable[..., Any]:
    """What transformers marks functions with kernels with."""
    try:
        package: Any = importlib.import_module("transformers")
        integrations = importlib.import_module("transformers.integrations")
    except ImportError as error:
        raise ImportError("wkvc.transformers needs transformers 5: pip install transformers") from error
    found = getattr(integrations, _DECORATOR, None)
    if found is None:
        raise ImportError(
            f"found transformers {package.__version__} without transformers.integrations.{_DECORATOR}, expected a "
            "version with it, such as 5.24: pip install -U transformers"
        )
    return found


def _taking_over(decorator: Callable[..., Any]) -> Callable[..., Any]:
    """The decorator for modules that are loaded later."""

    @functools.wraps(decorator)
    def decorate(*arguments: Any, **named: Any) -> Callable[[Function], Function]:
        mark = decorator(*arguments, **named)

        def take_over(function: Function) -> Function:
            original = mark(function)
            if not _is_known(original):
                return original
            _replaced.append((original, _replacement(original)))
            return _replaced[-1][1]

        return take_over

    return decorate


def _loaded() -> Iterator[Function]:
    """The functions of the table in modules that are loaded."""
    for name, module in [*sys.modules.items()]:
        if ".modeling_" in name:
            for function in (vars(module).get(known) for known in NAMES):
                if function is not None and _is_known(function):
                    yield function


def _is_known(function: Function) -> bool:
    return getattr(function, "__name__", None) in NAMES


def _replacement(original: Function) -> Function:
    """What stands in a module instead of a function of the table."""
    if original.__name__ == _FUSED:
        return _in_parts(original)
    taken = TABLE[original.__name__]
    model = original.__module__.rpartition(".modeling_")[2]
    takeover = Takeover(f"{model}.{original.__name__}", taken.function, original, taken.renames, is_tolerant=True)
    return takeover.instead_of(original)


def _in_parts(original: Function) -> Function:
    """What tells a model of Mamba-2 to call the convolution and the scan one by one."""

    @functools.wraps(original)
    def give_none(*_: Any, **__: Any) -> None:
        return None

    return give_none
