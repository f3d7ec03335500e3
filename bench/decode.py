#!/usr/bin/env python3
"""Times one to four tokens from states in memory, beside copies of the states and public kernels.

    bench/decode.py --library build/jit/libwkvc.so --recurrences build/bin/bench_recurrences

Measures RWKV-7 with heads of 64 beside flash-linear-attention, and Gated DeltaNet with heads of 128 beside FlashInfer.
Needs a GPU and PyTorch; public kernels run where they are installed. Inputs are bf16. Each time is given twice: by
events around one call, and as the share of a call in a CUDA graph of many calls. A graph leaves out the cost of a call
between two events. Sets of tensors rotate, so that states come from memory and not from the L2. Errors are those of the
first call's output, against one token in float64.
"""
import argparse
import json
import sys
from typing import Callable, NamedTuple

import torch

from c_interface import Wkvc, open_library, run_script
from peers import PEERS, reason_of
from recurrences import RECURRENCES, draw, text_of
from timing import copy_of, sets_of, times_of

CALLS = 64  # of a graph


class Case(NamedTuple):
    """A recurrence whose tokens are timed."""

    recurrence: str
    heads: int
    keys: int
    peer: str
    by_peer: Callable  # from sets of inputs and (batches, tokens, heads): a call, which gives o
    sizes: tuple  # batches, tokens

    def states(self, batches, dtype):
        """Initial states [B, H, V, K]."""
        return torch.randn(batches, self.heads, self.keys, self.keys, device="cuda").to(dtype)

    def bytes_of_states(self, batches, dtype):
        """Bytes that a step reads and writes of all states."""
        return 2 * batches * self.heads * self.keys * self.keys * dtype.itemsize


def by_wkvc(args, case, sets, size, dtype):
    """A call for each set of tensors, by its number; it gives o."""
    state = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}[dtype]
    options = f"--chunk 1 --state {state} --shape {size[0]},{size[1]},{case.heads}"
    subject = case.recurrence
    if RECURRENCES[subject].built_in:
        options += f" --head {case.keys}"
    else:
        subject = text_of(subject, (case.keys, case.keys), "bf16", args.recurrences)
    operator = Wkvc(open_library(args.library), subject, options, (*size, case.heads))
    tensors = [x | {"initial_state": x["S"].to(dtype)} for x in sets]
    calls = [operator.bind(0, x, case.keys) for x in tensors]

    def call(i):
        calls[i]()
        return tensors[i]["o"]

    return call


def rwkv7_by_fla(case, sets, size):
    from fla.ops.rwkv7 import fused_recurrent_rwkv7

    given = [[PEERS["rwkv7"][0].inputs(x)[name] for name in "rwkvab"] for x in sets]
    initial = [x["S"].clone() for x in sets]

    def call(i):
        with torch.no_grad():
            return fused_recurrent_rwkv7(*given[i], scale=1.0, initial_state=initial[i], output_final_state=True)[0]

    return call


def gated_delta_net_by_flashinfer(case, sets, size):
    """Its gates are made in the kernel: A_log 0, dt_bias 0, softplus(a) = -g, sigmoid(b) = beta."""
    from flashinfer.gdn_decode import gated_delta_rule_decode_pretranspose

    zeros = torch.zeros(case.heads, device="cuda")
    gates = [(torch.log(torch.expm1(-x["g"])).bfloat16(), torch.logit(x["beta"]).bfloat16()) for x in sets]
    given = [[x[name] for name in "qkv"] for x in sets]
    initial = [x["S"].clone() for x in sets]

    def call(i):
        a, b = gates[i]
        return gated_delta_rule_decode_pretranspose(*given[i], initial[i], zeros, a, zeros, b, use_qk_l2norm=False)[0]

    return call


CASES = (
    Case("rwkv7", 64, 64, "flash-linear-attention", rwkv7_by_fla, ((256, 1), (32, 1), (1, 1), (256, 4))),
    Case("gated_delta_net", 32, 128, "FlashInfer", gated_delta_net_by_flashinfer, ((256, 1), (32, 1), (1, 1))),
)


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


def error_of(case, x, o):
    """‖o−ref‖/‖ref‖ of the first head of the first batch, from its initial state x["S"]."""
    recurrence, state = RECURRENCES[case.recurrence], x["S"][0, 0].double()
    outputs = []
    for t in range(o.shape[1]):
        output, state = recurrence.step(state, {name: x[name][0, t, 0].double() for name in recurrence.tokens})
        outputs.append(output)
    reference = torch.stack(outputs)
    return ((o[0, :, 0].double() - reference).norm() / reference.norm()).item()


def contestants(args, case, sets, size):
    """Calls by name; a public kernel that is not installed is left out, with a line."""
    calls = {"wkvc": by_wkvc(args, case, sets, size, torch.float32),
             "wkvc, f16 states": by_wkvc(args, case, sets, size, torch.float16)}
    try:
        calls[case.peer] = case.by_peer(case, sets, size)
    except ImportError as fault:
        print(f"{case.peer}: {reason_of(fault)}", file=sys.stderr)
    return calls


def measure(args, case, size):
    count = sets_of(case.bytes_of_states(size[0], torch.float32))
    shape = (*size, case.heads)
    sets = [draw(case.recurrence, shape, (case.keys, case.keys), seed=i) for i in range(count)]
    for x in sets:
        del x["do"]
        x["S"] = case.states(size[0], torch.float32)
    calls = contestants(args, case, sets, size)
    errors = {name: error_of(case, sets[0], call(0)) for name, call in calls.items()}
    calls |= {
        "copy": copy_of(case.bytes_of_states(size[0], torch.float32), sets=count),
        "copy, f16 states": copy_of(case.bytes_of_states(size[0], torch.float16), sets=count),
    }
    events = times_of(calls, count, args.rounds)
    graphs = in_graphs(calls, count, args.rounds)
    for name in calls:
        print(json.dumps({"recurrence": case.recurrence, "size": [*shape, case.keys], "who": name,
                          "us": round(events[name] * 1e3, 2), "us in a graph": round(graphs[name] * 1e3, 2),
                          "error": errors.get(name)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="build/jit/libwkvc.so")
    parser.add_argument("--recurrences", default="build/bin/bench_recurrences", help="the program that prints texts")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--only", choices=[case.recurrence for case in CASES], help="this recurrence alone")
    args = parser.parse_args()
    for case in CASES:
        if args.only in (None, case.recurrence):
            for size in case.sizes:
                measure(args, case, size)


if __name__ == "__main__":
    run_script(main)
