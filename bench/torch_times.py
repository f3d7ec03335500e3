#!/usr/bin/env python3
"""Measures how much PyTorch adds to kernels: times through the package, beside those of the C interface and of the command.

    bench/torch_times.py --json torch_times.json

Needs a GPU and the package wkvc; with flash-linear-attention installed, its host time is measured beside. GPU times are
those of timing.py: medians of events around one call, all contestants in turn. The host's time of a call is that of
calls with few tokens, which the GPU finishes sooner than the host issues them.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import torch

import wkvc
from c_interface import Wkvc, open_library, run_script
from peers import PEERS
from recurrences import draw
from timing import times_of

NAMES = "rwkvab"
FEW = (1, 16, 2, 64)  # batches, tokens, heads, head size


def through_torch(x):
    """Functions of nothing that run the forward pass, and both passes."""
    leaves = {name: x[name].detach().clone().requires_grad_() for name in NAMES}

    def forward():
        with torch.no_grad():
            return wkvc.rwkv7(*leaves.values())

    def both():
        o, _ = wkvc.rwkv7(*leaves.values())
        return torch.autograd.grad(o, list(leaves.values()), x["do"])

    return {"forward": forward, "both": both}


def through_c(x, shape):
    """The same through the C interface, on tensors that are bound before."""
    B, T, H, D = shape
    library = open_library(str(Path(wkvc.__file__).parent / "libwkvc.so"))
    options = f"--shape {B},{T},{H} --head {D}"
    tensors = dict(x)
    forward = Wkvc(library, "rwkv7", f"{options} --pass forward", (B, T, H))
    training = Wkvc(library, "rwkv7", f"{options} --pass both", (B, T, H))
    alone, first, second = (op.bind(d, tensors, D) for op, d in ((forward, 0), (training, 0), (training, 1)))
    keep = (forward, training)
    return {"forward": lambda: (alone(), keep), "both": lambda: (first(), second())}


def through_fla(x):
    try:
        from fla.ops.rwkv7 import chunk_rwkv7
    except ImportError:
        return None
    y = PEERS["rwkv7"][0].inputs(x)
    leaves = [y[name].detach().requires_grad_() for name in NAMES]

    def forward():
        with torch.no_grad():
            return chunk_rwkv7(*leaves)

    return {"forward": forward, "both": lambda: torch.autograd.grad(chunk_rwkv7(*leaves)[0], leaves, x["do"])}


def host_microseconds(function, count=100):
    """The least time of several runs of calls that nothing waits for."""
    for _ in range(10):
        function()
    times = []
    for _ in range(20):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            function()
        times.append((time.perf_counter() - start) / count * 1e6)
    torch.cuda.synchronize()
    return round(min(times), 1)


def command_ms(shape, passes):
    """The median that `wkvc bench` prints."""
    B, T, H, D = shape
    command = [sys.executable, "-m", "wkvc", "bench", "rwkv7", "--shape", f"{B},{T},{H}", "--head", str(D), "--pass", passes]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="8,4096,64", help="batches, tokens, heads (8,4096,64)")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--json")
    args = parser.parse_args()
    shape = (*map(int, args.shape.split(",")), 64)
    x = draw("rwkv7", shape[:3], (shape[3], shape[3]))
    ways = {"PyTorch": through_torch(x), "C": through_c(x, shape)}
    found = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "shape": args.shape, "ms": {}, "host_us": {}}
    for what in ("forward", "both"):
        calls = {name: (lambda _, f=way[what]: f()) for name, way in ways.items()}
        found["ms"][what] = ms = times_of(calls, 1, args.rounds)
        print(f"{what}: through PyTorch {ms['PyTorch']:.4f} ms, through C {ms['C']:.4f}: {ms['PyTorch'] / ms['C']:.3f} times")
        print(command_ms(shape, what), flush=True)
    small = draw("rwkv7", FEW[:3], (FEW[3], FEW[3]))
    ways = {"PyTorch": through_torch(small), "C": through_c(small, FEW), "flash-linear-attention": through_fla(small)}
    for name, way in ways.items():
        if way is not None:
            found["host_us"][name] = {what: host_microseconds(call) for what, call in way.items()}
            print(f"host, {name}: {found['host_us'][name]} us", flush=True)
        if args.json:  # a run that is cut short leaves what it measured
            Path(args.json).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    run_script(main)
