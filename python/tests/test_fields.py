"""Every field of a configuration from PyTorch, with gradients: a call trains as the default, or is a ValueError."""

import re
import subprocess
import sys
from itertools import product

import pytest
import torch

import wkvc
from conftest import KEYS, VALUES, a_state, gradients, rwkv7_inputs, worst

BOUND = 2e-2  # between f16 operands of two orders of sums; a wrong schedule is off by 1
TRAINED = {  # values of each option with which this recurrence trains
    "--chunk": ["16", "auto"],
    "--save-every": ["16", "48", "auto"],
    "--saved": ["f16", "bf16", "f32"],
    "--segments": ["2", "3,2", "auto,3"],
    "--teams": ["2", "1,2", "auto,2"],
    "--rounds": ["1", "2"],
    "--cluster": ["1"],
    "--parts": ["1", "2", "auto"],
    "--scales": ["always", "guarded", "always,guarded", "guarded,always"],
    "--form": ["strips", "auto"],
    "--blocks": ["1", "2,3", "auto,2"],
    "--sram": ["100KB"],
    "--arch": ["sm_90a"],
    "--teams 2 --rounds 2": [""],
    "--teams 2 --rounds 2 --cluster 2": [""],
    "--parts 2 --segments 2,3 --saved f16 --save-every 32": [""],
    "--parts 2 --scales guarded": [""],
}
REFUSED = {  # values of each option that no call takes
    "--head": ["16"],
    "--io": ["f32"],
    "--mma": ["f32"],  # beside the argument mma
    "--state": ["f16"],
    "--state-layout": ["kv"],
    "--states-every": ["16"],
    "--pass": ["both"],
    "--grad": ["r"],
    "--shared": ["r"],
    "--chunk": ["1", "17", "32", "272"],  # decays are too steep for 32
    "--save-every": ["33", "0"],
    "--saved": ["f8"],
    "--segments": ["0", "1,300"],
    "--teams": ["16", "3", "1,3"],
    "--rounds": ["3"],
    "--cluster": ["2", "3"],
    "--parts": ["0", "3", "33"],
    "--scales": ["never"],
    "--form": ["warpgroups", "rows"],  # not for rwkv7
    "--blocks": ["99"],
    "--sram": ["1000"],
    "--arch": ["sm_80"],
    "--set": ["scale=2"],
}


def cases(table: dict[str, list[str]]) -> list[str]:
    return [f"{option} {value}".strip() for option, values in table.items() for value in values]


def inputs() -> list[torch.Tensor]:
    return [*rwkv7_inputs(), a_state()]


def trained(options: str) -> list[torch.Tensor]:
    """Results and gradients of a call."""
    given = inputs()
    o, state = wkvc.rwkv7(*given[:6], initial_state=given[6], output_final_state=True, options=options)
    assert state is not None
    return [o, state, *gradients([o, state], given)]


NAMES = ["o", "final_state", *(f"d{name}" for name in "rwkvab"), "dinitial_state"]


def test_the_tables_have_every_option() -> None:
    command = [sys.executable, "-m", "wkvc", "emit", "--help"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    options = re.findall(r"^ +(--[\w-]+)", text[text.index("Configuration") :], re.MULTILINE)
    assert set(options) == {*REFUSED}
    assert set(options) - {option for option in TRAINED if " " not in option} == {
        *(
            "--head",
            "--io",
            "--set",
            "--mma",
            "--state",
            "--state-layout",
            "--states-every",
            "--pass",
            "--grad",
            "--shared",
        )
    }


@pytest.mark.parametrize("options", cases(TRAINED))
def test_a_field_trains_as_the_default(options: str) -> None:
    failures = []
    for name, found, default in zip(NAMES, trained(options), trained(""), strict=True):
        failures += worst(name, found, default.double(), BOUND)
    assert not failures


@pytest.mark.parametrize("options", cases(REFUSED))
@pytest.mark.parametrize("grad", [True, False])
def test_a_field_is_refused_at_the_call(options: str, grad: bool) -> None:
    option = options.partition(" ")[0]
    if options == "--chunk 1" and not grad:
        pytest.skip("single tokens have a forward kernel")
    with torch.set_grad_enabled(grad), pytest.raises(ValueError, match=option):
        wkvc.rwkv7(*inputs()[:6], options=options)


@pytest.mark.parametrize(("keys", "values"), [(256, 256), (16, 272), (208, 208)])
def test_heads_that_no_block_has_room_for_train(keys: int, values: int) -> None:
    """The same in parts as in as many heads with a part of the values each."""
    generator = torch.Generator().manual_seed(1)
    draws = [torch.randn(1, 20, 1, width, generator=generator) for width in (keys, keys, keys, values, keys, keys)]
    kk = torch.nn.functional.normalize(draws[4], dim=-1)
    given = [*draws[:4], -kk, kk * draws[5].sigmoid()]
    whole = [tensor.clone().requires_grad_() for tensor in given]
    found = gradients([wkvc.rwkv7(*whole)[0]], whole)
    alone = [tensor.clone().requires_grad_() for tensor in given]
    o = torch.cat([wkvc.rwkv7(*alone[:3], v, *alone[4:])[0] for v in alone[3].split(16, dim=-1)], dim=-1)
    for name, gradient, expected in zip("rwkvab", found, gradients([o], alone), strict=True):
        assert (gradient - expected).norm() < 1e-2 * expected.norm(), f"d{name}"


def test_saved_memory_of_the_formula_is_that_of_the_library() -> None:
    """Each call compares the two: here with parts, packed sequences and sizes that are no multiples of anything."""
    for options, lengths in product(
        ("--parts 2", "--parts 2 --save-every 16 --saved f16"), ([5], [17, 20], [0, 1, 36])
    ):
        tokens = [tensor.detach()[:1, : sum(lengths)].requires_grad_() for tensor in rwkv7_inputs()]
        starts = torch.tensor([0, *lengths]).cumsum(0)
        for cu_seqlens in (None, starts):
            o, _ = wkvc.rwkv7(*tokens, options=options, cu_seqlens=cu_seqlens)
            o.sum().backward()
    assert (KEYS, VALUES) == (16, 32)  # of which two parts are one tile each
