#!/usr/bin/env python3
"""Times wkvc over many sizes, recurrences and dtypes, beside a copy of as many bytes and the best public kernels.

    bench/curves.py list                                       # the cells, and what wkvc refuses; needs no GPU
    bench/curves.py run --journal h100.jsonl --seconds 540     # again until it says that nothing is left
    bench/curves.py summary --journal h100.jsonl
    bench/curves.py plot --journal h100.jsonl --axis tokens -o curves.svg
    bench/curves.py run --journal tiny.jsonl --cells tiny --device cpu    # tests this program without a GPU

Cells are in cells.py, recurrences in recurrences.py and recurrences.cpp, public kernels in peers.py. A run measures
wkvc on every cell first, then each public kernel beside it; the journal gets a line for each, and a later run goes on
behind the last one. Contestants take turns. Results are full of NaN before the first call, and what is wrong against
the float64 recurrence is not timed. There are no initial or final states. Nothing is tuned: wkvc runs with the settings
that a call gets by default.
"""
import argparse
import gc
import math
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import torch

import curves_report
from c_interface import (PASSES, Sequences, WithSequences, Wkvc, WkvcError, emitted, expect_built, open_library, prepared,
                         run_script)
from cells import BESIDE_PEERS, EVERY, FULL, TINY, cells_of
from journal import Journal, circumstances, identity_of
from peers import PEERS, contestant, environment_of, memory_beside, reason_of, reference_of, results_of
from recurrences import DTYPES, RECURRENCES, draw, text_of
from reference import Reference
from timing import copy_of, sets_of, times_of

PLANS = {"full": FULL, "peers": BESIDE_PEERS, "every": EVERY, "tiny": TINY}
NO_MEMORY = "the GPU has too little memory"
WRONG = 0.05  # an error that no rounding explains
MOST_SETS = {"cuda": 8, "cpu": 2}  # of inputs; the CPU's times say nothing


class Wrong(Exception):
    """A result that is not what the recurrence gives."""


class DeadContext(Exception):
    """A kernel's fault, behind which this process can do nothing any more on the GPU."""


class Bench:
    """What a run measures with."""

    def __init__(self, args):
        self.args, self.device, self.start = args, args.device, time.monotonic()
        self.library = open_library(args.library)
        self.identity = identity_of(args.library, args.device)
        self.circumstances = circumstances(self.library)

    def seconds(self):
        """Since the run began."""
        return time.monotonic() - self.start

    def subject(self, cell, what):
        """What wkvc is asked for: a name or a text, and options."""
        recurrence = RECURRENCES[cell.recurrence]
        options = f"--pass {what} --mma {cell.mma} --shape {{}},{{}},{{}}".format(*cell.size)
        if recurrence.shared:
            options += f" --shared {','.join(recurrence.shared)}"
        if recurrence.built_in:
            return cell.recurrence, "{} --head {},{} --io {}".format(options, *cell.head, cell.io)
        return text_of(cell.recurrence, cell.head, cell.io, self.args.recurrences), options

    def operator(self, cell, what):
        arguments = (self.library, *self.subject(cell, what), cell.size)
        if RECURRENCES[cell.recurrence].shared:
            return WithSequences(*arguments, Sequences(count=cell.size[0], shared_heads=1), device=self.device)
        return Wkvc(*arguments, device=self.device)

    def times_of(self, calls, sets):
        """Times in as many rounds as there is time for, at least 10."""
        once = times_of(calls, sets, 1, self.device)
        rounds = int(self.args.milliseconds / sum(once.values()))
        return times_of(calls, sets, max(min(10, self.args.rounds), min(rounds, self.args.rounds)), self.device)

    def prepare(self, cell):
        for what in PASSES:
            try:
                prepared(self.library, *self.subject(cell, what), self.device)
            except WkvcError:
                pass  # said where it is measured


class Inputs:
    """Sets of inputs of a cell, and what results should be."""

    def __init__(self, bench, cell):
        self.cell, self.device = cell, bench.device
        first = self.draw(0)
        count = min(MOST_SETS[self.device], sets_of(self.bytes_of(first)))
        self.sets = [first, *(self.draw(seed) for seed in range(1, count))]
        batches, _, heads = cell.size
        chosen = list(dict.fromkeys([(0, 0), (batches - 1, heads - 1)]))
        self.reference = Reference(RECURRENCES[cell.recurrence], first, cell.head, chosen)

    def draw(self, seed):
        return draw(self.cell.recurrence, self.cell.size, self.cell.head, self.cell.io, seed, self.device)

    @staticmethod
    def bytes_of(x):
        return sum(t.nbytes for name, t in x.items() if name != "do")

    def copied_bytes(self, what):
        """Forward: inputs and o. Backward: those again with do, and a gradient for each input."""
        given, output = self.bytes_of(self.sets[0]), self.sets[0]["do"].nbytes
        return given + output if what == "forward" else 3 * given + 2 * output


def expect_finite(results):
    """Raises Wrong unless every number is finite: kernels write over NaN."""
    for name, tensor in results.items():
        if not torch.isfinite(tensor).all():
            raise Wrong(f"{name} is not finite everywhere")


def checked(results, reference):
    """Errors of set 0's results; raises Wrong."""
    expect_finite(results)
    errors = reference.errors_of(results)
    for name, error in errors.items():
        if not error <= WRONG:
            raise Wrong(f"{name} is off by {error:.1e}")
    return errors


class OfPass:
    """What a pass of a cell took and how far off its results were, by contestant; faults where there is no time."""

    def __init__(self):
        self.calls, self.errors, self.extra_bytes, self.faults = {}, {}, {}, {}

    def add(self, name, make):
        """Adds a contestant: `make` gives its call, errors and bytes beside inputs and results, or raises."""
        try:
            self.calls[name], self.errors[name], self.extra_bytes[name] = make()
        except torch.OutOfMemoryError:
            self.faults[name] = NO_MEMORY
        except Exception as fault:  # noqa: BLE001 - peers raise whatever a missing compiler or a refused size makes them
            self.faults[name] = reason_of(fault)
            expect_live_gpu(self.faults[name])

    def record(self, ms, inputs, what):
        return {"ms": ms, "errors": self.errors, "extra_bytes": self.extra_bytes, "faults": self.faults,
                "copied_bytes": inputs.copied_bytes(what), "sets": len(inputs.sets)}


def expect_live_gpu(reason):
    """Raises DeadContext where a fault of a kernel has ended this process's work on the GPU."""
    if torch.cuda.is_available():
        try:
            torch.cuda.synchronize()
        except RuntimeError as fault:
            raise DeadContext(reason) from fault


def wkvc_contestant(bench, inputs, what):
    """A call of wkvc on each set, its errors and its workspace's bytes."""
    operator = bench.operator(inputs.cell, what)
    operator.workspace.fill_(255)  # NaN in every dtype
    given = set(inputs.sets[0])
    outputs = [dict(x) for x in inputs.sets]
    directions = range(1 if what == "forward" else 2)
    launches = [[operator.bind(direction, x, *inputs.cell.head, states=False) for direction in directions]
                for x in outputs]

    def call(i):
        for launch in launches[i]:
            launch()

    for i in range(len(launches)):
        call(i)
    found = [{name: t for name, t in x.items() if name not in given} for x in outputs]
    for results in found[1:]:
        expect_finite(results)
    errors = checked(found[0], inputs.reference)
    return call, errors, operator.workspace.numel()


def peer_contestant(inputs, peer, what):
    poison_freed_memory(inputs.copied_bytes(what), inputs.device)
    calls = contestant(peer, inputs.cell.size, inputs.sets)
    call = getattr(calls, what)
    given = call(0)
    results = results_of(peer, *(given if what == "both" else (given,)))
    errors = checked(results, reference_of(peer, inputs.sets[0], inputs.reference))
    return call, errors, memory_beside(call) if what == "both" else 0


def poison_freed_memory(bytes_, device):
    """Leaves memory full of NaN to PyTorch's allocator, which gives it to the next tensors."""
    torch.full([bytes_ // 2], math.nan, dtype=torch.bfloat16, device=device)


def measure_pass(bench, inputs, what, peer=None):
    found = OfPass()
    found.add("wkvc", lambda: wkvc_contestant(bench, inputs, what))
    if peer is not None:
        refusal = peer.refusal(what, inputs.cell.keys, DTYPES[inputs.cell.io])
        if refusal:
            found.faults[peer.name] = refusal
        else:
            found.add(peer.name, lambda: peer_contestant(inputs, peer, what))
    if not found.calls:
        return found.record({}, inputs, what)
    sets = len(inputs.sets)
    calls = {"copy": copy_of(inputs.copied_bytes(what), bench.device, sets), **found.calls}
    return found.record(bench.times_of(calls, sets), inputs, what)


def measure(bench, cell, peer):
    """The passes' records of wkvc, and of a peer beside it."""
    inputs = Inputs(bench, cell)
    passes = {}
    for what in PASSES:
        if peer is None:
            passes[what] = measure_pass(bench, inputs, what)
        else:
            with environment_of(peer):
                passes[what] = measure_pass(bench, inputs, what, peer)
        free_memory()
    return passes


def free_memory():
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def units_of(args):
    """Cells by themselves, then with each peer that is asked for."""
    cells = [c for c in cells_of(PLANS[args.cells]) if not args.only or c.recurrence in args.only]
    units = [(cell, None) for cell in cells]
    wanted = [] if args.device == "cpu" else args.peers
    for cell in cells:
        if cell.mma == "f16" and cell.io != "f32":  # as public kernels compute
            units += [(cell, p) for p in PEERS[cell.recurrence] if any(part in p.name for part in wanted)]
    return units


def run(args):
    expect_all_there(args)
    bench, journal = Bench(args), Journal(args.journal)
    units = [(cell, peer) for cell, peer in units_of(args) if not journal.has(bench.identity, cell, name_of(peer))]
    if args.device == "cuda":  # nothing is compiled or loaded while something is timed
        with ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 2)) as pool:
            list(pool.map(bench.prepare, dict.fromkeys(cell for cell, _ in units)))
    measured, seconds = measure_in_time(bench, journal, units)
    left = len(units) - measured
    print(f"{measured} measured in {seconds:.0f} s, {left} left{': run again' if left else ''}")


def expect_all_there(args):
    """Ends the program with one line where what it needs is not there."""
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("curves.py: there is no GPU here; --device cpu --cells tiny tests this program without one")
    expect_built(args.library, args.recurrences)


def measure_in_time(bench, journal, units):
    """Measures units until the next one could end too late; how many, and the seconds that the run took."""
    longest = {False: 0.0, True: 0.0}
    for number, (cell, peer) in enumerate(units):
        begun = bench.seconds()
        if begun + longest[peer is not None] > bench.args.seconds:
            return number, begun
        measure_unit(bench, journal, cell, peer)
        free_memory()
        longest[peer is not None] = max(longest[peer is not None], bench.seconds() - begun)
    return len(units), bench.seconds()


def list_cells(args):
    """Prints every cell with the passes that wkvc refuses, and why."""
    expect_all_there(args)
    bench, refused = Bench(args), 0
    cells = cells_of(PLANS[args.cells])
    for cell in cells:
        print(cell.title)
        for what in PASSES:
            try:
                emitted(bench.library, *bench.subject(cell, what))
            except WkvcError as fault:
                refused += 1
                print(f"  {what}: {reason_of(fault)}")
    print(f"{len(cells)} cells, {refused} of {len(cells) * len(PASSES)} passes refused")


def name_of(peer):
    return None if peer is None else peer.name


def measure_unit(bench, journal, cell, peer):
    """Adds the unit's record to the journal, and says what was found."""
    where, contestant_ = (bench.identity, cell, name_of(peer)), name_of(peer) or "wkvc"
    begun = time.monotonic()
    if journal.ended_its_process(*where):
        passes = only_fault(contestant_, "ended the process each time")
        journal.append("record", *where, passes=passes, **bench.circumstances)
        return
    journal.append("begun", *where)
    try:
        passes = measure(bench, cell, peer)
    except torch.OutOfMemoryError:
        passes = only_fault(contestant_, NO_MEMORY)
        free_memory()
    except DeadContext as fault:
        journal.append("record", *where, passes=only_fault(contestant_, str(fault)), **bench.circumstances)
        sys.exit(f"{cell.title}, {contestant_}: {fault}. The GPU takes nothing more from this process: run again")
    seconds = round(time.monotonic() - begun, 1)
    journal.append("record", *where, passes=passes, seconds=seconds, **bench.circumstances)
    for line in curves_report.lines_of(cell, passes):
        print(line, flush=True)


def only_fault(name, reason):
    return {what: {"ms": {}, "errors": {}, "faults": {name: reason}} for what in PASSES}


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    adders = {name: commands.add_parser(name, help=text) for name, text in
              (("list", "says what there is to measure"), ("run", "measures what the journal has not"),
               ("summary", "says what the journal has"), ("plot", "draws what the journal has"))}
    for name in ("run", "summary", "plot"):
        adders[name].add_argument("--journal", required=True, help="a file of JSON lines, made where there is none")
    for name in ("list", "run"):
        add = adders[name].add_argument
        add("--cells", choices=PLANS, default="full")
        add("--library", default="build/jit/libwkvc.so", help="the shared library of wkvc")
        add("--recurrences", default="build/bin/bench_recurrences", help="the program that prints texts")
    adders["list"].set_defaults(device="cpu")
    add = adders["run"].add_argument
    add("--seconds", type=float, default=math.inf, help="stop before the first unit that could end later")
    add("--device", choices=("cuda", "cpu"), default="cuda")
    add("--only", nargs="*", default=[], choices=RECURRENCES, metavar="NAME", help="of these recurrences alone")
    add("--peers", nargs="*", default=["fla", "FlashQLA", "FlashInfer", "cuDNN", "mamba_ssm"], metavar="PART",
        help="parts of the names of public kernels to measure; without any: none")
    add("--rounds", type=int, default=50, help="at most")
    add("--milliseconds", type=float, default=1000, help="that the rounds of a pass may take; there are 10 at least")
    add = adders["plot"].add_argument
    add("-o", "--output", required=True, help="the file to draw, such as curves.svg")
    add("--axis", choices=("tokens", "heads", "keys"), default="tokens")
    add("--gpu", default="", help="a part of the name of the GPU to draw, where the journal has several")
    return parser.parse_args()


def main():
    args = parsed_arguments()
    if args.command == "list":
        list_cells(args)
    elif args.command == "run":
        run(args)
    elif args.command == "summary":
        print("\n".join(curves_report.summary(Journal(args.journal))))
    else:
        curves_report.plot(Journal(args.journal), args.axis, args.gpu, args.output)


if __name__ == "__main__":
    run_script(main)
