"""Texts of the rec stage: what tensors a recurrence has, and the changes that the built-in operators offer."""

import re
from typing import NamedTuple

import torch

from . import _library

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
CODES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}  # of wkvc_dtype

_HEADER = re.compile(r"rec\.recurrence @(\w+) attributes \{key_dim = (\d+), value_dim = (\d+)")
_TENSOR = re.compile(r'rec\.(input|parameter) "(\w+)" dim (\w+).*: tensor<(?:\d+x)?(\w+)>')
_OUTPUT = re.compile(r'rec\.output "(\w+)" %\w+ dim (\w+) : tensor<\d+xf32> as (\w+)')


class Spec(NamedTuple):
    """A tensor of a recurrence: "K" or "V" behind its other dimensions, or nothing for a number."""

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
    """Reads the canonical text of the rec stage, as `wkvc emit` prints it."""
    header = _HEADER.search(text)
    assert header is not None
    name, key_dim, value_dim = header.groups()
    inputs = tuple(Spec(m[2], m[1] == "parameter", m[3], DTYPES[m[4]]) for m in _TENSOR.finditer(text))
    outputs = tuple(Spec(m[1], False, m[2], DTYPES[m[3]]) for m in _OUTPUT.finditer(text))
    return Signature(name, int(key_dim), int(value_dim), inputs, outputs)


def _number(value: float) -> str:
    return f"{value:.17e}"


def with_scaled_output(text: str, scale: float) -> str:
    """The outputs times a constant."""

    def scaled(match: re.Match[str]) -> str:
        indent, name, value, dim, kind, dtype = match.groups()
        value = unscaled(value)
        return (
            f"{indent}%{name}_scale = rec.constant {_number(scale)} dim {dim} : {kind}\n"
            f"{indent}%{name}_scaled = rec.mul %{name}_scale, {value} : {kind}\n"
            f'{indent}rec.output "{name}" %{name}_scaled dim {dim} : {kind} as {dtype}'
        )

    def unscaled(value: str) -> str:
        return f"{value}_unscaled" if value in named else value

    # A value may have the name of an output that it goes to, and of no other.
    named = {f"%{output}" for output in re.findall(r'rec\.output "(\w+)"', text)}
    text = re.sub(r'( *)rec\.output "(\w+)" (%\w+) dim (\w+) : (tensor<\w+>) as (\w+)', scaled, text)
    return re.sub(r"^( *)(%\w+)(?= =)", lambda match: match[1] + unscaled(match[2]), text, flags=re.MULTILINE)


def with_declared_log_decay(text: str, lower_bound: float) -> str:
    """The recurrence with the input "w" as its log decay, declared to lie between `lower_bound` and 0."""
    declared = re.search(r"(?s)(rec\.state [^\n]*\n).*?  %log_w = [^\n]* : (tensor<\w+>)\n", text)
    assert declared is not None
    cast = re.search(r"  %w_f32 = rec\.cast [^\n]*\n", declared[0])
    w = "%w_f32" if cast else "%w"
    lines = [
        declared[1],
        cast[0] if cast else "",
        f"  %log_w = rec.assume {w} in [{_number(lower_bound)}, 0.0] : {declared[2]}\n",
    ]
    return text.replace(declared[0], "".join(lines))


def with_decay_in_f32(text: str) -> str:
    """The recurrence with the input "w" stored in f32."""
    text = re.sub(r'(rec\.input "w" dim K : tensor<\d+x)\w+>', r"\1f32>", text)
    return re.sub(r" *%w_f32 = rec\.cast %w .*\n", "", text).replace("%w_f32", "%w")


def canonical(text: str) -> str:
    """The text as `wkvc emit` prints it; raises ValueError where it is no text of the rec stage."""
    if "rec.recurrence" not in text:
        raise ValueError(f"expected the text of a recurrence (wkvc emit OP --stage rec), not: {text[:80]!r}")
    return _library.emit(text if "\n" in text else text + "\n", "")
