"""Operators through the C interface (jit/wkvc.h) on tensors that are bound before anything is timed."""
import ctypes
import math
import os
import sys

import torch

PASSES = ("forward", "both")


class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dims", ctypes.c_char_p)] + [
        (name, ctypes.c_int32) for name in ("rank", "dtype", "is_result", "is_optional")]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]


class Sequences(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int64), ("layout", ctypes.c_int32), ("starts", ctypes.c_void_p),
                ("slots", ctypes.c_void_p), ("slot_count", ctypes.c_int64), ("shared_heads", ctypes.c_int64),
                ("report", ctypes.c_void_p)]


class WkvcError(Exception):
    """What wkvc refused, in its words."""


def open_library(path):
    library = ctypes.CDLL(path)
    library.wkvc_message.restype = library.wkvc_version.restype = ctypes.c_char_p
    return library


def expect_built(library, recurrences):
    """Ends the program with one line where the library or the program that prints recurrences is not there."""
    for path, target in ((library, "wkvc_shared"), (recurrences, "bench_recurrences")):
        if not os.path.exists(path):
            sys.exit(f"{os.path.basename(sys.argv[0])}: {path} is not there: cmake --build build --target {target}")


def run_script(main):
    """Runs a script; what wkvc refuses becomes one line, and exit status 1."""
    try:
        main()
    except WkvcError as error:
        sys.exit(f"wkvc: {error}")


class Wkvc:
    """An operator, forward and backward, at one size (batches, tokens, heads)."""

    DTYPES = {0: torch.float32, 1: torch.float16, 2: torch.bfloat16}

    def __init__(self, library, recurrence, options, size, device="cuda"):
        """`recurrence` is a name or a text. Raises WkvcError with what wkvc refuses."""
        self.c, self.size, self.device = library, size, device
        self.op = prepared(library, recurrence, options, device)
        bytes_ = ctypes.c_int64()
        self.check(library.wkvc_workspace_bytes(self.op, *map(ctypes.c_int64, size), ctypes.byref(bytes_)))
        self.workspace = torch.empty(bytes_.value, dtype=torch.uint8, device=device)

    def check(self, status):
        check(self.c, status)

    def infos(self, direction):
        for i in range(self.c.wkvc_tensor_count(self.op, direction)):
            info = Info()
            self.check(self.c.wkvc_tensor_at(self.op, direction, i, ctypes.byref(info)))
            yield info

    def bind(self, direction, tensors, keys, values=None, states=True):
        """A call that launches the pass on `tensors`, to which results full of NaN are added, states only if wanted."""
        infos = list(self.infos(direction))
        array, keep = (Tensor * len(infos))(), []
        for slot, info in zip(array, infos):
            name = info.name.decode()
            if name not in tensors and info.is_result and (states or not info.is_optional):
                shape = self.shape_of(info.dims.decode().split(), keys, values or keys)
                tensors[name] = torch.full(shape, math.nan, dtype=self.DTYPES[info.dtype], device=self.device)
            if name not in tensors:
                continue  # a state that is left out
            x = tensors[name]
            shape = (ctypes.c_int64 * x.dim())(*x.shape)
            slot.data, slot.shape, slot.rank, slot.dtype = x.data_ptr(), shape, x.dim(), info.dtype
            keep += [shape, x]  # as long as the call
        function, size = self.launch_at()

        def launch(_keep=keep):
            stream = torch.cuda.current_stream().cuda_stream if self.device == "cuda" else None
            self.check(function(self.op, direction, *size, array, len(infos),
                                ctypes.c_void_p(self.workspace.data_ptr()), ctypes.c_void_p(stream), 0))
        return launch

    def shape_of(self, dims, keys, values):
        """The shape of a tensor with such dimensions."""
        extents = dict(zip("BTH", self.size), K=keys, V=values)
        return [extents[d] for d in dims]

    def launch_at(self):
        """The function that launches a pass, and its arguments that say the size."""
        return self.c.wkvc_launch, [ctypes.c_int64(n) for n in self.size]


class WithSequences(Wkvc):
    """An operator whose launches say more of sequences and heads than a size: a Sequences, `map`."""

    def __init__(self, library, recurrence, options, size, sequences, device="cuda"):
        super().__init__(library, recurrence, options, size, device)
        self.map = sequences
        bytes_ = ctypes.c_int64()
        self.check(library.wkvc_sequences_workspace_bytes(self.op, *self.launch_at()[1], ctypes.byref(bytes_)))
        self.workspace = torch.empty(bytes_.value, dtype=torch.uint8, device=device)

    def shape_of(self, dims, keys, values):
        batches, tokens, heads = self.size
        extents = {"B": batches if "T" in dims else self.map.count, "T": tokens, "H": heads, "K": keys, "V": values,
                   "S": self.map.shared_heads}
        return [extents[d] for d in dims]

    def launch_at(self):
        sizes = [ctypes.c_int64(n) for n in self.size[1:]]
        return self.c.wkvc_launch_sequences, [ctypes.byref(self.map), *sizes]


def prepared(library, recurrence, options, device="cuda"):
    """The operator's handle, compiled now or found."""
    handle = ctypes.c_void_p()
    target = 0 if device == "cuda" else 1
    check(library, library.wkvc_prepare(recurrence.encode(), options.encode(), target, ctypes.byref(handle)))
    return handle


def emitted(library, recurrence, options, stage="cuda"):
    """The text of a stage; raises WkvcError with what wkvc refuses."""
    text = ctypes.c_char_p()
    arguments = (recurrence.encode(), options.encode(), stage.encode(), ctypes.byref(text))
    check(library, library.wkvc_emit(*arguments))
    return text.value.decode()


def check(library, status):
    if status != 0:
        raise WkvcError(library.wkvc_message().decode())
