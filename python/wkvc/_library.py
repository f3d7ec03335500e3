"""The C interface of libwkvc.so (jit/wkvc.h) through ctypes; statuses become exceptions."""

import ctypes
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

FORWARD, BACKWARD = 0, 1
CUDA, HOST = 0, 1
CHECK_LAYOUT = 0

Handle = ctypes.c_void_p
USER_ERROR, _OUT_OF_MEMORY = 2, 4


class TensorInfo(NamedTuple):
    """A tensor that a pass takes."""

    name: str
    dims: tuple[str, ...]  # ("B", "T", "H", "K")
    dtype: int
    is_result: bool
    is_optional: bool


class SavedInfo(NamedTuple):
    """A tensor that the forward pass leaves: `bytes` for every `tokens` tokens of a sequence and head."""

    tokens: int
    bytes: int


class _TensorInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("dims", ctypes.c_char_p),
        ("rank", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("is_result", ctypes.c_int32),
        ("is_optional", ctypes.c_int32),
    ]


class _SavedInfo(ctypes.Structure):
    _fields_ = [("tokens", ctypes.c_int64), ("bytes", ctypes.c_int64)]


class Sequences(ctypes.Structure):
    """wkvc_sequences: where sequences begin that lie one behind the other, slots of states, and shared heads."""

    _fields_ = [
        ("count", ctypes.c_int64),
        ("layout", ctypes.c_int32),
        ("starts", ctypes.c_void_p),
        ("slots", ctypes.c_void_p),
        ("slot_count", ctypes.c_int64),
        ("shared_heads", ctypes.c_int64),
        ("report", ctypes.c_void_p),
    ]


BATCHES, STARTS_32, STARTS_64 = 0, 1, 2  # layouts

_Int64 = ctypes.c_int64
_SIGNATURES = {
    "wkvc_version": (ctypes.c_char_p, []),
    "wkvc_runs_on": (ctypes.c_int32, [ctypes.c_int32] * 2),
    "wkvc_message": (ctypes.c_char_p, []),
    "wkvc_prepare": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(Handle)]),
    "wkvc_emit": (ctypes.c_int, [ctypes.c_char_p] * 3 + [ctypes.POINTER(ctypes.c_char_p)]),
    "wkvc_names": (ctypes.c_int, [ctypes.POINTER(ctypes.c_char_p)]),
    "wkvc_signature": (ctypes.c_int, [ctypes.c_char_p] * 2 + [ctypes.POINTER(ctypes.c_char_p)]),
    "wkvc_tensor_count": (ctypes.c_int32, [Handle, ctypes.c_int]),
    "wkvc_tensor_at": (ctypes.c_int, [Handle, ctypes.c_int, ctypes.c_int32, ctypes.POINTER(_TensorInfo)]),
    "wkvc_workspace_bytes": (ctypes.c_int, [Handle, _Int64, _Int64, _Int64, ctypes.POINTER(_Int64)]),
    "wkvc_sequences_workspace_bytes": (
        ctypes.c_int,
        [Handle, ctypes.POINTER(Sequences), _Int64, _Int64, ctypes.POINTER(_Int64)],
    ),
    "wkvc_saved_bytes": (
        ctypes.c_int,
        [Handle, _Int64, _Int64, _Int64, ctypes.POINTER(Sequences), ctypes.POINTER(_Int64)],
    ),
    "wkvc_saved_count": (ctypes.c_int32, [Handle]),
    "wkvc_saved_at": (ctypes.c_int, [Handle, ctypes.c_int32, ctypes.POINTER(_SavedInfo)]),
    "wkvc_launch_parts": (
        ctypes.c_int,
        [Handle, ctypes.c_int, _Int64, _Int64, _Int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int32]
        + [ctypes.c_void_p] * 3
        + [ctypes.c_int],
    ),
    "wkvc_command": (ctypes.c_int32, [ctypes.c_int32, ctypes.POINTER(ctypes.c_char_p)]),
}


PATH = Path(__file__).resolve().parent / "libwkvc.so"

# Why the loader refuses a library, by parts of its message, and what to do.
_REMEDIES = (
    (
        "GLIBCXX_|CXXABI_",
        "The C++ library libstdc++.so.6 that this process uses is older than gcc 11's: install a newer one "
        "(conda: conda install -c conda-forge libstdcxx-ng), or do not put an older one before it",
    ),
    (
        "GLIBC_",
        "The C library here is older than 2.34: use Ubuntu 22.04, Debian 12, RHEL 9 or a later system, or build wkvc "
        "from its source",
    ),
    ("noexec|failed to map segment", "Install wkvc on a file system that is not mounted noexec"),
    ("wrong ELF class|invalid ELF header|file too short", "wkvc is for Linux on x86-64. Install the package again"),
    ("No such file", "The package lacks its library, or the library needs one that is not there. Install it again"),
    ("annot allocate memory", "Free memory, or raise the limit of it"),
    ("", "Install the package again"),
)


def _reason(error: OSError) -> str:
    """What the loader said, and what to do."""
    remedy = next(remedy for pattern, remedy in _REMEDIES if re.search(pattern, str(error)))
    return f"wkvc cannot load {PATH}: {error}. {remedy}."


def _load() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(PATH))
    except OSError as error:
        raise ImportError(_reason(error)) from error
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_library = _load()
launch = _library.wkvc_launch_parts  # returns a status for `check`


def check(status: int) -> None:
    """Raises what the status of this thread's last call says."""
    if status == 0:
        return
    message = _library.wkvc_message().decode()
    if status == USER_ERROR:
        raise ValueError(message)
    if status == _OUT_OF_MEMORY:
        raise MemoryError(message)
    raise RuntimeError(message)


def version() -> str:
    return _library.wkvc_version().decode()


def runs_on(compute_capability: tuple[int, int]) -> bool:
    """Whether a GPU of this compute capability runs the kernels."""
    return bool(_library.wkvc_runs_on(*compute_capability))


def prepare(text: str, options: str, target: int) -> Handle:
    """Compiles the kernels of a recurrence, or finds them."""
    handle = Handle()
    check(_library.wkvc_prepare(text.encode(), options.encode(), target, ctypes.byref(handle)))
    return handle


def emit(recurrence: str, options: str, stage: str = "rec") -> str:
    """The text of a stage."""
    text = ctypes.c_char_p()
    check(_library.wkvc_emit(recurrence.encode(), options.encode(), stage.encode(), ctypes.byref(text)))
    assert text.value is not None
    return text.value.decode()


def names() -> list[str]:
    """The names of the built-in recurrences."""
    text = ctypes.c_char_p()
    check(_library.wkvc_names(ctypes.byref(text)))
    assert text.value is not None
    return text.value.decode().split()


def signature(recurrence: str, options: str = "") -> dict[str, Any]:
    """The name, the head and the tensors of a recurrence, as jit/signature.h has them."""
    text = ctypes.c_char_p()
    check(_library.wkvc_signature(recurrence.encode(), options.encode(), ctypes.byref(text)))
    assert text.value is not None
    return json.loads(text.value)


def tensors(handle: Handle, direction: int) -> list[TensorInfo]:
    """The tensors that a pass takes, in its order."""
    infos = []
    for index in range(_library.wkvc_tensor_count(handle, direction)):
        info = _TensorInfo()
        check(_library.wkvc_tensor_at(handle, direction, index, ctypes.byref(info)))
        dims = tuple(info.dims.decode().split())
        infos.append(TensorInfo(info.name.decode(), dims, info.dtype, bool(info.is_result), bool(info.is_optional)))
    return infos


def saved(handle: Handle) -> list[SavedInfo]:
    """The tensors that the forward pass leaves for the backward pass."""
    infos = []
    for index in range(_library.wkvc_saved_count(handle)):
        info = _SavedInfo()
        check(_library.wkvc_saved_at(handle, index, ctypes.byref(info)))
        infos.append(SavedInfo(info.tokens, info.bytes))
    return infos


def memory(handle: Handle, batches: int, tokens: int, heads: int, sequences: Sequences | None) -> tuple[int, int]:
    """Bytes that the forward pass leaves for the backward pass, and bytes that a pass needs while it runs."""
    whole, kept = _Int64(), _Int64()
    if sequences is None:
        check(_library.wkvc_workspace_bytes(handle, batches, tokens, heads, ctypes.byref(whole)))
    else:
        check(_library.wkvc_sequences_workspace_bytes(handle, sequences, tokens, heads, ctypes.byref(whole)))
    check(_library.wkvc_saved_bytes(handle, batches, tokens, heads, sequences, ctypes.byref(kept)))
    return kept.value, whole.value - kept.value


def command(arguments: list[str]) -> int:
    """Runs the wkvc command; returns its exit status."""
    words = ["wkvc", *arguments]
    values = (ctypes.c_char_p * (len(words) + 1))(*(word.encode() for word in words), None)
    return _library.wkvc_command(len(words), values)
