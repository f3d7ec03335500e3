"""bench/schedules.py: units drawn at random, its arguments and its journals. It measures on GPUs alone."""

import json
import math
import sys
from pathlib import Path

import pytest

from conftest import ROOT, run_bench

sys.path.insert(0, str(ROOT / "bench"))

import schedules


def test_units_are_drawn_alike_from_a_seed() -> None:
    units = schedules.drawn_units(40, 1)
    assert units == schedules.drawn_units(40, 1)
    assert units != schedules.drawn_units(40, 2)
    for cell, _ in units:
        assert math.prod(cell.size) * cell.keys <= schedules.MOST_NUMBERS
        assert all(extent % 16 == 0 for extent in cell.head)


def test_each_schedule_of_a_drawn_unit_is_there_once_after_the_default() -> None:
    for unit in schedules.drawn_units(40, 1):
        found = schedules.schedules_of(unit, drawn=True)
        assert found[0] == ""
        assert len(set(found)) == len(found)
        assert not any("{" in schedule for schedule in found)


def test_a_summary_leaves_out_a_line_that_was_cut_short(tmp_path: Path) -> None:
    journal = tmp_path / "some.jsonl"
    line = json.dumps({"unit": "it", "ms": {"": 2.0, "--teams 2": 1.0, "copy": 0.5}})
    journal.write_text(f"{line}\n{line[:20]}")
    result = run_bench("schedules.py", "--journal", str(journal), "--summary")
    assert result.returncode == 0
    assert result.stdout == "it: 2.00; 1.000 --teams 2, 2.000 default; copy 0.500\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--summary"], "can't be read: No such file or directory"),
        (["--prepare", "--library", "none"], "none is not there: cmake --build build --target wkvc_shared"),
        (["--drawn", "0"], "--drawn is 0; expected 1 or more"),
        (["--seed", "1"], "--seed is of --drawn: give both"),
    ],
)
def test_mistakes_are_told_in_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    result = run_bench("schedules.py", "--journal", str(tmp_path / "none.jsonl"), *arguments)
    assert result.returncode != 0
    assert message in result.stderr.splitlines()[-1]


def test_another_file_is_no_journal(tmp_path: Path) -> None:
    journal = tmp_path / "other.jsonl"
    journal.write_text('{"a": 1}\n{"a": 2}\n')
    result = run_bench("schedules.py", "--journal", str(journal), "--summary")
    assert result.returncode == 1
    assert "line 1 of" in result.stderr
