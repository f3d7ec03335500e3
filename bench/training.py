"""A training run on bytes of text, what it measures, and a plot of several: shared by train_fla.py and train_rwkv_lm.py."""
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


def arguments(description, kernels):
    """A parser of the command line; the first of `kernels` are those that wkvc is compared with."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", choices=kernels, default=kernels[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", help="where the losses and tokens a second go")
    parser.add_argument("--plot", nargs="+", metavar="FILE", help="an SVG, and the JSON files of runs; nothing is trained")
    return parser


def train(args, model, logits_of):
    """Trains `model` on the GPU, in bfloat16; `logits_of` are those of the model for bytes."""
    data = text_bytes(args.steps * BATCH * TOKENS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, betas=(0.9, 0.95))
    batches = torch.Generator().manual_seed(args.seed)
    losses, seconds = [], []
    for step in range(args.steps):
        starts = torch.randint(len(data) - TOKENS, (BATCH,), generator=batches).tolist()
        ids = torch.stack([data[start : start + TOKENS] for start in starts]).long().cuda()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        logits = logits_of(ids)
        loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())
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
    found = {"kernels": args.kernels, "seed": args.seed, "gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
             "tokens_per_second": rate, "losses": losses}
    if args.json:
        Path(args.json).write_text(json.dumps(found) + "\n")


def smooth(losses, width=10):
    return [statistics.mean(losses[max(0, i - width + 1) : i + 1]) for i in range(len(losses))]


def plot(file, files):
    """Losses over steps of the runs in JSON files, the mean of ten steps, as SVG."""
    runs = [json.loads(Path(name).read_text()) for name in files]
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
