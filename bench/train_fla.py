#!/usr/bin/env python3
"""Trains flash-linear-attention's RWKV-7 on bytes of text, with its kernels or with wkvc: losses and tokens a second.

    bench/train_fla.py --kernels fla --seed 0 --json fla0.json
    bench/train_fla.py --kernels fla --seed 1 --json fla1.json
    bench/train_fla.py --kernels wkvc --seed 0 --json wkvc0.json
    bench/train_fla.py --plot curves.svg fla0.json fla1.json wkvc0.json

Needs a GPU, flash-linear-attention 0.6.0 with transformers, and einops. The text is the Python library's own sources, in
one order. Equal seeds give equal models and equal batches. Times leave out the first steps, in which kernels compile.
"""
import argparse
import json
import statistics
import sysconfig
import time
from pathlib import Path

import torch

WIDTH, LAYERS, BATCH, TOKENS, HEAD = 768, 12, 8, 4096, 64
WARM_UP = 20  # steps
COLOURS = ("#888888", "#bbbbbb", "#c0392b", "#2980b9")


def text_bytes(least):
    """Bytes of the Python library's files, at least so many."""
    data = bytearray()
    for file in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        data += file.read_bytes()
        if len(data) > least:
            break
    if len(data) <= least:
        raise SystemExit(f"the Python library has {len(data)} bytes of text, {least} are needed: fewer --steps")
    return torch.frombuffer(data, dtype=torch.uint8)


def new_model():
    from fla.models import RWKV7Config, RWKV7ForCausalLM

    config = RWKV7Config(vocab_size=256, hidden_size=WIDTH, num_hidden_layers=LAYERS, head_dim=HEAD)
    return RWKV7ForCausalLM(config)


def loss_of(model, ids):
    """The mean loss of the next byte."""
    logits = model(ids).logits
    return torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())


def train(args):
    if args.kernels == "wkvc":
        import wkvc.fla

        wkvc.fla.enable()
    data = text_bytes(args.steps * BATCH * TOKENS)
    torch.manual_seed(args.seed)
    model = new_model().to("cuda", torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, betas=(0.9, 0.95))
    batches = torch.Generator().manual_seed(args.seed)
    losses, seconds = [], []
    for step in range(args.steps):
        starts = torch.randint(len(data) - TOKENS, (BATCH,), generator=batches).tolist()
        ids = torch.stack([data[start : start + TOKENS] for start in starts]).long().cuda()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        loss = loss_of(model, ids)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - begin)
        if step % 20 == 0:
            print(f"{args.kernels} seed {args.seed} step {step}: loss {losses[-1]:.4f}, {seconds[-1]:.3f} s", flush=True)
    rate = BATCH * TOKENS / statistics.median(seconds[WARM_UP:])
    print(f"{args.kernels} seed {args.seed}: {rate:,.0f} tokens/s, last losses {statistics.mean(losses[-20:]):.4f}")
    if args.kernels == "wkvc":
        wkvc.fla.report()
    found = {"kernels": args.kernels, "seed": args.seed, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
             "tokens_per_second": rate, "losses": losses}
    if args.json:
        Path(args.json).write_text(json.dumps(found) + "\n")


def smooth(losses, width=10):
    return [statistics.mean(losses[max(0, i - width + 1) : i + 1]) for i in range(len(losses))]


def plot(file, runs):
    """Losses over steps, the mean of ten steps, as SVG."""
    width, height, left, top, bottom = 720, 380, 50, 20, 40
    curves = [(run, smooth(run["losses"])) for run in runs]
    low = min(min(curve) for _, curve in curves)
    high = max(max(curve[5:]) for _, curve in curves)
    steps = max(len(curve) for _, curve in curves)

    def at(step, loss):
        x = left + (width - left - 10) * step / max(1, steps - 1)
        return f"{x:.1f},{top + (height - top - bottom) * (high - min(loss, high)) / (high - low):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for i in range(5):
        loss = low + (high - low) * i / 4
        y = at(0, loss).split(",")[1]
        parts.append(f'<text x="{left - 6}" y="{y}" text-anchor="end">{loss:.2f}</text>')
        parts.append(f'<line x1="{left}" x2="{width - 10}" y1="{y}" y2="{y}" stroke="#eeeeee"/>')
    parts.append(f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">step (loss of the next byte, mean of ten steps)</text>')
    for n, (run, curve) in enumerate(curves):
        points = " ".join(at(step, loss) for step, loss in enumerate(curve))
        label = f"{run['kernels']} seed {run['seed']}: {run['tokens_per_second']:,.0f} tokens/s"
        parts.append(f'<polyline fill="none" stroke="{COLOURS[n % len(COLOURS)]}" points="{points}"/>')
        parts.append(f'<text x="{width - 20}" y="{top + 16 + 16 * n}" text-anchor="end" fill="{COLOURS[n % len(COLOURS)]}">{label}</text>')
    Path(file).write_text("\n".join([*parts, "</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", choices=["fla", "wkvc"], default="wkvc")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json")
    parser.add_argument("--plot", nargs="+", metavar="FILE", help="an SVG, and the JSON files of runs")
    args = parser.parse_args()
    if args.plot:
        plot(args.plot[0], [json.loads(Path(file).read_text()) for file in args.plot[1:]])
    else:
        train(args)


if __name__ == "__main__":
    main()
