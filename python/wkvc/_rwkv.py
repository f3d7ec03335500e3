"""RWKV-7 and RWKV-6."""

import inspect
from typing import Literal

import torch
from typing_extensions import Unpack

from . import _library, _text
from ._call import autocast_dtype, call, cast, cast_decay, check_inputs
from ._checks import check_number, kind_of
from ._config import Config
from ._families import find_or_make, of_family
from ._operators import Family, Head, TextOf
from ._options import values_of, with_mma
from ._states import StateArguments, states_from
from ._text import Spec

Decay = Literal["raw", "log"]
Mma = Literal["f16", "bf16", "bf16x3", "f32"]

_DECAY = 1  # the place of w among the inputs


def settings_of(
    scale: float = 1.0,
    decay: Decay = "raw",
    lower_bound: float | None = None,
    mma: Mma = "f16",
    options: str | Config = "",
) -> tuple[str, str]:
    """The variant and options of the operators for these arguments of `rwkv7` and `rwkv6`."""
    if not isinstance(decay, str) or decay not in ("raw", "log"):
        raise ValueError(f'decay is {kind_of(decay)}, expected "raw" or "log"')
    if lower_bound is not None and decay != "log":
        raise ValueError('lower_bound is of a log decay; pass decay="log", or leave lower_bound out')
    check_number("scale", scale)
    settings = [] if decay == "raw" else ["decay=log"]
    if lower_bound is not None:
        check_number("lower_bound", lower_bound)
        if lower_bound >= 0:
            raise ValueError(f"lower_bound is {lower_bound}, expected a negative number")
        settings.append(f"lower_bound={float(lower_bound)}")
    if scale != 1:
        settings.append(f"scale={float(scale)}")
    return ",".join(settings), with_mma(mma, options)


SETTINGS = tuple(inspect.signature(settings_of).parameters)


def _text_of(name: str) -> TextOf:
    """The texts of the family of a built-in recurrence: a variant is what the option --set takes."""

    def text_of(variant: str, options: str, head: Head) -> str:
        settings = [variant] if variant else []
        if head.dtypes[_DECAY] == torch.float32 != head.dtypes[0]:
            settings.append("decay_dtype=f32")
        words = [f"--head {head.key_dim},{head.value_dim} --io {_text.NAMES[head.dtypes[0]]}", _mma_of(options)]
        if settings:
            words.append(f"--set {','.join(settings)}")
        return _library.emit(name, " ".join(words))

    return text_of


def _mma_of(options: str) -> str:
    mma = values_of(options).get("--mma")
    return f"--mma {mma}" if mma else ""


def _tokens(*names: str) -> list[Spec]:
    return [Spec(name, False, "V" if name in "vo" else "K", torch.float32) for name in names]


_BONUS = Spec("u", True, "K", torch.float32)
_rwkv7 = find_or_make("rwkv7", lambda name: Family(name, _tokens(*"rwkvab"), _tokens("o"), _text_of("rwkv7")))
_rwkv6 = find_or_make("rwkv6", lambda name: Family(name, [*_tokens(*"rwkv"), _BONUS], _tokens("o"), _text_of("rwkv6")))


@of_family(_rwkv7)
def rwkv7(
    r: torch.Tensor,
    w: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    *,
    scale: float = 1.0,
    decay: Decay = "raw",
    lower_bound: float | None = None,
    mma: Mma = "f16",
    options: str | Config = "",
    **states: Unpack[StateArguments],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """RWKV-7: S ← S·(diag(exp(log_w)) + a bᵀ) + v kᵀ, o = scale · S r, token by token.

    Args:
        r, w, k, a, b: [B, T, H, K] of float16, bfloat16 or float32, all of one dtype. K is a multiple of 16 up to 256.
            w may be float32 beside the 16-bit ones. RWKV-7 passes a = -kk and b = kk * a. Any of them may have fewer
            heads, a divisor of H, the same for all that have: each serves as many neighbouring heads.
        v: [B, T, H, V] of the same dtype.
        scale: what outputs are multiplied by.
        decay: "raw": log_w = -exp(-1/2) · sigmoid(w). "log": log_w = w, which must not be positive.
        lower_bound: with decay="log", a promise that lower_bound <= w <= 0. Kernels are faster when it is near 0.
        mma: what operands of contractions are rounded to; "bf16x3" is good to 2e-5, "f32" is exact and slow.
        options: more options that configure kernels: `wkvc.Config(chunk=32)`, or those of the command as one text.
        states: a `wkvc.States`, or a field of one by its name: initial_state, output_final_state, cu_seqlens, …

    Returns:
        o, [B, T, H, V] in v's dtype, and the final state, or None.

    Gradients flow to every input, to initial_state and from both results. Under torch.autocast all inputs but w are
    cast to its dtype; w is never rounded. Raises TypeError and ValueError for what does not fit.
    """
    settings = settings_of(scale, decay, lower_bound, mma, options)
    inputs = _autocast(_rwkv7, (r, w, k, v, a, b))
    (o,), state = call(_rwkv7, inputs, *settings, states_from("wkvc.rwkv7", states, SETTINGS))
    return o, state


@of_family(_rwkv6)
def rwkv6(
    r: torch.Tensor,
    w: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    u: torch.Tensor,
    *,
    scale: float = 1.0,
    decay: Decay = "raw",
    lower_bound: float | None = None,
    mma: Mma = "f16",
    options: str | Config = "",
    **states: Unpack[StateArguments],
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """RWKV-6: o = scale · (S + v (u·k)ᵀ) r, then S ← S·diag(exp(log_w)) + v kᵀ, token by token.

    Args:
        r, w, k: [B, T, H, K] of float16, bfloat16 or float32, all of one dtype; w may be float32 beside 16-bit ones.
        v: [B, T, H, V] of the same dtype.
        u: [H, K] of the same dtype, the bonus of the current token.
        decay: "raw": log_w = -exp(w). "log": log_w = w, which must not be positive.

    The other arguments, and what is returned, are those of `rwkv7`.
    """
    settings = settings_of(scale, decay, lower_bound, mma, options)
    inputs = _autocast(_rwkv6, (r, w, k, v, u))
    (o,), state = call(_rwkv6, inputs, *settings, states_from("wkvc.rwkv6", states, SETTINGS))
    return o, state


def _autocast(family: Family, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
    """The inputs in autocast's dtype, where it is on; raises TypeError or ValueError unless all are tensors."""
    check_inputs(family, inputs)
    dtype = autocast_dtype(inputs[0])
    if dtype is None:
        return inputs
    return tuple((cast_decay if place == _DECAY else cast)(x, dtype) for place, x in enumerate(inputs))
