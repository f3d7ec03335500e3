#!/usr/bin/env python3
"""Times RWKV-7's time mixing, both passes, as it is and under torch.compile(fullgraph=True).

    bench/training/time_mix.py --json time_mix.json

Blocks are examples/time_mix.py and, where flash-linear-attention is installed, its layer with its own kernels. Needs a
GPU and the package wkvc.
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from time_mix import TimeMix  # noqa: E402


def fla_block(channels):
    from fla.layers import RWKV7Attention

    layer = RWKV7Attention(hidden_size=channels, head_dim=64, layer_idx=0, num_hidden_layers=12, value_dim=channels)
    return lambda x, layer=layer.to("cuda", torch.bfloat16): layer(x)[0]


def milliseconds(block, x, rounds=30):
    """The median time of both passes."""
    times = []
    for _ in range(rounds + 5):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        block(x).square().mean().backward()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[5:])


def measure(block, x):
    found = {}
    for name in ("eager", "compiled"):
        try:
            found[name] = milliseconds(torch.compile(block, fullgraph=True) if name == "compiled" else block, x)
        except Exception as fault:  # whatever a graph break raises
            found[name] = f"{type(fault).__name__}: {fault}".split("\n")[0][:200]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", default="8,4096,768", help="batches, tokens, channels (8,4096,768)")
    parser.add_argument("--json")
    args = parser.parse_args()
    B, T, C = map(int, args.shape.split(","))
    x = torch.randn(B, T, C, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    found = {"wkvc": measure(TimeMix(C).to("cuda", torch.bfloat16), x)}
    try:
        found["flash-linear-attention"] = measure(fla_block(C), x)
    except ImportError as fault:
        print(fault)
    for name, times in found.items():
        print(f"{name}: {times}", flush=True)
    if args.json:
        Path(args.json).write_text(json.dumps({"gpu": torch.cuda.get_device_name(), "shape": args.shape, **found}) + "\n")


if __name__ == "__main__":
    main()
