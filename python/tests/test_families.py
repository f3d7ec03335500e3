"""Operators of recurrences from texts: names of their inputs, files, threads and modules that are loaded again."""

import importlib
import io
import itertools
import keyword
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import wkvc
from conftest import KEYS, gradients, rwkv7_inputs
from test_values import GATED_DELTA_NET

numbers = itertools.count()


def new_text() -> str:
    """A recurrence that this process has no operators of."""
    return GATED_DELTA_NET.replace("@delta", f"@delta{next(numbers)}")


def inputs() -> list[torch.Tensor]:
    q, k, v = (rwkv7_inputs()[place] for place in (0, 2, 3))
    gates = [torch.randn(q.shape[:-1], generator=torch.Generator().manual_seed(n)).requires_grad_() for n in range(2)]
    return [q, torch.nn.functional.normalize(k.detach(), dim=-1).requires_grad_(), v, *gates]


def renamed(text: str, old: str, new: str) -> str:
    return text.replace(f'"{old}"', f'"{new}"')


# Words of Python that wkvc takes as names, and arguments that operators have beside the inputs.
NAMES = ["in", "is", "None", "True", "with", "def", "pass", "global", "raise", "self", "saved", "do_"]


@pytest.mark.parametrize("name", NAMES)
def test_inputs_of_any_name(name: str) -> None:
    given, plain = inputs(), wkvc.op(GATED_DELTA_NET)
    op = wkvc.op(renamed(GATED_DELTA_NET, "decay", name))
    assert op.inputs == ("q", "k", "v", name, "gate")
    o, _ = op(*given[:3], gate=given[4], **{name: given[3]})
    expected, _ = plain(*given)
    assert isinstance(o, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert torch.equal(o, expected)
    for found, gradient in zip(gradients([o], given), gradients([expected], given), strict=True):
        assert torch.equal(found, gradient)


def test_every_word_of_python_that_the_command_takes() -> None:
    for name in (*keyword.kwlist, *keyword.softkwlist, "in_", "out", "Tensor", "inf", "nan"):
        text = renamed(renamed(GATED_DELTA_NET, "decay", name), "gate", f"{name}_")
        try:
            wkvc._library.emit(text, "")
        except ValueError:
            continue  # a word of C++
        assert wkvc.op(text).inputs[3:] == (name, f"{name}_")


@pytest.mark.parametrize("name", ["ef", "el", "r", "s"])
def test_outputs_of_any_name(name: str) -> None:
    """Whose gradients are called "def" and "del"."""
    op = wkvc.op(renamed(GATED_DELTA_NET, "o", name))
    o, _ = op(*(tensor.detach() for tensor in inputs()))
    assert isinstance(o, torch.Tensor)


def test_files_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("{a}.mlir", "{", "rec.recurrence {}"):
        Path(name).write_text(GATED_DELTA_NET, encoding="utf-8")
        assert wkvc.op(name).text == wkvc.op(GATED_DELTA_NET).text
        assert wkvc.op(tmp_path / name).text == wkvc.op(GATED_DELTA_NET).text
    with pytest.raises(ValueError, match=r"expected the text of a recurrence .*, not: '\{b\}\.mlir'"):
        wkvc.op("{b}.mlir")


def of_another_process(name: str, write: Callable[[Any], bytes]) -> bytes:
    """An operator as a process has written it whose recurrence has this name, of as many letters as "delta"."""
    return write(wkvc.op(GATED_DELTA_NET)).replace(b"@delta ", f"@{name} ".encode())


def saved_by_torch(op: Any) -> bytes:
    file = io.BytesIO()
    torch.save(op, file, _use_new_zipfile_serialization=False)
    return file.getvalue()


@pytest.mark.parametrize("way", ["op", "pickle", "torch.load"])
def test_threads_make_an_operator_once(way: str) -> None:
    text = new_text()
    pickled = of_another_process("gamma", pickle.dumps)
    saved = of_another_process("omega", saved_by_torch)
    makes = {
        "op": lambda: wkvc.op(text),
        "pickle": lambda: pickle.loads(pickled),
        "torch.load": lambda: torch.load(io.BytesIO(saved), weights_only=False),
    }
    barrier, found, errors = threading.Barrier(8), [], []

    def run() -> None:
        barrier.wait()
        try:
            found.append(makes[way]())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len({id(op.family) for op in found}) == 1


@pytest.mark.parametrize("name", ["_rwkv", "_recurrence", "_decode", "_slots", "_check", "fla", "rwkv_lm"])
def test_modules_are_loaded_again(name: str) -> None:
    importlib.reload(importlib.import_module(f"wkvc.{name}"))
    tokens = [tensor.detach()[:, :1] for tensor in rwkv7_inputs()]
    states = torch.zeros(tokens[3].shape[0], tokens[3].shape[2], tokens[3].shape[3], KEYS)
    o = wkvc.decode(wkvc.rwkv7, *tokens, states=states)
    expected, _ = wkvc.rwkv7(*tokens, mma="f32")
    assert isinstance(o, torch.Tensor)
    torch.testing.assert_close(o, expected, rtol=1e-5, atol=1e-5)
    assert wkvc.op(GATED_DELTA_NET).family is wkvc.op(GATED_DELTA_NET).family
