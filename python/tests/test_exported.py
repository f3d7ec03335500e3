"""Programs of torch.export in processes that load them."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import wkvc
from conftest import rwkv7_inputs
from test_values import GATED_DELTA_NET

EXPORTED = """
import sys
import torch
import wkvc
if len(sys.argv) > 2:
    wkvc.op(sys.argv[2])
inputs, expected = torch.load(sys.argv[1] + ".pt")
assert torch.equal(torch.export.load(sys.argv[1] + ".pt2").module()(*inputs), expected)
"""


@pytest.mark.parametrize("of_text", [False, True])
def test_an_exported_program_in_another_process(of_text: bool, tmp_path: Path) -> None:
    """As docs/pytorch.md says: it imports wkvc, and makes the operators of texts."""

    class Model(torch.nn.Module):
        def forward(self, r: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
            o, _ = wkvc.op(GATED_DELTA_NET)(r, k, v, w[..., 0], w[..., 1]) if of_text else seven(r, w, k, v)
            assert o is not None
            return o

    def seven(r: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return wkvc.rwkv7(r, w, k, v, r, k, mma="f32")

    inputs = tuple(tensor.detach() for tensor in rwkv7_inputs()[:4])
    file, text = str(tmp_path / "model"), tmp_path / "text.mlir"
    text.write_text(GATED_DELTA_NET, encoding="utf-8")
    torch.save((inputs, Model()(*inputs)), f"{file}.pt")
    torch.export.save(torch.export.export(Model(), inputs), f"{file}.pt2")
    command = [sys.executable, "-c", EXPORTED, file]
    result = subprocess.run([*command, *([str(text)] if of_text else [])], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    if of_text:
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
