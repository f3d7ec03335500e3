"""Recurrences from their text."""

import hashlib
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from . import _text
from ._call import cast
from ._checks import kind_of
from ._config import Config
from ._families import find_or_make
from ._function import Function, Settled
from ._operators import Family
from ._options import check_values, text_of, with_mma
from ._rwkv import Mma


def _family(text: str) -> Family:
    signature = _text.signature_of(text)
    name = f"{signature.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    head = (signature.key_dim, signature.value_dim)
    return find_or_make(name, lambda name: Family(name, signature.inputs, signature.outputs, lambda *_: text, head))


class Recurrence(Function):
    """A recurrence of a text; can be copied and pickled."""

    settings = ()

    def __init__(self, text: str, mma: str | None, options: str) -> None:
        self.text = text
        self.family = _family(text)
        self.title = self.family.name
        self._mma = mma
        self._options = options
        self.options = options if mma is None else with_mma(mma, options)
        check_values(self.options)  # a mistake shows here already

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in their order."""
        return self.family.names

    def settle(self, named: Mapping[str, Any]) -> Settled:
        options = [name for name in ("mma", "options") if name in named and name not in self.inputs]
        if options:
            raise TypeError(f"{', '.join(options)}: options of wkvc.op belong to wkvc.op")
        return Settled(self.family, "", self.options, named)

    def converted(
        self, family: Family, inputs: tuple[torch.Tensor, ...], autocast: torch.dtype | None
    ) -> tuple[torch.Tensor, ...]:
        if autocast is None:
            return inputs
        return tuple(cast(tensor, spec.dtype) for tensor, spec in zip(inputs, family.inputs, strict=True))

    def __repr__(self) -> str:
        return f"wkvc.op({self.family.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Recurrence, (self.text, self._mma, self._options)


def op(text_or_path: str | PathLike[str], *, mma: Mma | None = None, options: str | Config = "") -> Recurrence:
    """Makes an operator, with gradients, of any recurrence.

    Args:
        text_or_path: the text that `wkvc emit OP --stage rec` prints, of a recurrence written in C++ or by hand, or the
            path of a file with it.
        mma: what operands of contractions are rounded to; as the text says where it is None.
        options: more options that configure kernels: `wkvc.Config(chunk=32)`, or those of the command as one text.

    Returns:
        A function: the tensors of `inputs` in, the outputs and the final state (or None) out. It can be kept in a
        module, copied and pickled.
    """
    return Recurrence(_text.canonical(_read(text_or_path)), mma, text_of(options))


def _read(text_or_path: str | PathLike[str]) -> str:
    """The text, which has lines or a brace, or that of a file, whatever the file's name is."""
    if not isinstance(text_or_path, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"text_or_path is {kind_of(text_or_path)}, expected the text of a recurrence, or a path")
    if isinstance(text_or_path, str):
        is_file = "\n" not in text_or_path and os.path.isfile(text_or_path)
        if not is_file and ("{" in text_or_path or "\n" in text_or_path or not text_or_path):
            return text_or_path
    try:
        return Path(text_or_path).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise FileNotFoundError(
            f"there is no file {str(text_or_path)!r}, expected the text of a recurrence (wkvc emit OP --stage rec), or "
            "the path of a file with it"
        ) from error
