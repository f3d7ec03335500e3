"""The families of this process: a process has one operator of a name."""

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from ._operators import Family
from ._slots import InSlots

_Function = TypeVar("_Function", bound=Callable[..., Any])

_families: dict[str, Family] = {}
_listeners: list[Callable[[Family], None]] = []
_lock = threading.Lock()


def find_or_make(name: str, make: Callable[[str], Family]) -> Family:
    """The family of this name, with an operator for states in slots beside its own."""
    with _lock:
        if name not in _families:
            family = make(name)
            family.in_slots = InSlots(family).op
            for listener in _listeners:
                listener(family)
            _families[name] = family
        return _families[name]


def on_each(listener: Callable[[Family], None]) -> None:
    """Calls the function with each family that there is, and that there will be."""
    with _lock:
        _listeners.append(listener)
        for family in _families.values():
            listener(family)


def of_family(family: Family) -> Callable[[_Function], _Function]:
    """Makes a function one of the family's, as `family_of` tells."""

    def mark(function: _Function) -> _Function:
        function.__dict__["family"] = family
        return function

    return mark


def family_of(function: Any) -> Family:
    """The family of `rwkv7`, `rwkv6` or what `op` gave; raises TypeError for all else."""
    family = getattr(function, "family", None)
    if isinstance(family, Family):
        return family
    raise TypeError(
        f"{function} was given, expected a function of wkvc, such as wkvc.rwkv7, or what wkvc.op, wkvc.recurrence or "
        "wkvc.from_torch gave"
    )
