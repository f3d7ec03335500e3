#!/usr/bin/env python3
"""Times wkvc, flash-linear-attention and a copy of as many bytes in one run, interleaved, with errors beside the times.

    bench/compare.py --library build/jit/libwkvc.so --json times.json --plot times.svg
    bench/compare.py --shapes rwkv7,8,1024,12,64 rwkv7,8,4096,12,64 --json sizes.json --curves sizes.svg
    bench/compare.py --drawn sizes.json --curves sizes.svg    # measures nothing

Needs a GPU, PyTorch and flash-linear-attention, which tunes itself for minutes on the first call. Each of its settings in
FLA_SETTINGS is timed, and the fastest one is what wkvc is compared with. The TileLang back end needs tilelang and nvcc;
a setting that does not run here is named with the reason. Times are medians of GPU events around one call. Before the
call a kernel keeps the GPU busy until the call is queued. Inputs are larger than the L2. Errors are ‖x−ref‖/‖ref‖ of two
heads, against the float64 recurrence and its gradients token by token.
"""
import argparse
import ctypes
import json
import math
import os
import statistics
import sys
import time
from typing import NamedTuple

import torch

ROWS = [("rwkv7", 8, 4096, 64, 64), ("rwkv7", 1, 4096, 64, 64), ("rwkv7", 1, 32768, 32, 64), ("rwkv7", 8, 4096, 32, 128),
        ("rwkv7", 4, 2048, 12, 64), ("rwkv6", 8, 4096, 64, 64), ("rwkv6", 1, 4096, 64, 64)]
PASSES = ("forward", "both")
TOKEN_INPUTS = {"rwkv7": ["r", "w", "k", "a", "b", "v"], "rwkv6": ["r", "w", "k", "v"]}
L2_BYTES = 60 << 20
STEEPEST = -math.exp(-0.5)  # the least log decay of RWKV-7


class FlaSetting(NamedTuple):
    """How flash-linear-attention is called: its name here, whether by the TileLang back end, and arguments."""
    name: str
    tilelang: bool
    arguments: dict


def bounded(chunk):
    return {"lower_bound": STEEPEST, "chunk_size": chunk, "disable_recompute": True}


FLA_SETTINGS = {
    "rwkv7": [FlaSetting("fla Triton, chunk 16", False, {"safe_gate": True}),
              FlaSetting("fla Triton, chunk 64", False, bounded(64)),
              FlaSetting("fla TileLang, chunk 16", True, bounded(16)),
              FlaSetting("fla TileLang, chunk 32", True, bounded(32))],
    "rwkv6": [FlaSetting("fla Triton", False, {}), FlaSetting("fla TileLang", True, {})],
}


class Info(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("dims", ctypes.c_char_p)] + [
        (name, ctypes.c_int32) for name in ("rank", "dtype", "is_result", "is_optional")]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("rank", ctypes.c_int32), ("dtype", ctypes.c_int32)]


class Wkvc:
    """An operator, forward and backward, through the C interface."""

    DTYPES = {0: torch.float32, 1: torch.float16, 2: torch.bfloat16}

    def __init__(self, library, op, options, size):
        self.c, self.size = library, size
        library.wkvc_message.restype = ctypes.c_char_p
        self.op = ctypes.c_void_p()
        self.check(library.wkvc_prepare(op.encode(), options.encode(), 0, ctypes.byref(self.op)))
        bytes_ = ctypes.c_int64()
        self.check(library.wkvc_workspace_bytes(self.op, *map(ctypes.c_int64, size), ctypes.byref(bytes_)))
        self.workspace = torch.empty(bytes_.value, dtype=torch.uint8, device="cuda")

    def check(self, status):
        if status != 0:
            sys.exit("wkvc: " + self.c.wkvc_message().decode())

    def infos(self, direction):
        for i in range(self.c.wkvc_tensor_count(self.op, direction)):
            info = Info()
            self.check(self.c.wkvc_tensor_at(self.op, direction, i, ctypes.byref(info)))
            yield info

    def bind(self, direction, tensors, dim):
        """A call that launches the pass on `tensors`, to which results are added."""
        infos = list(self.infos(direction))
        array, keep = (Tensor * len(infos))(), []
        for slot, info in zip(array, infos):
            name = info.name.decode()
            if name not in tensors and info.is_result:
                shape = self.shape_of(info.dims.decode().split(), dim)
                tensors[name] = torch.full(shape, math.nan, dtype=self.DTYPES[info.dtype], device="cuda")
            if name not in tensors:
                continue  # a state that is left out
            x = tensors[name]
            shape = (ctypes.c_int64 * x.dim())(*x.shape)
            slot.data, slot.shape, slot.rank, slot.dtype = x.data_ptr(), shape, x.dim(), info.dtype
            keep.append(shape)
        function, size = self.launch_at()

        def launch(_keep=keep):
            self.check(function(self.op, direction, *size, array, len(infos),
                                ctypes.c_void_p(self.workspace.data_ptr()),
                                ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), 0))
        return launch

    def shape_of(self, dims, dim):
        """The shape of a tensor with heads of `dim`."""
        extents = dict(zip("BTH", self.size), K=dim, V=dim)
        return [extents[d] for d in dims]

    def launch_at(self):
        """The function that launches a pass, and its arguments that say the size."""
        return self.c.wkvc_launch, [ctypes.c_int64(n) for n in self.size]


def draw(op, B, T, H, D, seed):
    g = torch.Generator("cuda").manual_seed(seed)
    normal = lambda *shape: torch.randn(*shape, generator=g, device="cuda")
    x = {name: normal(B, T, H, D) for name in TOKEN_INPUTS[op] + ["do"]}
    if op == "rwkv7":
        key = torch.nn.functional.normalize(x["k"], dim=-1)
        x["a"], x["b"] = -key, key * torch.sigmoid(x["b"])
    else:
        x["w"] = x["w"] * 0.5 - 3  # log_w = −exp(w)
        x["u"] = normal(H, D)
    x["do"] *= 1e-3
    return {name: tensor.bfloat16() for name, tensor in x.items()}


def log_decay(op, w):
    return -math.exp(-0.5) * torch.sigmoid(w) if op == "rwkv7" else -torch.exp(w)


def reference(op, x, heads):
    """Of some heads of the first batch, in float64: o and the gradients of what is given."""
    leaves = {name: (t[:1, :, heads] if t.dim() == 4 else t[heads]).double().requires_grad_(name != "do")
              for name, t in x.items()}
    at = {name: t[0].unbind(0) if t.dim() == 4 else t for name, t in leaves.items()}
    decay = torch.exp(log_decay(op, leaves["w"]))[0].unbind(0)
    D = x["v"].shape[-1]
    S = torch.zeros(len(heads), D, D, dtype=torch.float64, device="cuda")
    outputs = []
    for t, w in enumerate(decay):
        row = lambda y: y[:, None, :]
        column = lambda y: y[:, :, None]
        write = column(at["v"][t]) * row(at["k"][t])
        if op == "rwkv7":
            S = S * row(w) + (S @ column(at["a"][t])) * row(at["b"][t]) + write
            outputs.append((S @ column(at["r"][t])).squeeze(-1))
        else:
            outputs.append(((S + row(at["u"]) * write) @ column(at["r"][t])).squeeze(-1))
            S = S * row(w) + write
    o = torch.stack(outputs)[None]
    names = [name for name in leaves if name not in ("do", "u")]  # du is a sum over all batches
    gradients = torch.autograd.grad(o, [leaves[name] for name in names], leaves["do"])
    return {"o": o.detach(), **{"d" + name: g for name, g in zip(names, gradients)}}


def errors_of(results, expected, heads):
    error = lambda x, ref: ((x[:1, :, heads].double() - ref).norm() / ref.norm()).item()
    return {name: error(results[name], ref) for name, ref in expected.items() if name in results}


class Contestant(NamedTuple):
    """Calls that take the number of a set of inputs, the results of set 0, and bytes beside inputs and results."""
    forward: object
    both: object
    results: dict
    extra_bytes: int


def wkvc_contestant(args, library, op, shape, sets):
    B, T, H, D = shape
    options = f"--shape {B},{T},{H} --head {D} {args.options}"
    forward_only, training = (Wkvc(library, op, f"{options} --pass {p}", (B, T, H)) for p in ("forward", "both"))
    outputs = [dict(x) for x in sets]
    f = [forward_only.bind(0, x, D) for x in outputs]
    tf = [training.bind(0, x, D) for x in outputs]
    tb = [training.bind(1, x, D) for x in outputs]
    tf[0](), tb[0]()
    return Contestant(lambda i: f[i](), lambda i: (tf[i](), tb[i]()), outputs[0], training.workspace.numel())


def fla_inputs(op, x):
    """What flash-linear-attention takes: the log decay in place of w."""
    y = {name: t.detach().clone() for name, t in x.items()}
    y["w"] = log_decay(op, x["w"].float()).bfloat16()
    return {name: t.requires_grad_(name != "do") for name, t in y.items()}


def fla_call(op, setting, shape):
    """A function of one set of inputs that gives o."""
    B, _, H, _ = shape
    if op == "rwkv6":
        from fla.ops.rwkv6 import chunk_rwkv6
        return lambda x: chunk_rwkv6(*(x[n] for n in "rkvwu"), scale=1.0, **setting.arguments)[0]
    if setting.tilelang and B * H < 66:  # chunk_rwkv7 leaves few heads to Triton: the back end itself takes them
        from fla.ops.generalized_delta_rule.dplr.backends.tilelang.chunk import chunk_dplr_delta_rule_tilelang
        return lambda x: chunk_dplr_delta_rule_tilelang(q=x["r"], k=x["k"], v=x["v"], a=x["a"], b=x["b"], gk=x["w"],
                                                        scale=1.0, **setting.arguments)[0]
    from fla.ops.rwkv7 import chunk_rwkv7
    return lambda x: chunk_rwkv7(*(x[n] for n in "rwkvab"), scale=1.0, **setting.arguments)[0]


def fla_contestant(op, setting, shape, sets):
    run = fla_call(op, setting, shape)
    inputs = [fla_inputs(op, x) for x in sets]

    def forward(i):
        with torch.no_grad():
            return run(inputs[i])

    def both(i):
        x = inputs[i]
        o, names = run(x), [name for name in x if name != "do"]
        return o, dict(zip(names, torch.autograd.grad(o, [x[name] for name in names], x["do"])))

    forward(0), both(0)
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    o, gradients = both(0)
    extra = torch.cuda.max_memory_allocated() - before - sum(t.nbytes for t in (o, *gradients.values()))
    # Its gradient of w is that of the log decay: not compared.
    results = {"o": o.detach(), **{"d" + n: g for n, g in gradients.items() if n != "w"}}
    return Contestant(forward, both, results, extra)


def select_back_end(setting):
    os.environ["FLA_TILELANG"] = "1" if setting.tilelang else "0"


def measure_fla(op, setting, shape, sets, expected, heads, rounds):
    """Times and errors of one setting, or why it does not run."""
    select_back_end(setting)
    try:
        it = fla_contestant(op, setting, shape, sets)
        return {"ms": {what: times_of({"fla": getattr(it, what)}, len(sets), rounds)["fla"] for what in PASSES},
                "errors": errors_of(it.results, expected, heads), "extra_bytes": it.extra_bytes}
    except Exception as fault:  # whatever a missing tilelang, nvcc or an unsupported size raises
        return {"fault": f"{type(fault).__name__}: {fault}".split("\n")[0][:200]}
    finally:
        torch.cuda.empty_cache()


def copies(op, sets):
    """For each pass a call that copies as many bytes as inputs and results are."""
    tokens = sum(t.numel() * t.element_size() for name, t in sets[0].items() if name in TOKEN_INPUTS[op])
    output = sets[0]["do"].numel() * sets[0]["do"].element_size()
    # Forward: inputs and o. Backward: those again with do, and a gradient for each input.
    calls = {}
    for name, moved in (("forward", tokens + output), ("both", 3 * tokens + 2 * output)):
        halves = [torch.empty(moved // 2, dtype=torch.uint8, device="cuda") for _ in range(2)]
        calls[name] = lambda i, halves=halves: halves[1].copy_(halves[0])
    return calls


def pause_for(call):
    """Cycles in which the host surely queues a call: at least 2 ms, and twice what the host took."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    call(0)
    seconds = time.perf_counter() - start
    torch.cuda.synchronize()
    return int(2e9 * min(max(2e-3, 2 * seconds), 50e-3))


def times_of(calls, sets, rounds):
    """Median milliseconds of each contestant, all of them in turn in every round."""
    for call in calls.values():
        for i in range(sets):
            call(i)
    pauses = {name: pause_for(call) for name, call in calls.items()}
    spans = {name: [] for name in calls}
    for n in range(rounds):
        for name, call in calls.items():
            torch.cuda._sleep(pauses[name])
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            call(n % sets)
            end.record()
            spans[name].append((begin, end))
        torch.cuda.synchronize()
    return {name: statistics.median(b.elapsed_time(e) for b, e in pairs) for name, pairs in spans.items()}


def measure(args, library, row):
    op, *shape = row
    B, T, H, D = shape
    bytes_of_set = B * T * H * D * 2 * len(TOKEN_INPUTS[op])
    count = max(1, min(8, math.ceil(2 * L2_BYTES / bytes_of_set)))
    sets = [draw(op, B, T, H, D, seed) for seed in range(count)]
    heads = [0, H - 1]
    expected = reference(op, sets[0], heads)
    ours, copy = wkvc_contestant(args, library, op, shape, sets), copies(op, sets)
    settings = {}
    for setting in FLA_SETTINGS[op]:
        if any(part in setting.name for part in args.fla):
            settings[setting.name] = measure_fla(op, setting, shape, sets, expected, heads, args.rounds)
            print(f"{title(row)} {setting.name}: {summary(settings[setting.name])}", flush=True)
    ms, best = {}, {}
    for what in PASSES:
        calls = {"wkvc": getattr(ours, what), "copy": copy[what]}
        ran = {name: found["ms"][what] for name, found in settings.items() if "ms" in found}
        if ran:  # the fastest one once more, in turn with wkvc
            best[what] = min(ran, key=ran.get)
            setting = next(s for s in FLA_SETTINGS[op] if s.name == best[what])
            select_back_end(setting)
            calls["fla"] = getattr(fla_contestant(op, setting, shape, sets), what)
        ms[what] = times_of(calls, count, args.rounds)
    return {"op": op, "shape": shape, "ms": ms, "errors": errors_of(ours.results, expected, heads),
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
    if op not in TOKEN_INPUTS or len(shape) != 4 or not all(n.isdigit() for n in shape):
        raise argparse.ArgumentTypeError(f"{text!r}: expected OP,B,T,H,D such as rwkv7,8,4096,64,64")
    return (op, *map(int, shape))


def measured_rows(args):
    library = ctypes.CDLL(args.library)
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
    main()
