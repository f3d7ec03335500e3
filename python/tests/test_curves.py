"""bench/curves.py from the first cell to the plot, on the CPU: its reference, its report, calls of public kernels."""

import inspect
import math
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import wkvc
from conftest import ROOT, run_bench

sys.path.insert(0, str(ROOT / "bench"))

import cells
import curves
import curves_report
import peers
from journal import Journal
from recurrences import RECURRENCES, draw
from reference import Reference, piece_length

IDENTITY = {"device": "some GPU", "library": "0123"}
VERSIONS = {"commit": "abc", "wkvc": "0.1.0", "torch": "2", "cuda": "13"}


@pytest.mark.parametrize("name", RECURRENCES)
def test_the_reference_in_pieces_is_the_loop_over_tokens(name: str) -> None:
    recurrence, tokens, heads = RECURRENCES[name], 80, [(0, 0), (1, 2)]
    keys, values = head = recurrence.head(32)
    assert piece_length(tokens) < tokens
    x = draw(name, (2, tokens, 3), head, "f32", 0, "cpu")
    reference = Reference(recurrence, x, head, heads)
    given = {n: reference.part(t, n in recurrence.parameters).double().requires_grad_() for n, t in x.items()}
    state, outputs = torch.zeros(len(heads), values, keys, dtype=torch.float64), []
    for token in range(tokens):
        at = {n: t if n in recurrence.parameters else t[token] for n, t in given.items()}
        output, state = recurrence.step(state, at)
        outputs.append(output)
    o = torch.stack(outputs)
    names = [n for n in reference.results if n != "o"]
    gradients = torch.autograd.grad(o, [given[n[1:]] for n in names], given["do"])
    for n, expected in zip(["o", *names], [o, *gradients], strict=True):
        assert torch.allclose(reference.results[n], expected, rtol=1e-11, atol=1e-13), n


def loop_in_f32(x: dict[str, torch.Tensor], _: tuple[int, int, int]) -> torch.Tensor:
    """RWKV-7 as a public kernel of its own."""
    recurrence = RECURRENCES["rwkv7"]
    values, keys = x["v"].shape[-1], x["k"].shape[-1]
    state, outputs = torch.zeros(*x["v"][:, 0].shape[:2], values, keys), []
    for token in range(x["v"].shape[1]):
        output, state = recurrence.step(state, {n: x[n][:, token].float() for n in recurrence.tokens})
        outputs.append(output)
    return torch.stack(outputs, 1).bfloat16()


def wrong(x: dict[str, torch.Tensor], size: tuple[int, int, int]) -> torch.Tensor:
    return 1.25 * loop_in_f32(x, size)


def unfinished(x: dict[str, torch.Tensor], size: tuple[int, int, int]) -> torch.Tensor:
    return loop_in_f32(x, size).masked_fill(torch.arange(size[1]).view(1, -1, 1, 1) == size[1] - 1, math.nan)


def test_a_public_kernel_beside_wkvc() -> None:
    paths = {"library": str(Path(wkvc.__file__).parent / "libwkvc.so"), "recurrences": ""}
    bench = curves.Bench(SimpleNamespace(device="cpu", rounds=2, milliseconds=1, **paths))
    base, _ = cells.TINY
    cell = cells.Cell("rwkv7", **base)
    passes = curves.measure(bench, cell, peers.Peer("loop", loop_in_f32, "torch"))
    for what, found in passes.items():
        assert found["faults"] == {}
        assert found["ms"].keys() == {"copy", "wkvc", "loop"}
        for name in ("wkvc", "loop"):
            assert found["errors"][name].keys() == {"o"} | ({f"d{n}" for n in "rwkvab"} if what == "both" else set())
            assert all(error < 3e-3 for error in found["errors"][name].values())
    for call, fault in (
        (wrong, "Wrong: o is off by 2.5e-01"),
        (unfinished, "Wrong: o is not finite everywhere"),
        (None, "TypeError: 'NoneType' object is not callable"),
    ):
        inputs = curves.Inputs(bench, cell)
        found = curves.measure_pass(bench, inputs, "forward", peers.Peer("it", call, "torch"))  # type: ignore[arg-type]
        assert found["faults"] == {"it": fault}
        assert found["ms"].keys() == {"copy", "wkvc"}


def run_tiny(journal: Path, *more: str) -> str:
    library = str(Path(wkvc.__file__).parent / "libwkvc.so")
    arguments = ("--cells", "tiny", "--device", "cpu", "--rounds", "3", "--library", library)
    result = run_bench("curves.py", "run", "--journal", str(journal), *arguments, *more)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()[-1]


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    journal = tmp_path / "tiny.jsonl"
    assert run_tiny(journal, "--seconds", "0").startswith("0 measured in 0 s, 7 left: run again")
    assert run_tiny(journal, "--only", "kda", "mamba2").startswith("2 measured")
    journal.write_text(journal.read_text()[:-40])  # as a run leaves it that was ended while it wrote
    assert run_tiny(journal).startswith("6 measured")
    assert run_tiny(journal).startswith("0 measured in 0 s, 0 left")
    assert all(line.count('"kind"') == 1 for line in journal.read_text().splitlines())
    records = list(Journal(journal).records.values())
    assert len(records) == 7
    for record in records:
        for what, found in record["passes"].items():
            assert found["faults"] == {}
            assert all(ms > 0 for ms in found["ms"].values())
            assert len(found["errors"]["wkvc"]) > (1 if what == "both" else 0)
            assert all(error < 5e-3 for error in found["errors"]["wkvc"].values())
    summary = run_bench("curves.py", "summary", "--journal", str(journal)).stdout
    assert "cpu, library " in summary
    assert "7 cells, 14 times" in summary
    assert "\n0 without a time" in summary
    pytest.importorskip("matplotlib")
    drawn = tmp_path / "curves.svg"
    result = run_bench("curves.py", "plot", "--journal", str(journal), "--axis", "tokens", "-o", str(drawn))
    assert result.returncode == 0, result.stderr
    assert "</svg>" in drawn.read_text()


def test_list() -> None:
    library = str(Path(wkvc.__file__).parent / "libwkvc.so")
    result = run_bench("curves.py", "list", "--cells", "tiny", "--library", library)
    assert result.stdout.startswith("rwkv7 1,16,2,16 bf16/f16\n"), result.stderr
    assert result.stdout.endswith("\n7 cells, 0 of 14 passes refused\n")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu(tmp_path: Path) -> None:
    result = run_bench("curves.py", "run", "--journal", str(tmp_path / "none.jsonl"))
    assert result.returncode == 1
    assert result.stderr == (
        "curves.py: there is no GPU here; --device cpu --cells tiny tests this program without one\n"
    )


def test_without_the_program_of_texts(tmp_path: Path) -> None:
    arguments = ("--device", "cpu", "--library", str(tmp_path), "--recurrences", str(tmp_path / "none"))
    result = run_bench("curves.py", "run", "--journal", str(tmp_path / "none.jsonl"), *arguments)
    assert result.returncode == 1
    assert "none is not there: cmake --build build --target bench_recurrences" in result.stderr


def a_pass(errors: dict[str, float], faults: dict[str, str] | None = None, **ms: float) -> dict[str, Any]:
    names = [name for name in ms if name != "copy"]
    return {"ms": ms, "errors": {name.replace("_", " "): errors for name in names}, "faults": faults or {}}


def a_cell(tokens: int) -> cells.Cell:
    return cells.Cell("rwkv7", **{**cells.BASE, "tokens": tokens})


def summary_of(journal: Journal) -> str:
    return "\n".join(curves_report.summary(Journal(journal.path)))


def test_cells_off_their_neighbours_curve(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal")
    for tokens, ms in ((512, 1.0), (1024, 2.0), (4096, 4.0), (8192, 12.0), (16384, 16.0)):
        passes = {what: a_pass({"o": 1e-3}, wkvc=ms, copy=1.0) for what in ("forward", "both")}
        journal.append("record", IDENTITY, a_cell(tokens), None, passes=passes, **VERSIONS)
    summary = summary_of(journal)
    # Between their neighbours, the line at 8192 tokens has 8 ms, that at 4096 the third of 2 and two thirds of 12.
    for title, times in (("8192", 1.5), ("4096", 4 / math.exp((math.log(2) + 2 * math.log(12)) / 3))):
        assert f"rwkv7 1,{title},32,128 bf16/f16 forward: {times:.2f} x along tokens" in summary
    assert "\n4 more than 1.3 x off their neighbours' curve" in summary


def test_public_kernels_beside(tmp_path: Path) -> None:
    journal, cell = Journal(tmp_path / "journal"), a_cell(512)
    refused = {"ms": {}, "errors": {}, "faults": {"wkvc": "too many bytes"}}
    own = {"forward": a_pass({"o": 2e-3}, wkvc=1.0, copy=0.5), "both": refused}
    journal.append("record", IDENTITY, cell, None, passes=own, **VERSIONS)
    for name, ms, error in (("slow", 3.0, 1e-3), ("fast", 0.5, 1e-3)):
        found = {"ms": {"wkvc": 1.0, "copy": 0.5, name: ms}, "errors": {name: {"o": error}}, "faults": {}}
        passes = {"forward": found, "both": {"ms": {}, "errors": {}, "faults": {name: "no"}}}
        journal.append("record", IDENTITY, cell, name, passes=passes, **VERSIONS)
    summary = summary_of(journal)
    assert "1 slower than a public kernel\n  rwkv7 1,512,32,128 bf16/f16 forward: fast takes 0.50 x" in summary
    assert "1 errors above the public kernel's" in summary
    assert "1 without a time\n  rwkv7 1,512,32,128 bf16/f16 both: too many bytes" in summary


def test_what_ends_its_process_is_left_out(tmp_path: Path) -> None:
    journal, cell = Journal(tmp_path / "journal"), a_cell(512)
    for ended in (False, True):
        journal.append("begun", IDENTITY, cell, "peer")
        assert Journal(journal.path).ended_its_process(IDENTITY, cell, "peer") == ended
    assert not Journal(journal.path).ended_its_process({**IDENTITY, "device": "another"}, cell, "peer")


def test_cells() -> None:
    found = cells.cells_of(cells.FULL)
    assert len(found) == len(set(found)) >= 80
    assert {cell.tokens for cell in found} >= {1, 1 << 17}
    assert {cell.heads for cell in found} >= {1, 1024}
    assert {cell.keys for cell in found} == {32, 64, 128, 256}
    assert {cell.recurrence for cell in found} == set(RECURRENCES)
    sizes = [cell.size for cell in found]
    assert all(b * h == cell.heads for cell, (b, _, h) in zip(found, sizes, strict=True))


def checked_module(name: str) -> SimpleNamespace:
    """The module's functions, which only look at what they are given."""

    class Checked:
        def __getattr__(self, function: str) -> Any:
            signature = inspect.signature(inspect.unwrap(getattr(import_module(name), function)))

            def call(*arguments: torch.Tensor, **options: Any) -> tuple[torch.Tensor, None]:
                given = signature.bind(*arguments, **options).arguments
                assert "kwargs" not in given  # what it ignores
                values = given["v"][:, :: given.get("num_householder", 1)]
                products = [t.sum() for t in given.values() if isinstance(t, torch.Tensor) and t.requires_grad]
                return values + sum(products), None

            return call

    return Checked()  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "peer"),
    [(n, p) for n, of_one in peers.PEERS.items() for p in of_one if p.module.startswith("fla.")],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_calls_of_flash_linear_attention(name: str, peer: peers.Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Inputs, arguments and gradients fit the signatures of its functions; nothing is computed."""
    monkeypatch.setattr(peers, "import_module", checked_module)
    size, head = (2, 16, 64), RECURRENCES[name].head(32)
    x = draw(name, size, head, "bf16", 0, "cpu")
    with peers.environment_of(peer):
        o, gradients = peers.contestant(peer, size, [x]).both(0)
    results = peers.results_of(peer, o, gradients)
    assert results["o"].shape == x["do"].shape
    for result, tensor in results.items():
        if result != "o":
            assert tensor.shape == x[result[1:]].shape
    reference = Reference(RECURRENCES[name], x, head, [(1, 3)])
    assert results.keys() <= peers.reference_of(peer, x, reference).results.keys() | {"du"}
