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
COLOURS = ("tab:gray", "silver", "tab:red", "tab:blue")


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


def batch_of(data, batch, tokens, generator):
    """Rows of bytes that begin anywhere, as numbers."""
    starts = torch.randint(len(data) - tokens, (batch,), generator=generator).tolist()
    return torch.stack([data[start : start + tokens] for start in starts]).long()


def step_of(model, optimizer, logits_of, ids):
    """One step on the loss of the next byte, which is returned."""
    logits = logits_of(ids)
    loss = torch.nn.functional.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten())
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return loss.item()


def train(args, model, logits_of):
    """Trains `model` on the GPU, in bfloat16; `logits_of` are those of the model for bytes."""
    data = text_bytes(args.steps * BATCH * TOKENS)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, betas=(0.9, 0.95))
    batches = torch.Generator().manual_seed(args.seed)
    losses, seconds = [], []
    for step in range(args.steps):
        ids = batch_of(data, BATCH, TOKENS, batches).cuda()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        losses.append(step_of(model, optimizer, logits_of, ids))
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
    """Draws losses over steps of the runs in JSON files, the mean of ten steps."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(8, 4.2))
    for name, colour in zip(files, COLOURS, strict=False):
        run = json.loads(Path(name).read_text())
        label = f"{run['kernels']} seed {run['seed']}: {run['tokens_per_second']:,.0f} tokens/s"
        axis.plot(smooth(run["losses"]), color=colour, label=label, linewidth=1.2)
    axis.set(xlabel="step", ylabel="loss of the next byte, mean of ten steps", yscale="log")
    axis.yaxis.set_major_formatter("{x:.1f}")
    axis.yaxis.set_minor_formatter("{x:.1f}")
    axis.grid(alpha=0.3)
    axis.legend()
    figure.tight_layout()
    figure.savefig(file)
