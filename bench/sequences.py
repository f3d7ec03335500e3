#!/usr/bin/env python3
"""Times wkvc on sequences one behind the other in a batch, beside one sequence of as many tokens, in one run.

    bench/sequences.py --library build/jit/libwkvc.so

Needs a GPU and PyTorch. 64 sequences of 64 to 8,192 tokens have 32,768 tokens in all, with 32 heads of 64. Each sequence
that is checked is launched alone, too, at the beginning of as many tokens: its results have to be the same bytes. Where
flash-linear-attention is installed, its settings run on the same sequences.
"""
import argparse
import json

import torch

from c_interface import PASSES, Sequences, WithSequences, Wkvc, open_library, run_script
from peers import PEERS
from recurrences import RWKV7, STEEPEST, draw
from timing import times_of

TOKENS, HEADS, HEAD, SEQUENCES = 32768, 32, 64, 64
STARTS_64 = 2  # WKVC_STARTS_64


class Packed(WithSequences):
    """An operator on sequences that begin at `starts`, with settings for so many."""

    def __init__(self, library, op, options, starts, tokens):
        self.starts = starts  # kept alive
        options = f"{options} --sequences {SEQUENCES}"
        sequences = Sequences(len(starts) - 1, STARTS_64, starts.data_ptr())
        super().__init__(library, op, options, (1, tokens, HEADS), sequences)


def lengths():
    """From 64 to 8,192 tokens, most of them short."""
    weights = torch.linspace(0, 1, SEQUENCES - 1, dtype=torch.float64) ** 3
    most = 8192
    short = (64 + (weights / weights.sum()) * (TOKENS - most - 64 * (SEQUENCES - 1))).long()
    short[-1] += TOKENS - most - int(short.sum())
    order = torch.randperm(SEQUENCES, generator=torch.Generator().manual_seed(3))
    return torch.cat([short, torch.tensor([most])])[order]


def both_of(operator, x):
    forward, backward = operator.bind(0, x, HEAD), operator.bind(1, x, HEAD)
    return lambda _: (forward(), backward())


def by_fla(x, starts, what):
    """Calls by the name of a setting; none without flash-linear-attention."""
    try:
        from fla.ops.rwkv7 import chunk_rwkv7
    except ImportError:
        return {}
    bound = {"lower_bound": STEEPEST, "chunk_size": 64, "disable_recompute": True}
    settings = {"fla": {}, "fla, bounded": bound}
    y = PEERS["rwkv7"][0].inputs(x)
    leaves = [y[name].detach().requires_grad_(what == "both") for name in "rwkvab"]

    def call_of(arguments):
        def call(_):
            o = chunk_rwkv7(*leaves, cu_seqlens=starts, **arguments)[0]
            if what == "both":
                torch.autograd.grad(o, leaves, x["do"])
        return call

    return {name: call_of(arguments) for name, arguments in settings.items()}


def check_alone(library, options, starts, x, n):
    """For each result, True where sequence n has the bytes that it has as the only one of a batch."""
    first, last = int(starts[n]), int(starts[n + 1])
    given = [*RWKV7, "do"]
    alone = {name: x[name].roll(-first, 1) for name in given}
    own_starts = torch.tensor([0, last - first], device="cuda")
    operator = Packed(library, "rwkv7", options, own_starts, TOKENS)
    operator.bind(0, alone, HEAD)(), operator.bind(1, alone, HEAD)()
    torch.cuda.synchronize()
    tokens = ("o", "dr", "dw", "dk", "da", "db", "dv")
    part = lambda name: x[name][:, first:last] if name in tokens else x[name][n:n + 1]
    own = lambda name: alone[name][:, :last - first] if name in tokens else alone[name]
    return {name: torch.equal(part(name).contiguous().view(torch.uint8), own(name).contiguous().view(torch.uint8))
            for name in alone if name not in given}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/jit/libwkvc.so")
    parser.add_argument("--options", default="", help="of the configuration, such as '--segments 1'")
    parser.add_argument("--rounds", type=int, default=30)
    args = parser.parse_args()
    library = open_library(args.library)
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths().cumsum(0)]).cuda()
    options = f"--shape 1,{TOKENS},{HEADS} --head {HEAD} {args.options}"
    dense_x, packed_x = (draw("rwkv7", (1, TOKENS, HEADS), (HEAD, HEAD), seed=1) for _ in range(2))
    for what in PASSES:
        dense = Wkvc(library, "rwkv7", f"{options} --pass {what}", (1, TOKENS, HEADS))
        packed = Packed(library, "rwkv7", f"{options} --pass {what}", starts, TOKENS)
        if what == "both":
            calls = {"one": both_of(dense, dense_x), "packed": both_of(packed, packed_x)}
        else:
            f, g = dense.bind(0, dict(dense_x), HEAD), packed.bind(0, dict(packed_x), HEAD)
            calls = {"one": lambda _, f=f: f(), "packed": lambda _, g=g: g()}
        ms = times_of(calls | by_fla(dense_x, starts, what), 1, args.rounds)
        print(json.dumps({"pass": what, "ms": ms, "ratio": ms["packed"] / ms["one"]}), flush=True)
    for n in (0, int(lengths().argmax()), SEQUENCES - 1):
        same = check_alone(library, f"{options} --pass both", starts, packed_x, n)
        print(f"sequence {n}, {int(lengths()[n])} tokens: {same}")


if __name__ == "__main__":
    run_script(main)
