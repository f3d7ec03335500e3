#!/usr/bin/env python3
"""Trains small models of transformers and of flash-linear-attention twice, with their kernels and with wkvc.

    bench/training/train_models.py --device cuda --steps 100
    bench/training/train_models.py --device cpu --steps 5 --models qwen3_next mamba2 --width 32 --head 16 --tokens 64

Both runs have the same weights and batches. The losses of both stand side by side, then come the largest relative
difference, tokens a second, and what ran on wkvc. On a CPU the kernels of transformers are its loops in PyTorch, and
flash-linear-attention does not run.
"""
import argparse
import contextlib
import statistics
import time

import models
import torch
import training

import wkvc.fla
import wkvc.transformers

WARM_UP = 3  # steps, in which kernels compile


def main():
    args = arguments()
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
    theirs, their_rate = train(name, args)
    wkvc.fla.enable() if name in models.FLA else wkvc.transformers.enable()
    ours, our_rate = train(name, args)
    disable()
    for step in range(0, args.steps, max(1, args.steps // 10)):
        print(f"{name} step {step}: loss {theirs[step]:.5f}, with wkvc {ours[step]:.5f}")
    worst = max(abs(a - b) / abs(b) for a, b in zip(ours, theirs, strict=True))
    rates = f"{their_rate:,.0f} tokens/s, with wkvc {our_rate:,.0f}"
    print(f"{name}: losses differ by {worst:.1e} at most, last {theirs[-1]:.5f} and {ours[-1]:.5f}; {rates}", flush=True)


def disable():
    wkvc.transformers.disable()
    wkvc.fla.disable()


def train(name, args):
    """The losses of all steps, and tokens a second of the median step."""
    dtype = getattr(torch, args.dtype or ("bfloat16" if args.device == "cuda" else "float32"))
    torch.manual_seed(0)
    model = models.make(name, args.width, args.head, args.layers).to(args.device, dtype)
    loops = models.loops(model, wkvc.transformers.TABLE) if is_plain(args) else contextlib.nullcontext()
    data = training.text_bytes(args.steps * args.batch * args.tokens)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
    batches = torch.Generator().manual_seed(0)
    losses, seconds = [], []
    with loops:
        for _ in range(args.steps):
            starts = torch.randint(len(data) - args.tokens, (args.batch,), generator=batches).tolist()
            ids = torch.stack([data[start : start + args.tokens] for start in starts]).long().to(args.device)
            begin = time.perf_counter()
            logits = model(ids, use_cache=False).logits
            loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(loss.item())
            seconds.append(time.perf_counter() - begin)
    return losses, args.batch * args.tokens / statistics.median(seconds[WARM_UP:] or seconds)


def is_plain(args):
    """Whether transformers runs its loops: on a CPU, without wkvc."""
    return args.device == "cpu" and not wkvc.transformers.is_enabled()


if __name__ == "__main__":
    main()
