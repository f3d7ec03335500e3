#!/usr/bin/env python3
"""Times wkvc, flash-linear-attention and a copy of as many bytes in one run, interleaved, with errors beside the times.

    bench/compare.py --library build/jit/libwkvc.so --json times.json --plot times.svg
    bench/compare.py --shapes rwkv7,8,1024,12,64 rwkv7,8,4096,12,64 --json sizes.json --curves sizes.svg
    bench/compare.py --drawn sizes.json --curves sizes.svg    # measures nothing

Needs a GPU, PyTorch and flash-linear-attention, which tunes itself for minutes on the first call. Each of its settings
in peers.py is timed, and the fastest one is what wkvc is compared with. The TileLang back end needs tilelang and nvcc;
a setting that does not run here is named with the reason. Times are medians of GPU events around one call. Before the
call a kernel keeps the GPU busy until the call is queued. Inputs are larger than the L2. Errors are ‖x−ref‖/‖ref‖ of
two heads, against the float64 recurrence and its gradients token by token.
"""
import argparse
import json
import math
from typing import NamedTuple

import torch

from c_interface import PASSES, Wkvc, open_library, run_script
from peers import PEERS, contestant, environment_of, memory_beside, reason_of, reference_of, results_of
from recurrences import RECURRENCES, draw
from reference import Reference
from timing import copy_of, sets_of, times_of

ROWS = [("rwkv7", 8, 4096, 64, 64), ("rwkv7", 1, 4096, 64, 64), ("rwkv7", 1, 32768, 32, 64), ("rwkv7", 8, 4096, 32, 128),
        ("rwkv7", 4, 2048, 12, 64), ("rwkv6", 8, 4096, 64, 64), ("rwkv6", 1, 4096, 64, 64)]


class Measured(NamedTuple):
    """Calls that take the number of a set of inputs, the results of set 0, and bytes beside inputs and results."""
    forward: object
    both: object
    results: dict
    extra_bytes: int


def wkvc_calls(args, library, op, shape, sets):
    B, T, H, D = shape
    options = f"--shape {B},{T},{H} --head {D} {args.options}"
    forward_only, training = (Wkvc(library, op, f"{options} --pass {p}", (B, T, H)) for p in ("forward", "both"))
    outputs = [dict(x) for x in sets]
    f = [forward_only.bind(0, x, D) for x in outputs]
    tf = [training.bind(0, x, D) for x in outputs]
    tb = [training.bind(1, x, D) for x in outputs]
    tf[0](), tb[0]()
    return Measured(lambda i: f[i](), lambda i: (tf[i](), tb[i]()), outputs[0], training.workspace.numel())


def peer_calls(peer, size, sets):
    calls = contestant(peer, size, sets)
    calls.forward(0), calls.both(0)
    extra = memory_beside(calls.both)
    return Measured(*calls, results_of(peer, *calls.both(0)), extra)


def measure_peer(peer, shape, sets, reference, rounds):
    """Times and errors of one setting, or why it does not run."""
    try:
        with environment_of(peer):
            it = peer_calls(peer, shape[:3], sets)
            return {"ms": {what: times_of({"fla": getattr(it, what)}, len(sets), rounds)["fla"] for what in PASSES},
                    "errors": reference.errors_of(it.results), "extra_bytes": it.extra_bytes}
    except Exception as fault:  # whatever a missing tilelang, nvcc or an unsupported size raises
        return {"fault": reason_of(fault)}
    finally:
        torch.cuda.empty_cache()


def copies(x):
    """For each pass a call that copies as many bytes as inputs and results are."""
    output = x["do"].nbytes
    tokens = sum(t.nbytes for name, t in x.items() if t.dim() > 2 and name != "do")
    # Forward: inputs and o. Backward: those again with do, and a gradient for each input.
    return {"forward": copy_of(tokens + output), "both": copy_of(3 * tokens + 2 * output)}


def measure(args, library, row):
    op, *shape = row
    B, T, H, D = shape
    inputs_of = lambda seed: draw(op, (B, T, H), (D, D), "bf16", seed)
    first = inputs_of(0)
    count = sets_of(sum(t.nbytes for name, t in first.items() if name != "do"))
    sets = [first, *(inputs_of(seed) for seed in range(1, count))]
    reference = Reference(RECURRENCES[op], first, (D, D), [(0, 0), (0, H - 1)])
    ours, copy = wkvc_calls(args, library, op, shape, sets), copies(first)
    settings = {}
    peers = {peer.name: peer for peer in PEERS[op] if any(part in peer.name for part in args.fla)}
    for name, peer in peers.items():
        settings[name] = measure_peer(peer, shape, sets, reference_of(peer, first, reference), args.rounds)
        print(f"{title(row)} {name}: {summary(settings[name])}", flush=True)
    ms, best = {}, {}
    for what in PASSES:
        calls = {"wkvc": getattr(ours, what), "copy": copy[what]}
        ran = {name: found["ms"][what] for name, found in settings.items() if "ms" in found}
        if not ran:
            ms[what] = times_of(calls, count, args.rounds)
            continue
        best[what] = min(ran, key=ran.get)  # once more, in turn with wkvc
        with environment_of(peers[best[what]]):
            calls["fla"] = getattr(contestant(peers[best[what]], shape[:3], sets), what)
            ms[what] = times_of(calls, count, args.rounds)
    return {"op": op, "shape": shape, "ms": ms, "errors": reference.errors_of(ours.results),
            "extra_bytes": ours.extra_bytes, "best_fla": best, "fla": settings}


def title(row):
    op, *shape = row
    return f"{op + ' ' + ','.join(map(str, shape)):26}"


def times_text(found):
    return " / ".join(f"{found['ms'][what]:.3f}" for what in PASSES) + " ms"


def summary(found):
    if "fault" in found:
        return "did not run: " + found["fault"]
    errors = found["errors"]
    worst = max((e for n, e in errors.items() if n != "o"), default=math.nan)
    return (f"{times_text(found)}, error of o {errors['o']:.2e}, worst gradient {worst:.2e}, "
            f"extra memory {found['extra_bytes'] / 1e6:.0f} MB")


def report(measured):
    name = title([measured["op"], *measured["shape"]])
    for what, times in measured["ms"].items():
        others = ", ".join(f"{measured['best_fla'][what] if who == 'fla' else who} {t:.3f} ms "
                           f"({t / times['wkvc']:.2f} x)" for who, t in times.items() if who != "wkvc")
        print(f"{name} {what:8} wkvc {times['wkvc']:.3f} ms; {others}", flush=True)
    ours = {**measured, "ms": {what: times["wkvc"] for what, times in measured["ms"].items()}}
    print(f"{name} wkvc: {summary(ours)}", flush=True)


def plot(rows, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 2, figsize=(12, 0.6 * len(rows) + 1.5), sharey=True)
    for axis, what in zip(axes, ("forward", "both")):
        for n, who in enumerate(("wkvc", "fla", "copy")):
            known = [(i, row["ms"][what][who]) for i, row in enumerate(rows) if who in row["ms"][what]]
            axis.barh([i + 0.27 * (n - 1) for i, _ in known], [t for _, t in known], height=0.25, label=who)
        axis.set(xscale="log", xlabel="ms", title="forward" if what == "forward" else "forward + backward")
        axis.set_yticks(range(len(rows)), [f"{row['op']} {','.join(map(str, row['shape']))}" for row in rows])
        axis.legend()
    axes[0].invert_yaxis()
    figure.tight_layout()
    figure.savefig(path)


def curves(rows, path):
    """Times over those of a copy against the size, a curve for each number of heads and batches."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4.6), sharey=True)
    groups = list(dict.fromkeys((row["op"], row["shape"][0], *row["shape"][2:]) for row in rows))
    for axis, what in zip(axes, PASSES):
        for who, colour in (("wkvc", "tab:red"), ("fla", "tab:gray")):
            for group, style in zip(groups, ("-o", "--s", ":^", "-.d")):
                op, B, H, D = group
                points = sorted((row["shape"][1], row["ms"][what][who] / row["ms"][what]["copy"]) for row in rows
                                if (row["op"], row["shape"][0], *row["shape"][2:]) == group and who in row["ms"][what])
                name = "flash-linear-attention" if who == "fla" else who
                axis.plot(*zip(*points), style, color=colour, label=f"{name}, {B} x {H} heads of {D}")
        axis.set(xscale="log", yscale="log", xlabel="tokens of a sequence",
                 title="forward" if what == "forward" else "forward + backward")
        axis.set_xticks(sorted({row["shape"][1] for row in rows}), minor=False)
        axis.set_xticks([], minor=True)
        axis.set_yticks([1, 2, 5, 10, 20, 50], minor=False)
        axis.set_yticks([], minor=True)
        axis.set_ylim(bottom=1)
        for side in (axis.xaxis, axis.yaxis):
            side.set_major_formatter("{x:.0f}")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("time / time of a copy of inputs and results")
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncols=2, fontsize="small", frameon=False)
    figure.savefig(path)


def parsed_row(text):
    op, *shape = text.split(",")
    if op not in ("rwkv7", "rwkv6") or len(shape) != 4 or not all(n.isdigit() for n in shape):
        raise argparse.ArgumentTypeError(f"{text!r}: expected OP,B,T,H,D such as rwkv7,8,4096,64,64")
    return (op, *map(int, shape))


def measured_rows(args):
    library = open_library(args.library)
    chosen = args.shapes or ([ROWS[int(i)] for i in args.rows.split(",")] if args.rows else ROWS)
    rows = []
    for row in chosen:
        rows.append(measure(args, library, row))
        report(rows[-1])
        if args.json:  # after each row: a run that is cut short leaves what it measured
            with open(args.json, "w") as file:
                json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "rows": rows}, file, indent=1)
        torch.cuda.empty_cache()
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--library", default="build/jit/libwkvc.so", help="the shared library of wkvc")
    parser.add_argument("--rows", default="", help="numbers of rows to measure, such as 0,1 (default: all)")
    parser.add_argument("--shapes", nargs="+", type=parsed_row, metavar="OP,B,T,H,D", help="what to measure instead")
    parser.add_argument("--options", default="", help="of wkvc, such as '--segments 4'")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--fla", nargs="*", default=["fla"],
                        help="parts of the names of flash-linear-attention's settings to time, such as Triton (default: "
                             "all; none leaves flash-linear-attention out)")
    parser.add_argument("--json", help="file to write")
    parser.add_argument("--plot", help="file to draw, such as times.svg")
    parser.add_argument("--curves", help="file to draw times over those of a copy to")
    parser.add_argument("--drawn", help="a file of --json to draw, in place of measuring")
    args = parser.parse_args()
    rows = measured_rows(args) if not args.drawn else json.load(open(args.drawn))["rows"]
    for draw_to, path in ((plot, args.plot), (curves, args.curves)):
        if path:
            draw_to(rows, path)


if __name__ == "__main__":
    run_script(main)
