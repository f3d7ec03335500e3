"""What bench/curves.py measures: cells on lines, each of which goes along one axis and crosses the others at a base."""
from typing import NamedTuple

from recurrences import RECURRENCES

MOST_HEADS = 32  # of a batch; more heads in all are more batches
MOST_ELEMENTS = 1 << 29  # of a tensor


class Cell(NamedTuple):
    """A recurrence at one size; `heads` are those of all batches together."""

    recurrence: str
    tokens: int
    heads: int
    keys: int
    io: str
    mma: str

    @property
    def head(self):
        return RECURRENCES[self.recurrence].head(self.keys)

    @property
    def size(self):
        """Batches, tokens, heads of a batch."""
        in_batch = min(self.heads, MOST_HEADS)
        return self.heads // in_batch, self.tokens, in_batch

    @property
    def title(self):
        head = self.head
        sides = str(head[0]) if head[0] == head[1] else "{}x{}".format(*head)
        return f"{self.recurrence} {','.join(map(str, self.size))},{sides} {self.io}/{self.mma}"


class Line(NamedTuple):
    """Cells that differ from a base along one axis, a field of Cell."""

    recurrences: tuple
    axis: str
    values: tuple
    changes: dict = {}  # of the base


def powers(first, last, step=2):
    """Powers of two from 2^first to 2^last, each `step` exponents from the one before."""
    return tuple(1 << n for n in range(first, last + 1, step))


LEADING = ("rwkv7",)  # measured at every power of two
OTHERS = tuple(name for name in RECURRENCES if name not in LEADING)
BASE = {"tokens": 2048, "heads": 32, "keys": 128, "io": "bf16", "mma": "f16"}
FULL = BASE, [
    Line(LEADING + OTHERS, "tokens", (2048,)),
    Line(LEADING, "tokens", powers(0, 17, 1)),
    Line(OTHERS, "tokens", powers(7, 15)),
    Line(LEADING, "tokens", powers(7, 15), {"keys": 64}),
    Line(LEADING, "heads", powers(0, 10, 1)),
    Line(OTHERS, "heads", powers(3, 7)),
    Line(LEADING, "keys", (32, 64, 128, 256)),
    Line(OTHERS, "keys", (64, 128)),
    *(Line(LEADING, "mma", ("f16", "bf16", "f32"), {"io": io}) for io in ("bf16", "f16", "f32")),
    Line(OTHERS, "mma", ("f16", "bf16")),
]
# Heads of 128 beside public kernels: docs/performance.md has the table.
WITH_PEERS = ("gated_delta_net", "mamba2", "kda", "kda_gate5")
BESIDE_PEERS = {**BASE, "tokens": 8192}, [
    Line(WITH_PEERS, "heads", (128, 32)),
    Line(WITH_PEERS, "tokens", (32768, 2048, 512, 128)),
    Line(WITH_PEERS, "tokens", (2048,), {"heads": 128}),
]
# Every operator once, beside what its users call today: the gallery's times.
EVERY = {**BASE, "tokens": 4096, "heads": 128}, [Line(OTHERS, "keys", (128,)), Line(LEADING, "keys", (64, 128))]
# For the CPU: a test of this program, not of the kernels.
TINY = {**BASE, "tokens": 32, "heads": 2, "keys": 16}, [
    Line(("rwkv7",), "tokens", (16, 32, 64)),
    Line(("rwkv7",), "heads", (1, 2, 4)),
    Line(("kda",), "tokens", (32,)),
    Line(("mamba2",), "tokens", (32,), {"keys": 32}),
]


def cells_of(plan):
    """The cells of a plan, each once, in the order of its lines."""
    base, lines = plan
    cells = {}
    for line in lines:
        for name in line.recurrences:
            for value in line.values:
                cell = Cell(name, **{**base, **line.changes, line.axis: value})
                if cell.tokens * cell.heads * cell.keys <= MOST_ELEMENTS:
                    cells[cell] = None
    return list(cells)


AXES = ("tokens", "heads", "keys")


def lines_through(cells, axis):
    """Cells that differ along the axis alone, as lists in its order."""
    lines = {}
    for cell in sorted(cells, key=lambda cell: getattr(cell, axis)):
        lines.setdefault(cell._replace(**{axis: 0}), []).append(cell)
    return list(lines.values())
