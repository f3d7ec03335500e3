"""Options of kernels with types."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

import torch

from . import _library
from ._checks import kind_of

Auto = Literal["auto"]
Count = int | Auto
Scales = Literal["always", "guarded", "auto"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Options that configure kernels, for `options=` of every function: `options=Config(save_every=32, saved="f16")`.

    str(config) is what the command takes, "--save-every 32 --saved f16"; the table of README.md says what they mean.
    None leaves a choice to wkvc. A pair is of the forward and of the backward kernel, one value of both.

    Raises TypeError for what is no value of an option, and ValueError for a value that no kernel takes.
    """

    chunk: Count | None = None
    save_every: Count | None = None
    saved: Literal["f16", "bf16", "f32"] | None = None
    segments: Count | tuple[Count, Count] | None = None
    teams: Count | tuple[Count, Count] | None = None
    rounds: Count | None = None
    cluster: Count | None = None
    parts: Count | None = None
    scales: Scales | tuple[Scales, Scales] | None = None
    form: Literal["strips", "warpgroups", "auto"] | None = None
    blocks: Count | tuple[Count, Count] | None = None
    sram: int | str | None = None
    arch: str | None = None

    def __post_init__(self) -> None:
        _expect_known(str(self))

    def __str__(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return " ".join(
            f"--{name.replace('_', '-')} {_word(name, value)}" for name, value in values.items() if value is not None
        )


@torch.compiler.assume_constant_result  # compiled code does not ask again
def _expect_known(options: str) -> None:
    """Raises ValueError for values that the command does not take, whatever the recurrence."""
    _signature(f"--pass both {options}")


@cache  # a layer may make a Config at each call
def _signature(options: str) -> None:
    _library.signature("rwkv7", options)


def _word(name: str, value: Any) -> str:
    """A value as the command takes it; raises TypeError for what is none."""
    values = value if isinstance(value, tuple) else (value,)
    if not all(isinstance(part, int | str) and not isinstance(part, bool) for part in values):
        raise TypeError(f"{name} is {kind_of(value)}, expected a whole number, a word, or a pair of those")
    return ",".join(map(str, values))
