"""Texts of the rec stage, and what tensors a recurrence has."""

from typing import Any, NamedTuple

import torch

from . import _library

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
CODES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}  # of wkvc_dtype


class Spec(NamedTuple):
    """A tensor of a recurrence: "K" or "V" behind its other dimensions, or nothing for a number ("1")."""

    name: str
    is_parameter: bool  # of a head, not of a token
    dim: str
    dtype: torch.dtype

    def dims(self) -> tuple[str, ...]:
        leading = ("H",) if self.is_parameter else ("B", "T", "H")
        return (*leading, self.dim) if self.dim in ("K", "V") else leading


class Signature(NamedTuple):
    """The tensors that a recurrence takes and gives."""

    name: str
    key_dim: int
    value_dim: int
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]


def signature_of(text: str) -> Signature:
    """What a text of the rec stage takes and gives."""
    return signature_from(_library.signature(text))


def signature_from(read: dict[str, Any]) -> Signature:
    """The same of what the library says."""
    inputs, outputs = (tuple(_spec(tensor) for tensor in read[key]) for key in ("inputs", "outputs"))
    return Signature(read["name"], read["key_dim"], read["value_dim"], inputs, outputs)


def _spec(tensor: dict[str, str]) -> Spec:
    return Spec(tensor["name"], tensor["of"] == "head", tensor["dim"], DTYPES[tensor["dtype"]])


def canonical(text: str) -> str:
    """The text as `wkvc emit` prints it; raises ValueError where it is no text of the rec stage."""
    if "rec.recurrence" not in text:
        raise ValueError(f"expected the text of a recurrence (wkvc emit OP --stage rec), not: {text[:80]!r}")
    return _library.emit(text if "\n" in text else text + "\n", "")
