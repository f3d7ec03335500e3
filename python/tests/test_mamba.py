"""Functions under state-spaces/mamba's names against Mamba-2's equation."""

from typing import Any

import pytest
import torch
from torch.nn.functional import pad, silu, softplus

from test_operators import expect_near
from wkvc.mamba import mamba_chunk_scan_combined, mamba_split_conv1d_scan_combined, selective_state_update

BATCH, TOKENS, HEADS, GROUPS, VALUES, KEYS = 2, 29, 4, 2, 16, 32


def draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + seed))


def inputs() -> dict[str, torch.Tensor]:
    return {
        "x": draw(BATCH, TOKENS, HEADS, VALUES),
        "dt": draw(BATCH, TOKENS, HEADS),
        "A": -torch.exp(draw(HEADS)),
        "B": draw(BATCH, TOKENS, GROUPS, KEYS),
        "C": draw(BATCH, TOKENS, GROUPS, KEYS, seed=1),
    }


def scan(x: Any, dt: Any, A: Any, B: Any, C: Any, S: Any, D: Any, z: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The equation token by token; dt is what it is used as."""
    B, C = (t.repeat_interleave(HEADS // GROUPS, 2) for t in (B, C))
    outputs = []
    for t in range(x.shape[1]):
        S = torch.exp(A * dt[:, t])[..., None, None] * S
        S = S + (dt[:, t, :, None] * x[:, t])[..., None] * B[:, t, :, None]
        outputs.append((S @ C[:, t, :, :, None])[..., 0] + D * x[:, t])
    return torch.stack(outputs, 1) * silu(z), S


@pytest.mark.parametrize("skip", [(HEADS,), (HEADS, VALUES)])
def test_the_scan(skip: tuple[int, ...]) -> None:
    given, start = inputs(), draw(BATCH, HEADS, VALUES, KEYS)
    D, z, bias = draw(*skip), draw(BATCH, TOKENS, HEADS, VALUES), draw(HEADS)
    options = {"dt_softplus": True, "dt_limit": (0.1, 1.5), "return_final_states": True}
    o, S = mamba_chunk_scan_combined(
        **given,
        chunk_size=256,
        D=D,
        z=z,
        dt_bias=bias,
        initial_states=start,
        **options,  # pyright: ignore
    )
    wide = {name: t.double() for name, t in given.items()}
    dt = softplus(wide.pop("dt") + bias.double()).clamp(0.1, 1.5)
    each = D.double() if D.dim() == 2 else D.double()[:, None]
    expected_o, expected_S = scan(**wide, dt=dt, S=start.double(), D=each, z=z.double())
    expect_near("o", o, expected_o, 2.5e-3)
    expect_near("final_states", S, expected_S, 2.5e-3)


def test_the_scan_with_defaults_and_gradients() -> None:
    given = inputs() | {"dt": softplus(draw(BATCH, TOKENS, HEADS))}
    given = {name: t.requires_grad_() for name, t in given.items()}
    o = mamba_chunk_scan_combined(**given, chunk_size=64)
    wide = {name: t.detach().double().requires_grad_() for name, t in given.items()}
    zero = torch.zeros(BATCH, HEADS, VALUES, KEYS, dtype=torch.float64)
    x = given["x"].detach().double()
    outputs = []
    B, C = (wide[name].repeat_interleave(HEADS // GROUPS, 2) for name in "BC")
    for t in range(TOKENS):
        zero = torch.exp(wide["A"] * wide["dt"][:, t])[..., None, None] * zero
        zero = zero + (wide["dt"][:, t, :, None] * wide["x"][:, t])[..., None] * B[:, t, :, None]
        outputs.append((zero @ C[:, t, :, :, None])[..., 0])
    assert isinstance(o, torch.Tensor)
    expect_near("o", o, torch.stack(outputs, 1).detach(), 2.5e-3)
    do = draw(*x.shape, seed=3)
    found = torch.autograd.grad(o, list(given.values()), do)
    expected = torch.autograd.grad(torch.stack(outputs, 1), list(wide.values()), do.double())
    for name, a, b in zip(given, found, expected, strict=True):
        expect_near(f"d{name}", a, b, 4e-3)


@pytest.mark.parametrize(("norm", "is_before_gate"), [(False, True), (True, True), (True, False)])
def test_a_layer_between_its_projections(norm: bool, is_before_gate: bool) -> None:
    """The convolution, the scan, the norm and the projection against the same in float64."""
    width, channels = HEADS * VALUES, HEADS * VALUES + 2 * GROUPS * KEYS
    zxbcdt = draw(BATCH, TOKENS, width + channels + HEADS)
    given = (draw(channels, 4), draw(channels), draw(HEADS), -torch.exp(draw(HEADS)), draw(HEADS))
    weight, out = draw(width), draw(24, width)
    options = {"rmsnorm_weight": weight, "norm_before_gate": is_before_gate} if norm else {}
    o, S = mamba_split_conv1d_scan_combined(
        zxbcdt, *given, headdim=VALUES, ngroups=GROUPS, outproj_weight=out, return_final_states=True, **options
    )
    kernel, bias, dt_bias, A, D = (t.double() for t in given)
    z, xbc, dt = zxbcdt.double().split([width, channels, HEADS], -1)
    rows = [pad(xbc, (0, 0, 3, 0))[:, t : t + 4].transpose(1, 2) for t in range(TOKENS)]
    xbc = silu(torch.stack([(row * kernel).sum(-1) + bias for row in rows], 1))
    x, B, C = (
        t.unflatten(-1, (n, -1))
        for t, n in zip(xbc.split([width, GROUPS * KEYS, GROUPS * KEYS], -1), (HEADS, GROUPS, GROUPS), strict=True)
    )
    start = torch.zeros(BATCH, HEADS, VALUES, KEYS, dtype=torch.float64)
    plain = torch.full_like(x, 40)  # silu(z) is 40 then
    expected, expected_S = scan(x, softplus(dt + dt_bias), A, B, C, start, D[:, None], plain)
    expected, gate = expected.flatten(2) / 40, silu(z)
    if norm:
        each = (expected if is_before_gate else expected * gate).unflatten(-1, (GROUPS, -1))
        expected = (each / (each.square().mean(-1, keepdim=True) + 1e-6).sqrt()).flatten(2) * weight.double()
    expected = (expected if norm and not is_before_gate else expected * gate) @ out.double().T
    expect_near("o", o, expected, 2.5e-3)
    expect_near("final_states", S, expected_S, 2.5e-3)
    with pytest.raises(ValueError, match="activation is 'relu', expected 'silu', 'swish' or None"):
        mamba_split_conv1d_scan_combined(zxbcdt, *given, headdim=VALUES, activation="relu")


@pytest.mark.parametrize("skip", [(HEADS,), (HEADS, VALUES)])
def test_tokens_one_by_one(skip: tuple[int, ...]) -> None:
    given, D, z, bias = inputs(), draw(*skip), draw(BATCH, TOKENS, HEADS, VALUES), draw(HEADS)
    o, S = mamba_chunk_scan_combined(**given, D=D, z=z, dt_bias=bias, dt_softplus=True, return_final_states=True)
    pool = torch.zeros(3, HEADS, VALUES, KEYS)
    slots = torch.tensor([2, 0], dtype=torch.int32)
    wide = lambda t: t[..., None].expand(*t.shape, VALUES)  # noqa: E731  as Mamba-2's layers expand numbers of a head
    A = given["A"][:, None, None].expand(HEADS, VALUES, KEYS)
    tokens = [
        selective_state_update(
            pool,
            given["x"][:, t],
            wide(given["dt"][:, t]),
            A,
            given["B"][:, t],
            given["C"][:, t],
            wide(D) if D.dim() == 1 else D,
            z[:, t],
            wide(bias),
            dt_softplus=True,
            state_batch_indices=slots,
        )
        for t in range(TOKENS)
    ]
    expect_near("tokens", torch.stack(tokens, 1), o.double(), 2.5e-3)
    expect_near("states", pool[slots.long()], S.double(), 2.5e-3)
    assert not pool[1].any()


def test_mistakes() -> None:
    given = inputs()
    with pytest.raises(ValueError, match="seq_idx was given: pass the bounds of the sequences as cu_seqlens"):
        mamba_chunk_scan_combined(**given, seq_idx=torch.zeros(BATCH, TOKENS))
    with pytest.raises(ValueError, match="dt has a number for each value: Mamba-2 has one for each head"):
        selective_state_update(
            torch.zeros(BATCH, HEADS, VALUES, KEYS),
            given["x"][:, 0],
            draw(BATCH, HEADS, VALUES),
            given["A"],
            given["B"][:, 0],
            given["C"][:, 0],
        )
    with pytest.raises(ValueError, match=r"the option dt_most is '-1\.0'"):
        mamba_chunk_scan_combined(**given, dt_limit=(0.0, -1.0))
