"""wkvc in processes that are forked, stopped or started in odd places, and libraries that do not load."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wkvc
from conftest import rwkv7_inputs
from wkvc import _check, _library

CALL = """
import multiprocessing, os, signal
import torch
import wkvc

def call(_: int = 0) -> None:
    tensors = [torch.randn(1, 16, 1, 16) for _ in range(6)]
    o, _ = wkvc.rwkv7(*tensors)
    assert o.isfinite().all()
"""


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs Python with its temporary files in a folder."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [sys.executable, "-c", CALL + script]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("call()", 0),
        ("call(); os._exit(5)", 5),
        ("call(); os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("pid = os.fork()\nif pid == 0:\n    call()\n    os._exit(0)\nos._exit(os.waitpid(pid, 0)[1])", 0),
        ("with multiprocessing.get_context('fork').Pool(2) as pool: pool.map(call, range(4))", 0),
        ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)\ncall()", 0),
    ],
)
def test_nothing_is_left_behind(script: str, status: int, tmp_path: Path) -> None:
    result = run(script, tmp_path)
    assert result.returncode == status, result.stderr
    assert not [*tmp_path.glob("wkvc*")]


def test_a_forked_process_leaves_the_files_of_its_parent(tmp_path: Path) -> None:
    """Those are there as long as flags ask for debugging."""
    script = """
os.environ["WKVC_HOST_CXXFLAGS"] = "-O0 -g1"
call()
pid = os.fork()
if pid == 0:
    raise SystemExit(0)
os.waitpid(pid, 0)
print(len([name for name in os.listdir(os.environ["TMPDIR"]) if name.startswith("wkvc")]))
"""
    result = run(script, tmp_path)
    assert result.stdout == "1\n", result.stderr
    assert not [*tmp_path.glob("wkvc*")]


def test_an_interrupt_ends_the_command(tmp_path: Path) -> None:
    compiler, started, temporary = tmp_path / "compiler", tmp_path / "started", tmp_path / "temporary"
    compiler.write_text(f"#!/bin/sh\n: > {started}\nexec sleep 300\n")
    compiler.chmod(0o700)
    temporary.mkdir()
    environment = {**os.environ, "TMPDIR": str(temporary), "CXX": str(compiler)}
    command = [sys.executable, "-m", "wkvc", "check", "rwkv7", "--device", "cpu", "--shape", "1,16,1"]
    with subprocess.Popen(command, env=environment) as process:
        while not started.exists() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait() == 128 + signal.SIGINT
    assert not [*temporary.iterdir()]


def test_check_needs_no_path_to_wkvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the working directory nor Python's variables count."""
    (tmp_path / "wkvc").mkdir()
    for name in ("random.py", "json.py", "ctypes.py", "wkvc/__init__.py", "wkvc/__main__.py"):
        (tmp_path / name).write_text("raise SystemExit(1)\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ".")
    inputs = dict(zip("rwkvab", rwkv7_inputs(), strict=True))
    assert wkvc.check(wkvc.rwkv7, inputs, mma="f32").passed


def test_a_check_that_is_killed_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "_SCRIPT", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    inputs = dict(zip("rwkvab", rwkv7_inputs(), strict=True))
    with pytest.raises(RuntimeError, match=r"the process of wkvc\.check ended with -9"):
        wkvc.check(wkvc.rwkv7, inputs)


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("/lib64/libc.so.6: version `GLIBC_2.34' not found (required by x.so)", "C library here is older than 2.34"),
        ("/lib/libstdc++.so.6: version `GLIBCXX_3.4.29' not found (required by x.so)", "conda install"),
        ("/lib/libstdc++.so.6: version `CXXABI_1.3.13' not found (required by x.so)", "conda install"),
        ("x.so: cannot open shared object file: No such file or directory", "Install it again"),
        ("x.so: failed to map segment from shared object", "not mounted noexec"),
        ("x.so: wrong ELF class: ELFCLASS64", "for Linux on x86-64"),
        ("x.so: cannot allocate memory in static TLS block", "Free memory"),
        ("something else", "Install the package again"),
    ],
)
def test_a_library_that_does_not_load_says_why(said: str, remedy: str) -> None:
    message = _library._reason(OSError(said))
    assert message.startswith(f"wkvc cannot load {_library.PATH}: {said}. ")
    assert remedy in message
    assert "pip install ." not in message
