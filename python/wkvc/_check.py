"""Errors of an operator against its recurrence in float64, on inputs of one's own."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ._operators import Family
from ._recurrence import Recurrence
from ._rwkv import family_of, settings_of

_FILE_DTYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16"}


class Row(NamedTuple):
    """The error of a result, ‖x − ref‖ / ‖ref‖, and that of its worst token, of one head."""

    result: str
    error: float
    bound: float
    worst_error: float
    worst_bound: float
    batch: int
    token: int | None  # None: of a state
    head: int


class Report(NamedTuple):
    """Errors that `check` found."""

    passed: bool
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        lines = [f"{'result':<16}{'error':>10}{'bound':>10}   worst row"]
        for row in self.rows:
            token = "" if row.token is None else f" token {row.token}"
            where = f"batch {row.batch}{token} head {row.head}"
            lines.append(f"{row.result:<16}{row.error:>10.2e}{row.bound:>10.2e}   {row.worst_error:.2e} at {where}")
        return "\n".join([*lines, "passed" if self.passed else "FAILED"])


def check(function: Callable[..., Any], inputs: Mapping[str, torch.Tensor], **options: Any) -> Report:
    """Measures results and all gradients against the recurrence in float64, token by token.

    Args:
        function: wkvc.rwkv7, wkvc.rwkv6 or what wkvc.op gave.
        inputs: tensors by name, such as {"r": r, …}; "initial_state" too. "do" and "dfinal_state" are gradients of the
            results; without "do", random numbers.
        options: as for a call of rwkv7 or rwkv6: mma="bf16", decay="log", …

    Returns:
        A report, whose str is the table that `wkvc check` prints. It passes where every norm and every row is within
        the bound that the roundings explain.
    """
    family, variant, words = _settings(function, options)
    tensors = {name: tensor.detach() for name, tensor in inputs.items()}
    missing = [spec.name for spec in family.inputs if spec.name not in tensors]
    if missing:
        raise ValueError(f"inputs have no {', '.join(missing)}; expected {', '.join(s.name for s in family.inputs)}")
    given = [tensors[spec.name] for spec in family.inputs]
    head, size = family.read(given, tensors.get("initial_state"))
    for spec in family.outputs:
        shape = [size.batches, size.tokens, size.heads, *([head.value_dim] if spec.dim == "V" else [])]
        generator = torch.Generator().manual_seed(0)
        tensors.setdefault(f"d{spec.name}", torch.randn(shape, generator=generator).to(given[0].dtype))
    text, _ = family.text(variant, words, head)
    device = "cuda" if given[0].is_cuda else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        source, file = Path(folder) / "recurrence.mlir", Path(folder) / "inputs.safetensors"
        source.write_text(text, encoding="utf-8")
        _write(file, tensors)
        return _run(["check", "--source", str(source), "--input", str(file), "--device", device, *words.split()])


def _settings(function: Callable[..., Any], options: dict[str, Any]) -> tuple[Family, str, str]:
    if isinstance(function, Recurrence):
        if options:
            raise TypeError(f"{', '.join(options)}: options of wkvc.op belong to wkvc.op")
        return function.family, "", function.options
    return family_of(function), *settings_of(**options)


def _write(file: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes safetensors: the length of a JSON header, the header, the bytes."""
    header, pieces, offset = {}, [], 0
    for name, tensor in tensors.items():
        piece = tensor.cpu().contiguous().view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
        header[name] = {
            "dtype": _FILE_DTYPES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(piece)],
        }
        pieces.append(piece)
        offset += len(piece)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(b"".join([len(text).to_bytes(8, "little"), text, *pieces]))


def _run(arguments: list[str]) -> Report:
    command = [sys.executable, "-m", "wkvc", *arguments, "--pass", "both", "--json"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1):
        raise ValueError(result.stderr.strip())
    found = json.loads(result.stdout)
    rows = []
    for name, error in found["errors"].items():
        worst = found["worst"][name]
        row = (worst["error"], worst["bound"], worst["batch"], worst.get("token"), worst["head"])
        rows.append(Row(name, error, found["bounds"][name], *row))
    return Report(found["passed"], tuple(rows))
