#!/usr/bin/env python3
"""Trains small models of transformers and of flash-linear-attention twice, with their kernels and with wkvc.

    bench/training/train_models.py --device cuda --steps 100
    bench/training/train_models.py --device cpu --steps 5 --models qwen3_next mamba2 --width 32 --head 16 --tokens 64

Both runs have the same weights and batches. The losses of both stand side by side, then come the largest relative
difference, tokens a second, and what ran on wkvc. On a CPU the kernels of transformers are its loops in PyTorch, and
flash-linear-attention does not run. Those of Mamba-2 are loops in PyTorch wherever mamba_ssm is not installed.
"""
import argparse
import contextlib
import statistics
import sys
import time
from unittest import mock

import models
import torch
import training

import wkvc.fla
import wkvc.mamba
import wkvc.transformers

WARM_UP = 3  # steps, in which kernels compile


def main():
    args = arguments()
    wkvc.mamba.stand_in()  # flash-linear-attention's Mamba-2 has no kernels of its own
    for name in args.models or models.available():
        if args.device == "cpu" and name in models.FLA:
            continue
        try:
            compare(name, args)
        except Exception as error:  # the next model may train
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    wkvc.transformers.report()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=[*models.TRANSFORMERS, *models.FLA], help="all that are installed")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--dtype", choices=["bfloat16", "float32"], help="bfloat16 on a GPU, float32 on a CPU")
    for option, value in {"steps": 100, "batch": 4, "tokens": 1000, "width": 256, "head": 64, "layers": 2}.items():
        parser.add_argument(f"--{option}", type=int, default=value)
    return parser.parse_args()


def compare(name, args):
    disable()
    theirs, their_rate = train(name, "original", args)
    before = calls_on_wkvc()
    wkvc.fla.enable() if name in models.FLA else wkvc.transformers.enable()
    ours, our_rate = train(name, "wkvc", args)
    disable()
    for step in range(0, args.steps, max(1, args.steps // 10)):
        print(f"{name} step {step}: loss {theirs[step]:.5f}, with wkvc {ours[step]:.5f}")
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    rates = f"{their_rate:,.0f} tokens/s, with wkvc {our_rate:,.0f}"
    ran = f"{(calls_on_wkvc() - before) / args.steps:g} calls a step ran on wkvc"
    print(f"{name}: losses differ by {worst:.1e} at most, last {theirs[-1]:.5f} and {ours[-1]:.5f}; {rates}; {ran}",
          flush=True)


def calls_on_wkvc():
    with contextlib.redirect_stdout(None):
        lines = wkvc.fla.report().splitlines()
    return sum(int(line.split()[0]) for line in lines if line.endswith(": on wkvc"))


def disable():
    wkvc.transformers.disable()
    wkvc.fla.disable()


def train(name, kernels, args):
    """The losses of all steps, and tokens a second of the median step."""
    dtype = getattr(torch, args.dtype or ("bfloat16" if args.device == "cuda" else "float32"))
    torch.manual_seed(0)
    model = models.make(name, args.width, args.head, args.layers).to(args.device, dtype)
    data = training.text_bytes(args.steps * args.batch * args.tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    batches = torch.Generator().manual_seed(0)
    losses, seconds = [], []
    with originals(model, args) if kernels == "original" else contextlib.nullcontext():
        for _ in range(args.steps):
            ids = training.batch_of(data, args.batch, args.tokens, batches).to(args.device)
            begin = time.perf_counter()
            losses.append(training.step_of(model, optimizer, lambda x: model(x, use_cache=False).logits, ids))
            seconds.append(time.perf_counter() - begin)
    return losses, args.batch * args.tokens / statistics.median(seconds[WARM_UP:] or seconds)


@contextlib.contextmanager
def originals(model, args):
    """Keeps wkvc, which stands in for mamba_ssm, out of models; and Triton on a CPU."""
    names = [name for name in wkvc.transformers.NAMES if args.device == "cpu" or name.startswith("mamba2")]
    layers = sys.modules.get("fla.layers.mamba2")
    fast = mock.patch.object(layers, "is_fast_path_available", False) if layers else contextlib.nullcontext()
    is_installed = hasattr(sys.modules["mamba_ssm"], "__file__")
    with contextlib.nullcontext() if is_installed else fast, models.loops(model, names):
        yield


if __name__ == "__main__":
    main()
