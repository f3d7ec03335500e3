"""Arguments by position and by name."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any


def keywords_of(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments that a function takes by name alone."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def bind(
    function: str, names: Sequence[str], given: Sequence[Any], named: Mapping[str, Any], settings: Iterable[str] = ()
) -> tuple[Any, ...]:
    """The inputs `names` in their order; raises TypeError as Python does. `settings` are the other arguments."""
    if len(given) == len(names) and not named:
        return tuple(given)
    inputs = f"{function} takes {', '.join(names)}"
    if len(given) > len(names):
        raise TypeError(f"{inputs}; {len(given)} tensors were given")
    check_names(function, named, (*names, *settings))
    twice = [name for name in names[: len(given)] if name in named]
    if twice:
        raise TypeError(f"{inputs}; {', '.join(twice)} came both by position and by name: leave one out")
    missing = [name for name in names[len(given) :] if name not in named]
    arguments = [name for name in missing if name in settings]
    if arguments:
        raise TypeError(f"{inputs}; pass {', '.join(arguments)} by position: a call has an argument of that name")
    if missing:
        raise TypeError(f"{inputs}; missing: {', '.join(missing)}")
    return *given, *(named[name] for name in names[len(given) :])


def check_names(function: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raises TypeError for names that are not known."""
    known = dict.fromkeys(known)
    unknown = [name for name in given if name not in known]
    if unknown:
        raise TypeError(f"{function} takes no {', '.join(unknown)}; known names are {', '.join(known)}")
