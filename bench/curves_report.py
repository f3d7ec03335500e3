"""What a journal of curves.py says: tables, cells off their neighbours' curve, and a plot."""
import math
import sys
from typing import NamedTuple

from c_interface import PASSES
from cells import AXES, lines_through
from journal import cell_of
from recurrences import RECURRENCES

MOST_OFF = 1.3  # times the curve through its neighbours that a cell may take


class Best(NamedTuple):
    """The fastest public kernel of a cell's pass: times over a copy's and over wkvc's (None where wkvc has none)."""

    name: str
    of_copy: float
    of_wkvc: float
    errors: dict


class Row(NamedTuple):
    """A pass of a cell."""

    cell: object
    what: str
    ms: float  # None where there is no time
    of_copy: float
    errors: dict
    fault: str
    best: Best


def worst_of(errors):
    """The error of o, and of the worst gradient; NaN where there is none."""
    return errors.get("o", math.nan), max((e for name, e in errors.items() if name != "o"), default=math.nan)


def errors_text(errors):
    o, gradient = worst_of(errors)
    return f"error {o:.1e}" if math.isnan(gradient) else f"errors {o:.1e}, {gradient:.1e}"


def lines_of(cell, passes):
    """What a record says, in a line for each pass."""
    for what, found in passes.items():
        parts = [f"{name}: {fault}" for name, fault in found["faults"].items()]
        for name, ms in found["ms"].items():
            if name != "copy":
                ratio = ms / found["ms"]["copy"]
                parts.append(f"{name} {ms:.4f} ms, {ratio:.2f} x copy, {errors_text(found['errors'][name])}")
        yield f"{cell.title:40} {what:8} {'; '.join(parts)}"


def rows_of(records):
    """A row for each pass of each cell that was measured by itself, with the best of its peers."""
    own = {cell_of(record): record["passes"] for record in records if record["peer"] is None}
    rows = []
    for cell, passes in own.items():
        beside = [r for r in records if r["peer"] is not None and cell_of(r) == cell]
        for what, found in passes.items():
            ms = found["ms"].get("wkvc")
            of_copy = ms and ms / found["ms"]["copy"]
            errors, fault = found["errors"].get("wkvc", {}), found["faults"].get("wkvc", "")
            rows.append(Row(cell, what, ms, of_copy, errors, fault, best_of(beside, what)))
    return rows


def best_of(records, what):
    found = []
    for record in records:
        name, ms = record["peer"], record["passes"][what]["ms"]
        if name in ms:
            of_wkvc = ms[name] / ms["wkvc"] if "wkvc" in ms else None
            found.append(Best(name, ms[name] / ms["copy"], of_wkvc, record["passes"][what]["errors"][name]))
    return min(found, key=lambda best: best.of_copy, default=None)


class Off(NamedTuple):
    """A row that takes `times` what the curve through its neighbours along an axis says."""

    row: Row
    axis: str
    times: float


def off_their_curve(rows):
    """Rows more than MOST_OFF above or below the straight line, in logarithms, between their neighbours.

    Neighbours are the next smaller and the next larger cell along one axis that do not differ in anything else. What is
    compared is the time over that of a copy.
    """
    found = []
    for what in PASSES:
        timed = {row.cell: row for row in rows if row.what == what and row.ms is not None}
        for axis in AXES:
            for line in lines_through(timed, axis):
                for before, cell, after in zip(line, line[1:], line[2:]):
                    times = timed[cell].of_copy / between(axis, timed[before], cell, timed[after])
                    if not 1 / MOST_OFF <= times <= MOST_OFF:
                        found.append(Off(timed[cell], axis, times))
    return sorted(found, key=lambda off: -abs(math.log(off.times)))


def between(axis, before, cell, after):
    """The time over a copy's that the line through two rows has at the cell."""
    low, here, high = (math.log(getattr(c, axis)) for c in (before.cell, cell, after.cell))
    part = (here - low) / (high - low)
    return math.exp((1 - part) * math.log(before.of_copy) + part * math.log(after.of_copy))


def summary(journal):
    """Lines of text on each device and library of the journal."""
    lines = []
    for (device, library), records in journal.groups().items():
        last = records[-1]
        versions = f"commit {last['commit']}, wkvc {last['wkvc']}, torch {last['torch']}"
        lines.append(f"{device}, library {library}, {versions}")
        lines += summary_of(rows_of(records))
    return lines or [f"{journal.path} has no records"]


def summary_of(rows):
    columns = "cell", "pass", "ms", "of a copy", "errors", "best public kernel", "over wkvc", "its errors"
    lines = ["", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [table_line(row) for row in rows]
    cells = {row.cell for row in rows}
    lines.append(f"\n{len(cells)} cells, {sum(row.ms is not None for row in rows)} times")
    slower = [row for row in rows if row.best and row.best.of_wkvc is not None and row.best.of_wkvc < 1]
    worse = [row for row in rows if row.best and row.errors and is_worse(row.errors, row.best.errors)]
    for text, found in (
            (f"more than {MOST_OFF} x off their neighbours' curve",
             [f"{title(o.row)}: {o.times:.2f} x along {o.axis}" for o in off_their_curve(rows)]),
            ("without a time", [f"{title(row)}: {row.fault}" for row in rows if row.ms is None]),
            ("slower than a public kernel",
             [f"{title(r)}: {r.best.name} takes {r.best.of_wkvc:.2f} x" for r in slower]),
            ("errors above the public kernel's",
             [f"{title(r)}: {errors_text(r.errors)}; {r.best.name} {errors_text(r.best.errors)}" for r in worse])):
        lines += [f"\n{len(found)} {text}", *(f"  {line}" for line in found)]
    return lines


def is_worse(errors, others):
    return any(errors[name] > other for name, other in others.items() if name in errors)


def title(row):
    return f"{row.cell.title} {row.what}"


def table_line(row):
    own = ("", "", row.fault) if row.ms is None else (f"{row.ms:.4f}", f"{row.of_copy:.2f}", errors_text(row.errors))
    best = ("", "", "")
    if row.best:
        over = "" if row.best.of_wkvc is None else f"{row.best.of_wkvc:.2f}"
        best = (row.best.name, over, errors_text(row.best.errors))
    return f"| {row.cell.title} | {row.what} | {' | '.join((*own, *best))} |"


AXIS_TITLES = {"tokens": "tokens of a sequence", "heads": "heads of all sequences", "keys": "keys of a head"}


def plot(journal, axis, gpu, path):
    """Times over those of a copy along an axis: a panel for each recurrence, on the GPU that was measured last."""
    groups = [records for (device, _), records in journal.groups().items() if gpu.lower() in device.lower()]
    if not groups:
        sys.exit(f"{journal.path} has no records of {gpu or 'any device'}; measure with: curves.py run")
    rows = rows_of(groups[-1])
    panels = {name: line for name in RECURRENCES if len(line := longest_line(rows, name, axis)) > 1}
    if not panels:
        sys.exit(f"{journal.path} has no two cells that differ in {axis} alone")
    draw_panels(rows, panels, axis, path)


def longest_line(rows, name, axis):
    """The most cells of a recurrence along the axis, of the larger heads where several lines have as many."""
    cells = {row.cell for row in rows if row.cell.recurrence == name and row.ms is not None}
    return max(lines_through(cells, axis), key=lambda line: (len(line), line[0].keys), default=[])


def draw_panels(rows, panels, axis, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("a plot needs matplotlib: pip install matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    columns = min(5, len(panels))
    figure, axes = pyplot.subplots(-(-len(panels) // columns), columns, sharex=True, sharey=True, squeeze=False,
                                   figsize=(2.4 * columns + 1, 2.4 * -(-len(panels) // columns) + 1))
    for panel, (name, line) in zip(axes.flat, panels.items()):
        draw_panel(panel, [row for row in rows if row.cell in set(line)], axis)
        panel.set_title(name, fontsize="small")
    for panel in axes.flat[len(panels):]:
        panel.set_visible(False)
    figure.supxlabel(AXIS_TITLES[axis], fontsize="small")
    figure.supylabel("time / time of a copy of inputs and results", fontsize="small")
    handles = {label: handle for panel in axes.flat for handle, label in zip(*panel.get_legend_handles_labels())}
    figure.legend(handles.values(), handles.keys(), loc="upper center", ncols=4, fontsize="small", frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(path)


def draw_panel(panel, rows, axis):
    from matplotlib.ticker import LogLocator, NullLocator
    for what, style in zip(PASSES, ("-o", "--s")):
        label = "forward" if what == "forward" else "forward + backward"
        of_pass = sorted((row for row in rows if row.what == what), key=lambda row: getattr(row.cell, axis))
        best = [(getattr(row.cell, axis), row.best.of_copy) for row in of_pass if row.best]
        if best:
            panel.plot(*zip(*best), style, color="tab:gray", markersize=3, label=f"best public kernel, {label}")
        own = [(getattr(row.cell, axis), row.of_copy) for row in of_pass if row.ms is not None]
        if own:
            panel.plot(*zip(*own), style, color="tab:red", markersize=3, label=f"wkvc, {label}")
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter("{x:g}")
    panel.yaxis.set_minor_locator(NullLocator())
    panel.grid(alpha=0.3)
