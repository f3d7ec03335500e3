"""Errors of an operator against its recurrence in float64, on inputs of one's own."""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ._arguments import check_names
from ._checks import check_kind, check_tensors, kind_of
from ._functions import Operator, settings_known, settle
from ._kernels import Size
from ._library import PATH, USER_ERROR
from ._operators import Family
from ._options import options_for
from ._text import Signature

_FILE_DTYPES = {
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int32: "I32",
    torch.int64: "I64",
}


class Row(NamedTuple):
    """The error of a result, ‖x − ref‖ / ‖ref‖, and that of its worst token, of one head."""

    result: str
    error: float
    bound: float
    worst_error: float
    worst_bound: float
    batch: int | None  # None: of a parameter
    token: int | None  # None: of a parameter or a state
    head: int

    @property
    def place(self) -> str:
        """Where the worst token is."""
        numbers = {"batch": self.batch, "token": self.token, "head": self.head}
        return " ".join(f"{name} {number}" for name, number in numbers.items() if number is not None)


class Report(NamedTuple):
    """Errors that `check` found, and what the command remarks about the inputs."""

    passed: bool
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"{'result':<16}{'error':>12}{'bound':>10}{'worst row':>12}{'bound':>10}"]
        for row in self.rows:
            numbers = ((row.error, row.bound), (row.worst_error, row.worst_bound))
            errors = "".join(f"{_shown(error, 'NOT FINITE'):>12}{_shown(bound, '-'):>10}" for error, bound in numbers)
            lines.append(f"{row.result:<16}{errors}   at {row.place}")
        return "\n".join([*self.remarks, *lines, "passed" if self.passed else "FAILED"])


def _shown(number: float, otherwise: str) -> str:
    """A number of the report's table, and a word for one that is not finite."""
    return f"{number:.2e}" if math.isfinite(number) else otherwise


def check(function: Callable[..., Any], inputs: Mapping[str, torch.Tensor], **options: Any) -> Report:
    """Measures results and all gradients against the recurrence in float64, token by token.

    Args:
        function: a function of the package, such as wkvc.rwkv7, or what wkvc.op gave.
        inputs: tensors by name, such as {"r": r, …}; "initial_state" and "cu_seqlens" too. "do" and "dfinal_state" are
            gradients of the results; without "do", random numbers. States are [B, H, V, K].
        options: as for a call of the function: mma="bf16", decay="log", …

    Returns:
        A report, whose str is the table that `wkvc check` prints. It passes where every norm and every row is within
        the bound that the roundings explain. `remarks` say which inputs lie beyond their declared range.
    """
    family, variant, words = _settings(function, options)
    tensors = _tensors(family, inputs)
    given = tuple(tensors[name] for name in family.names)
    if isinstance(function, Operator):
        given = function.converted(family, given)
        tensors |= zip(family.names, given, strict=True)
    head, size = family.read(given, tensors.get("initial_state"), tensors.get("cu_seqlens"))
    text, signature = family.text(variant, words, head)
    tensors = {**_random_gradients(signature, size), **tensors}
    words = f"{options_for(words, backward=True)} --device {'cuda' if given[0].is_cuda else 'cpu'}"
    if size.shared_inputs:
        words += f" --shared {','.join(size.shared_inputs)}"
    with tempfile.TemporaryDirectory() as folder:
        source, file = Path(folder) / "recurrence.mlir", Path(folder) / "inputs.safetensors"
        source.write_text(text, encoding="utf-8")
        _write(file, tensors)
        return _run(source, file, words.split())


def _settings(function: Callable[..., Any], options: dict[str, Any]) -> tuple[Family, str, str]:
    settled = settle(function, options)
    check_names("wkvc.check", settled.tensors, settings_known(function))
    return settled.family, settled.variant, settled.options


def _tensors(family: Family, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What is given, without gradients; raises TypeError or ValueError for what cannot be an input."""
    if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'inputs are {kind_of(inputs)}, expected tensors by name, such as {{"{family.names[0]}": …}}')
    gradients = [*(f"d{spec.name}" for spec in family.outputs), "dfinal_state"]
    check_names(f"wkvc.check of {family.name}", inputs, (*family.names, "initial_state", "cu_seqlens", *gradients))
    missing = [name for name in family.names if inputs.get(name) is None]
    if missing:
        raise ValueError(f"inputs have no {', '.join(missing)}; expected {', '.join(family.names)}")
    check_tensors(**inputs)
    for name in gradients:
        if inputs.get(name) is not None:
            check_kind(name, inputs[name], inputs[family.names[0]].device)
    return {name: tensor.detach() for name, tensor in inputs.items() if tensor is not None}


def _random_gradients(signature: Signature, size: Size) -> dict[str, torch.Tensor]:
    """Gradients of the outputs."""
    if 0 in size[:3]:
        raise ValueError(f"B, T, H are {', '.join(map(str, size[:3]))}: there is nothing to check, expected 1 or more")
    lengths = {"B": size.batches, "T": size.tokens, "H": size.heads, "V": signature.value_dim}
    gradients = {}
    for spec in signature.outputs:
        shape = [lengths[dim] for dim in spec.dims()]
        drawn = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        gradients[f"d{spec.name}"] = drawn.to(spec.dtype)
    return gradients


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


def _run(source: Path, file: Path, words: list[str]) -> Report:
    arguments = ["check", "--source", str(source), "--input", str(file), *words, "--pass", "both", "--json"]
    result = _command(arguments)
    said = result.stderr.replace(f"{source}: ", "").replace(f"{file}: ", "").strip()
    if result.returncode not in (0, 1):
        raise (ValueError if result.returncode == USER_ERROR else RuntimeError)(
            said or f"the process of wkvc.check ended with {result.returncode}"
        )
    found = json.loads(result.stdout)
    rows = []
    for name, error in found["errors"].items():
        worst = found["worst"][name]
        errors = (_number(error), _number(found["bounds"][name]), _number(worst["error"]), _number(worst["bound"]))
        rows.append(Row(name, *errors, worst.get("batch"), worst.get("token"), worst["head"]))
    return Report(found["passed"], tuple(rows), tuple(line for line in said.splitlines() if line.startswith("wkvc: ")))


# Runs the command in a process that has neither imported wkvc nor has to find it: the library's path comes first.
_SCRIPT = """
import ctypes, os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
words = [b"wkvc", *map(os.fsencode, sys.argv[2:])]
sys.exit(ctypes.CDLL(sys.argv[1]).wkvc_command(len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None)))
"""


def _command(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Runs the wkvc command, whatever the working directory and Python's variables are."""
    if not sys.executable:
        raise RuntimeError("wkvc.check needs a Python to run the check: sys.executable is empty; set it to one's path")
    words = [sys.executable, "-I", "-S", "-c", _SCRIPT, str(PATH), *arguments]
    return subprocess.run(words, capture_output=True, text=True, check=False, env=_environment())


def _environment() -> dict[str, str]:
    """This process's environment, with the folder of the NVRTC that PyTorch has loaded where the loader looks last."""
    maps = Path("/proc/self/maps")
    loaded = re.search(r"(/\S.*)/libnvrtc\.so\.\d+", maps.read_text()) if maps.exists() else None
    folders = [os.environ.get("LD_LIBRARY_PATH"), loaded and loaded[1]]
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(folder for folder in folders if folder)}


def _number(found: float | None) -> float:
    """A number of the command's JSON, which has null for what is not finite."""
    return math.nan if found is None else found
