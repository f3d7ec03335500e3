#!/usr/bin/env python3
"""Times schedules beside each other, over recurrences, heads and sizes: what default settings are chosen by.

    bench/schedules.py --journal h100-schedules.jsonl --seconds 540     # again until it says that nothing is left
    bench/schedules.py --journal drawn.jsonl --drawn 40 --seed 1        # on units drawn at random: how good defaults are
    bench/schedules.py --summary --journal h100-schedules.jsonl

Each unit is a recurrence at one size and pass. All schedules run in turn on the same inputs; the first one is the
default. A schedule whose results differ by more than 2 % from the default's is not timed: bench/curves.py compares
defaults with the float64 recurrence. Refused schedules are recorded with the reason.
"""
import argparse
import json
import math
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import torch

from c_interface import (PASSES, Sequences, WithSequences, Wkvc, WkvcError, expect_built, open_library, prepared,
                         run_script)
from cells import Cell
from journal import parsed
from recurrences import RECURRENCES, draw, text_of
from timing import copy_of, times_of

HEADS = (*product(("rwkv7_logw", "gated_delta_net", "kda", "mamba2", "gla", "unnamed"), (128, 64)), ("kda_gate5", 128))
# Tokens, and heads of all batches.
SIZES = ((4096, 16), (2048, 64), (2048, 128), (8192, 128), (32768, 8), (512, 256))
GUARDED = "--scales guarded"
ALONE = "--teams 1"  # nothing is chosen beside that
FORWARD = ("", f"{GUARDED} {ALONE}",
           f"{GUARDED} --teams 2 --rounds 2 --blocks 1", f"{GUARDED} --teams 2 --rounds 2 --blocks 2",
           f"{GUARDED} --teams 4 --rounds 2 --blocks 1", f"{GUARDED} --teams 3 --rounds 2 --cluster 2 --blocks 1",
           "--scales always --teams 3 --rounds 2 --cluster 2 --blocks 1",
           f"{GUARDED} --segments 4", f"{GUARDED} --segments 16",
           f"{GUARDED} --segments 4 --teams 4 --rounds 2 --blocks 1",
           f"{GUARDED} --segments 16 --teams 2 --rounds 2 --blocks 1")
SAVED = f"{GUARDED} --saved f16"
BOTH = ("", f"{SAVED} {ALONE}", f"{SAVED} --teams 2,1 --rounds 2",
        f"{SAVED} --save-every 64 --teams 2,2 --rounds 2 --blocks 1,1",
        f"{SAVED} --save-every 32 --teams 2,2 --rounds 2 --blocks 2,2",
        f"{SAVED} --save-every 32 --teams 3,2 --rounds 2 --cluster 2 --segments 1,4 --blocks 1,1",
        f"{SAVED} --save-every 64 --segments 4,4", f"{SAVED} --save-every 64 --segments 16,16",
        f"{SAVED} --save-every 32 --segments 4,4 --teams 2,2 --rounds 2 --blocks 1,1",
        f"{SAVED} --save-every 64 --segments 16,16 --teams 2,1 --rounds 2 --blocks 1,1")
SCHEDULES = {"forward": FORWARD, "both": BOTH}
DIFFERENT = 0.02
MULTIPROCESSORS = 132  # of an H100 or H200

# For units drawn at random. {n}: segments that give each multiprocessor a block, {h} half as many, {d} twice as many.
FORWARD_OF_DRAWN = ("--teams 2 --rounds 2 --blocks 1", "--teams 3 --rounds 2 --blocks 1",
                    "--teams 4 --rounds 2 --blocks 1", "--teams 2 --rounds 2 --blocks 2",
                    "--teams 1 --rounds 2 --cluster 2", "--teams 2 --rounds 2 --cluster 2",
                    "--teams 3 --rounds 2 --cluster 2", "--segments {n}", "--segments {d}",
                    "--segments {n} --teams 2 --rounds 2", "--segments {d} --teams 2 --rounds 2",
                    "--segments {h} --teams 2 --rounds 2 --cluster 2",
                    "--chunk 32 --segments {n} --teams 2 --rounds 2", "--chunk 32 --teams 1 --rounds 2 --cluster 2")
BOTH_OF_DRAWN = (f"--save-every 64 {ALONE}", "--teams 2,2 --rounds 2 --save-every 32 --blocks 2,2",
                 "--teams 2,2 --rounds 2 --save-every 64 --blocks 1,1", "--teams 2,1 --rounds 2 --save-every 64",
                 "--segments {n},{n} --save-every 64", "--segments {n},{n} --teams 2,2 --rounds 2 --save-every 32",
                 "--segments {n},{n} --teams 2,1 --rounds 2 --save-every 64",
                 "--segments 1,{n} --teams 2,2 --rounds 2 --cluster 2 --save-every 64 --blocks 1,1")
OF_DRAWN = {"forward": FORWARD_OF_DRAWN, "both": BOTH_OF_DRAWN}
KEYS = (64, 128) * 3 + (32, 48, 80, 96, 192, 256)
HEADS_OF_ALL = (4, 8, 12, 16, 24, 32, 64, 96, 128, 256)
MOST_NUMBERS = 1 << 27  # of an input


def units():
    return [(Cell(name, tokens, heads, keys, "bf16", "f16"), what)
            for (name, keys), (tokens, heads), what in product(HEADS, SIZES, PASSES)]


def drawn_units(count, seed):
    """Units over all recurrences, heads, sizes and dtypes; tokens are evenly spread on a logarithmic scale."""
    at = random.Random(seed)
    drawn = []
    while len(drawn) < count:
        io, mma = ("bf16", "f16") if at.random() < 0.7 else (at.choice(("bf16", "f16", "f32")),
                                                            at.choice(("f16", "bf16", "bf16x3", "f32")))
        cell = Cell(at.choice(list(RECURRENCES)), int(2 ** at.uniform(6, 15)), at.choice(HEADS_OF_ALL), at.choice(KEYS),
                    io, mma)
        unit = cell, at.choice(PASSES)
        if math.prod(cell.size) * cell.keys <= MOST_NUMBERS and cell.head[1] % 16 == 0:
            drawn.append(unit)
    return drawn


def schedules_of(unit, drawn):
    """The schedules of a unit, the default first, each once."""
    cell, what = unit
    if not drawn:
        return SCHEDULES[what]
    segments = 1
    while 2 * segments * cell.heads <= MULTIPROCESSORS:
        segments *= 2
    named = {"n": segments, "h": max(1, segments // 2), "d": 2 * segments}
    always = GUARDED if cell.mma in ("f16", "bf16") else ""
    if always and what == "both":
        always += f" --saved {cell.mma}"
    return ("", *dict.fromkeys(f"{always} {schedule.format(**named)}" for schedule in OF_DRAWN[what]))


class Contestants:
    """The schedules of one unit."""

    def __init__(self, args, library):
        self.args, self.library = args, library

    def subject(self, cell, what, schedule):
        recurrence = RECURRENCES[cell.recurrence]
        options = f"--pass {what} --mma {cell.mma} --shape {{}},{{}},{{}} {schedule}".format(*cell.size)
        if recurrence.shared:
            options += f" --shared {','.join(recurrence.shared)}"
        if recurrence.built_in:
            return cell.recurrence, f"{options} --head {cell.keys} --io {cell.io}"
        return text_of(cell.recurrence, cell.head, cell.io, self.args.recurrences), options

    def prepare(self, unit_and_schedule):
        (cell, what), schedule = unit_and_schedule
        try:
            prepared(self.library, *self.subject(cell, what, schedule))
        except WkvcError:
            pass  # said where it would be timed

    def operator(self, cell, what, schedule):
        arguments = (self.library, *self.subject(cell, what, schedule), cell.size)
        if RECURRENCES[cell.recurrence].shared:
            return WithSequences(*arguments, Sequences(count=cell.size[0], shared_heads=1))
        return Wkvc(*arguments)

    def call(self, cell, what, schedule, x):
        """A call, and its results by name after one run."""
        operator, found = self.operator(cell, what, schedule), dict(x)
        operator.workspace.fill_(255)
        launches = [operator.bind(direction, found, *cell.head, states=False)
                    for direction in range(1 if what == "forward" else 2)]

        def call(_):
            for launch in launches:
                launch()

        call(0)
        torch.cuda.synchronize()
        return call, {name: t for name, t in found.items() if name not in x}

    def measure(self, cell, what):
        x = draw(cell.recurrence, cell.size, cell.head, cell.io, 0, "cuda")
        calls, faults, expected = {}, {}, None
        for schedule in schedules_of((cell, what), self.args.drawn):
            try:
                call, results = self.call(cell, what, schedule, x)
            except (WkvcError, torch.OutOfMemoryError) as fault:
                faults[schedule] = str(fault).split("\n")[0][:300]
                continue
            expected = expected or results
            wrong = difference(results, expected)
            if wrong:
                faults[schedule] = wrong
            else:
                calls[schedule] = call
        moved = sum(t.nbytes for t in x.values())
        calls["copy"] = copy_of(moved * (1 if what == "forward" else 3))
        once = times_of(calls, 1, 1)
        rounds = int(self.args.milliseconds / (sum(once.values()) + 2 * len(once)))
        return times_of(calls, 1, max(5, min(30, rounds))), faults


def difference(results, expected):
    """What differs, or None."""
    for name, t in results.items():
        off = ((t.float() - expected[name].float()).norm() / expected[name].float().norm()).item()
        if not off <= DIFFERENT:
            return f"{name} differs from the default's by {off:.1e}"
    return None


def lines_of(path):
    """The journal's lines. A last one that was cut short counts as not there."""
    try:
        texts = path.read_text().splitlines()
    except OSError as fault:
        sys.exit(f"schedules.py: {path} can't be read: {fault.strerror}")
    lines = []
    for number, text in enumerate(texts, 1):
        line = parsed(text)
        if isinstance(line, dict) and {"unit", "ms"} <= line.keys():
            lines.append(line)
        elif number < len(texts):
            sys.exit(f"schedules.py: line {number} of {path} is none of this script's: give another --journal")
    return lines


def run(args):
    expect_built(args.library, args.recurrences)
    library = open_library(args.library)
    path, start = Path(args.journal), time.monotonic()
    done = {line["unit"] for line in lines_of(path)} if path.exists() else set()
    chosen = drawn_units(args.drawn, args.seed or 0) if args.drawn else units()
    left = [u for u in chosen if title(*u) not in done and (not args.only or u[0].recurrence in args.only)]
    contestants = Contestants(args, library)
    wanted = [(unit, schedule) for unit in left for schedule in schedules_of(unit, args.drawn)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(contestants.prepare, wanted))
    print(f"prepared in {time.monotonic() - start:.0f} s", flush=True)
    if args.prepare:
        return
    for cell, what in left:
        if time.monotonic() - start > args.seconds:
            print("there is more: run again")
            return
        ms, faults = contestants.measure(cell, what)
        with path.open("a") as file:
            file.write(json.dumps({"unit": title(cell, what), "recurrence": cell.recurrence, "keys": cell.keys,
                                   "size": cell.size, "pass": what, "gpu": torch.cuda.get_device_name(), "ms": ms,
                                   "faults": faults}) + "\n")
        torch.cuda.empty_cache()
    print("nothing is left")


def title(cell, what):
    return f"{cell.title} {what}"


def summary(args):
    """For each unit the default's time over the best one's, and the best schedules."""
    for line in lines_of(Path(args.journal)):
        ms = {name: t for name, t in line["ms"].items() if name != "copy"}
        if not ms:
            print(f"{line['unit']}: every schedule is refused")
            continue
        best = sorted(ms, key=ms.get)
        times = ", ".join(f"{ms[name]:.3f} {name or 'default'}" for name in best[:3])
        print(f"{line['unit']}: {ms.get('', math.nan) / ms[best[0]]:.2f}; {times}; copy {line['ms']['copy']:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", required=True)
    parser.add_argument("--library", default="build/jit/libwkvc.so")
    parser.add_argument("--recurrences", default="build/bin/bench_recurrences")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--milliseconds", type=float, default=400, help="that the rounds of a unit take, about")
    parser.add_argument("--drawn", type=int, metavar="N", help="measure N units drawn at random instead")
    parser.add_argument("--seed", type=int, help="of the units that are drawn (0)")
    parser.add_argument("--only", nargs="*", default=[], choices=RECURRENCES)
    parser.add_argument("--prepare", action="store_true", help="only compile")
    parser.add_argument("--summary", action="store_true")
    args = parser.parse_args()
    if args.drawn is not None and args.drawn < 1:
        parser.error(f"--drawn is {args.drawn}; expected 1 or more")
    if args.seed is not None and args.drawn is None:
        parser.error("--seed is of --drawn: give both")
    if args.summary:
        summary(args)
    elif args.prepare or torch.cuda.is_available():
        run(args)
    else:
        sys.exit("schedules.py: there is no GPU here")


if __name__ == "__main__":
    run_script(main)
