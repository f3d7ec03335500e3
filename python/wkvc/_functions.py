"""Recurrences as functions: what a function takes follows from the definition, in the library or in Python."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Protocol, overload

import torch

from . import _library, _text
from ._call import cast
from ._checks import check_number
from ._families import family_of, find_or_make
from ._function import Function, Settled
from ._operators import Family, Head, TextOf
from ._options import text_of, values_of, with_mma
from ._rwkv import SETTINGS, Mma, settings_of
from ._text import Signature
from ._written import SRAM, Written


class Source(Protocol):
    """What a recurrence is written in: a definition of the library, or a function in Python."""

    name: str

    @property
    def family_name(self) -> str: ...

    def variant(self, settings: Mapping[str, Any]) -> str:
        """Settings as one text."""
        ...

    def signature(self, variant: str) -> dict[str, Any]:
        """What the recurrence takes, with inputs that follow the storage of a call in 16 bits."""
        ...

    def emit(self, variant: str, head: tuple[int, int] | None, io: str | None, mma: str | None) -> str:
        """The text of the rec stage; None is what the definition says."""
        ...


class BuiltIn:
    """A definition of the library; a variant is what the option --set takes."""

    def __init__(self, name: str) -> None:
        self.name = self.family_name = name

    def variant(self, settings: Mapping[str, Any]) -> str:
        return ",".join(f"{name}={_value_text(name, value)}" for name, value in sorted(settings.items()))

    def signature(self, variant: str) -> dict[str, Any]:
        return _library.signature(self.name, f"--io bf16 --set {variant}" if variant else "--io bf16")

    def emit(self, variant: str, head: tuple[int, int] | None, io: str | None, mma: str | None) -> str:
        given = {"--head": head and f"{head[0]},{head[1]}", "--io": io, "--mma": mma, "--set": variant}
        return _library.emit(self.name, " ".join(f"{option} {value}" for option, value in given.items() if value))


class Operator(Function):
    """A recurrence of the library, or one in Python."""

    def __init__(self, source: Source, options: Iterable[str], documentation: str) -> None:
        self.source, self.name, self.options = source, source.name, tuple(options)
        self.title = f"wkvc.{self.name}"
        self.settings = ("mma", "options", *self.options)
        _sources[source.family_name] = source
        self.__doc__ = documentation

    def text(self, **settings: Any) -> str:
        """The text of the rec stage, which `wkvc.op` and the command take; settings are options of the recurrence."""
        return self.source.emit(self.source.variant(settings), None, None, None)

    @property
    def family(self) -> Family:
        """The operators of calls without options."""
        return _family(self.source, "")

    def settle(self, named: Mapping[str, Any]) -> Settled:
        given = {name: value for name, value in named.items() if name in self.settings}
        mma, options = given.pop("mma", None), text_of(given.pop("options", ""))
        variant = self.source.variant({name: value for name, value in given.items() if value is not None})
        return Settled(
            _family(self.source, variant),
            variant,
            options if mma is None else with_mma(mma, options),
            {name: value for name, value in named.items() if name not in self.settings},
        )

    def converted(
        self, family: Family, inputs: tuple[torch.Tensor, ...], autocast: torch.dtype | None = None
    ) -> tuple[torch.Tensor, ...]:
        """What is declared in float32 in that, the others in autocast's dtype."""
        wanted = [torch.float32 if spec.dtype == torch.float32 else autocast for spec in family.inputs]
        return tuple(x if to is None else cast(x, to) for x, to in zip(inputs, wanted, strict=True))

    def __repr__(self) -> str:
        return self.title if isinstance(self.source, BuiltIn) else f"wkvc.recurrence({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.source, BuiltIn):
            return operator, (self.name,)
        raise TypeError(f"{self.name} is written in Python: pickle a module that imports the function, or its text")


def settle(function: Any, named: Mapping[str, Any]) -> Settled:
    """What arguments by name of a call of the package's functions settle.

    Raises TypeError or ValueError for settings that the function does not take, and for other functions.
    """
    if isinstance(function, Function):
        return function.settle(named)
    family = family_of(function)
    settings = {name: value for name, value in named.items() if name in SETTINGS}
    return Settled(family, *settings_of(**settings), {n: x for n, x in named.items() if n not in settings})


def settings_known(function: Any) -> tuple[str, ...]:
    """The names of a function's settings."""
    return function.settings if isinstance(function, Function) else SETTINGS


@cache
def operator(name: str) -> Operator:
    """The function of a built-in recurrence."""
    read = _library.signature(name)
    return Operator(BuiltIn(name), [option["name"] for option in read["options"]], _described(read))


@overload
def recurrence(function: Callable[..., Any], /) -> Operator: ...


@overload
def recurrence(
    *, head: int | tuple[int, int] = 64, compute: Mma = "f16", sram: int = SRAM
) -> Callable[[Callable[..., Any]], Operator]: ...


def recurrence(
    function: Callable[..., Any] | None = None,
    /,
    *,
    head: int | tuple[int, int] = 64,
    compute: Mma = "f16",
    sram: int = SRAM,
) -> Operator | Callable[[Callable[..., Any]], Operator]:
    """Makes a recurrence of a function of the language, see `wkvc.language`.

    Args:
        head: keys and values of a head that the text is checked with. Calls take any head.
        compute: what operands of contractions are rounded to, where a call does not say `mma`.
        sram: bytes of shared memory that a block may use.

    Returns:
        A decorator; or, written without parentheses, what it makes. That is called as `wkvc.rwkv7` is: tensors by
        position or by name, a `States` or fields of one, `mma`, `options`, and the options of the recurrence.
        `op.text()` is the text of the rec stage.
    """

    def decorate(function: Callable[..., Any]) -> Operator:
        source = Written(function, pair(head), compute, sram)
        return Operator(source, source.options, inspect.getdoc(function) or f"The recurrence {source.name}.")

    return decorate if function is None else decorate(function)


def pair(head: int | tuple[int, int]) -> tuple[int, int]:
    """Keys and values of a head: one number is of both; raises TypeError for what is neither a number nor a pair."""
    both = head if isinstance(head, tuple) else (head, head)
    if len(both) != 2 or not all(isinstance(extent, int) for extent in both):
        raise TypeError(f"head is {head!r}, expected keys and values of a head, such as 64 or (64, 128)")
    return both


def _value_text(name: str, value: Any) -> str:
    """A value as --set takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        if not value or set(value) & set(" ,='\"\\"):
            raise ValueError(f"{name} is {value!r}, expected one word")
        return value
    check_number(name, value)
    return repr(float(value))


_sources: dict[str, Source] = {}  # by family_name
_families: dict[str, Family] = {}  # by family_name and variant


def _family(source: Source, variant: str) -> Family:
    """The family of a recurrence with these settings: one for all that take the same tensors."""
    key = f"{source.family_name} {variant}"
    _find_family(source.family_name, variant, key)
    return _families[key]


@torch.compiler.assume_constant_result  # compiled code has the family, and its guards see only the table
def _find_family(name: str, variant: str, key: str) -> None:
    """Makes the family where there is none; takes words alone, since PyTorch 2.11 takes no objects for constants."""
    if key in _families:
        return
    source = _sources[name]
    plain = _text.signature_from(source.signature(""))
    signature = _text.signature_from(source.signature(variant)) if variant else plain
    own_name = "_".join([source.family_name, *(spec.name for spec in signature.inputs if spec not in plain.inputs)])
    family = _families[key] = find_or_make(
        own_name, lambda own: Family(own, signature.inputs, signature.outputs, _text_of(source, signature))
    )
    if isinstance(source, Written):
        family.located = source.located


def _text_of(source: Source, signature: Signature) -> TextOf:
    """The texts of a family."""
    stored = [place for place, spec in enumerate(signature.inputs) if spec.dtype != torch.float32]

    def text_of(variant: str, options: str, head: Head) -> str:
        io = _text.NAMES[head.dtypes[stored[0] if stored else 0]]
        return source.emit(variant, (head.key_dim, head.value_dim), io, values_of(options).get("--mma"))

    return text_of


def _described(read: dict[str, Any]) -> str:
    """The documentation of a function."""
    names = ", ".join(tensor["name"] for tensor in read["inputs"])
    options = "".join(
        f"\n    {option['name']}: {option['meaning']}: {option['values']} ({option['otherwise']})."
        for option in read["options"]
    )
    return (
        f"{read['name']}({names}, *, …): see `wkvc list {read['name']}`, and `wkvc.rwkv7` for arguments of states."
        f"\n\nOptions:{options or ' none'}\n"
    )
