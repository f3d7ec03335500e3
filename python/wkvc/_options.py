"""Options of the command, as calls take them."""

from typing import Any

from . import _library
from ._checks import kind_of
from ._config import Config

_MMA = ("f16", "bf16", "bf16x3", "f32")
_OF_CALLS = ("--pass", "--grad", "--shape", "--sequences", "--shared", "--state", "--state-layout", "--states-every")
_OF_TEXTS = ("--head", "--io")
_OF_BACKWARD = ("--save-every", "--saved")


def text_of(options: Any) -> str:
    """The options as one text; raises TypeError for what is neither a text nor a Config."""
    if isinstance(options, Config):
        return str(options)
    if isinstance(options, str):
        return options
    given = kind_of(options)
    raise TypeError(
        f'options is {given}, expected one text, such as "--save-every 32 --saved f16", or a Config, such as '
        'wkvc.Config(save_every=32, saved="f16")'
    )


def with_mma(mma: str, options: str | Config) -> str:
    """The arguments `mma` and `options` of a call as one text; raises TypeError or ValueError for what is neither."""
    options = text_of(options)
    if not isinstance(mma, str) or mma not in _MMA:
        raise ValueError(f'mma is {kind_of(mma)}, expected "f16", "bf16", "bf16x3" or "f32"')
    if "--mma" in options:
        raise ValueError(f'options have --mma, and the argument mma is "{mma}": leave --mma out, and pass mma')
    return f"--mma {mma} {options}".strip()


def values_of(options: str) -> dict[str, str]:
    """The options by name; raises ValueError for what cannot be such of a call."""
    values: dict[str, str] = {}
    words = iter(options.split())
    for word in words:
        name, equals, value = word.partition("=")
        if not name.startswith("--"):
            raise ValueError(f'options have {word!r}, expected names and values, such as "--save-every 32 --saved f16"')
        if name in _OF_CALLS:
            raise ValueError(f"options have {name}, which follows from the tensors of a call: leave it out")
        if name == "--set":
            raise ValueError("options have --set, which sets what are arguments of a call: pass scale=0.5, or the like")
        if name in _OF_TEXTS:
            raise ValueError(
                f"options have {name}, which follows from the tensors, or the text of wkvc.op: leave it out"
            )
        value = value if equals else next(words, "")
        if not value or value.startswith("--"):
            raise ValueError(f'options have {name} without a value, expected one behind it, such as "--chunk 32"')
        if name in values:
            raise ValueError(f"options have {name} twice, {values[name]} and {value}: leave one out")
        values[name] = value
    return values


def check_values(options: str) -> None:
    """Raises ValueError for what no kernel of any recurrence takes, of the backward pass too."""
    values_of(options)
    _library.emit("rwkv7", f"--pass both {options}")


def options_for(options: str, *, backward: bool) -> str:
    """The options that kernels take; those of the backward pass only where it is wanted."""
    check_values(options)
    values = values_of(options)
    if not backward:
        values = {name: value.partition(",")[0] for name, value in values.items() if name not in _OF_BACKWARD}
    return " ".join(f"{name} {value}" for name, value in values.items())
