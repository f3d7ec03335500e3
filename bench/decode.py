#!/usr/bin/env python3
"""Times one to four tokens of RWKV-7 from states in memory, beside copies of the states and flash-linear-attention.

    bench/decode.py --library build/jit/libwkvc.so

Needs a GPU and PyTorch; flash-linear-attention runs beside where it is installed. Heads are 64 x 64, inputs bf16. Each
time is given twice: by events around one call, and as the share of a call in a CUDA graph of many calls. A graph leaves
out what a call costs between two events. Sets of tensors rotate, so that states come from memory and not from the L2.
"""
import argparse
import json

import torch

from c_interface import Wkvc, open_library, run_script
from peers import PEERS
from recurrences import draw
from timing import copy_of, sets_of, times_of

HEADS, HEAD = 64, 64
SIZES = ((256, 1), (32, 1), (1, 1), (256, 4))
CALLS = 64  # of a graph


def bytes_of_states(batches, dtype):
    """Bytes that a step reads and writes of all states."""
    return 2 * batches * HEADS * HEAD * HEAD * dtype.itemsize


def by_wkvc(library, sets, size, dtype):
    """A call for each set of tensors, by its number."""
    state = {torch.float32: "f32", torch.float16: "f16"}[dtype]
    options = f"--chunk 1 --head {HEAD} --state {state} --shape {size[0]},{size[1]},{HEADS}"
    operator = Wkvc(library, "rwkv7", options, (*size, HEADS))
    calls = [operator.bind(0, x | {"initial_state": states(size[0], dtype)}, HEAD) for x in sets]
    return lambda i: calls[i]()


def by_fla(sets, size):
    """The same, or None without flash-linear-attention."""
    try:
        from fla.ops.rwkv7 import fused_recurrent_rwkv7
    except ImportError:
        return None
    given = [[PEERS["rwkv7"][0].inputs(x)[name] for name in "rwkvab"] for x in sets]
    initial = [states(size[0], torch.float32) for _ in sets]

    def call(i):
        with torch.no_grad():
            fused_recurrent_rwkv7(*given[i], scale=1.0, initial_state=initial[i], output_final_state=True)

    return call


def states(batches, dtype):
    return torch.randn(batches, HEADS, HEAD, HEAD, device="cuda").to(dtype)


def in_graphs(calls, sets, rounds):
    """Median milliseconds of a call of each contestant within a graph of calls, graphs in turn in every round."""
    graphs = {}
    for name, call in calls.items():
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for i in range(CALLS):
                call(i % sets)
    spans = times_of({name: lambda _, g=graph: g.replay() for name, graph in graphs.items()}, 1, rounds)
    return {name: ms / CALLS for name, ms in spans.items()}


def measure(library, size, rounds):
    count = sets_of(bytes_of_states(size[0], torch.float32))
    sets = [draw("rwkv7", (*size, HEADS), (HEAD, HEAD), seed=i) for i in range(count)]
    calls = {
        "wkvc": by_wkvc(library, sets, size, torch.float32),
        "wkvc, f16 states": by_wkvc(library, sets, size, torch.float16),
        "copy": copy_of(bytes_of_states(size[0], torch.float32), sets=count),
        "copy, f16 states": copy_of(bytes_of_states(size[0], torch.float16), sets=count),
        "fla": by_fla(sets, size),
    }
    calls = {name: call for name, call in calls.items() if call}
    events = times_of(calls, count, rounds)
    graphs = in_graphs(calls, count, rounds)
    for name in calls:
        print(json.dumps({"size": [*size, HEADS], "who": name, "us": round(events[name] * 1e3, 2),
                          "us in a graph": round(graphs[name] * 1e3, 2)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/jit/libwkvc.so")
    parser.add_argument("--rounds", type=int, default=50)
    args = parser.parse_args()
    library = open_library(args.library)
    for size in SIZES:
        measure(library, size, args.rounds)


if __name__ == "__main__":
    run_script(main)
