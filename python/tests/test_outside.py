"""Functions of the language and what is around them: lines of mistakes that calls find, numbers from outside, names."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import wkvc
from wkvc.language import K, V, bf16, diag, exp, f32, outer, tanh

LINES = Path(__file__).read_text(encoding="utf-8").splitlines()
FACTOR = 1.0


def inputs(*names: str, keys: int = 16, values: int = 32) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    shapes = {"q": (keys,), "k": (keys,), "v": (values,), "g": ()}
    return {name: torch.rand(1, 20, 2, *shapes[name], generator=generator) - 0.5 for name in names}


def squared(S, q=bf16[K], k=bf16[K], v=bf16[V]):
    return S + outer((S @ k) * (S @ q) + f32(v), k), {"o": bf16(S @ q)}  # squared


def bent(S, q=bf16[K], k=bf16[K], v=bf16[V]):
    change = f32(v) - tanh(S @ k)  # bent
    return S + outer(change, k), {"o": bf16(S @ q)}


def left(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32[K].within(-1, 0)):
    return diag(exp(g)) * S + outer(v, k), {"o": bf16(S @ q)}  # left


def named_twice(S, q=bf16[K], k=bf16[K], v=bf16[V]):  # named_twice
    S = S + outer(v, k)
    return S, {"q": bf16(S @ q)}


def hidden(S, q=bf16[K], k=bf16[K], v=bf16[V], *, states=1.0):  # hidden
    S = S + outer(v, k)
    return S, {"o": bf16(states * (S @ q))}


def foreign(S, q=bf16[K], k=bf16[K], v=bf16[V], λ=f32):  # foreign
    return λ * S + outer(v, k), {"o": bf16(S @ q)}


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (squared, "feeds the next state, and is not affine in the state"),
        (bent, "feeds the next state, and is not affine in the state"),
        (left, "diag(exp(g)) stands on the right, S * diag(exp(g))"),
        (named_twice, "the output 'q' has the name of an input: choose another"),
        (hidden, "an option 'states' hides an argument of calls: choose another"),
        (foreign, "'λ' is no name of the language: expected letters, digits and _"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_mistakes_have_the_line_of_the_function(function: Callable[..., Any], message: str) -> None:
    line = next(n for n, text in enumerate(LINES, 1) if text.endswith(f"# {function.__name__}"))
    with pytest.raises(TypeError, match=re.escape(message)) as caught:
        wkvc.recurrence(function)
    assert str(caught.value).startswith(f"{__file__}:{line}: ")


def growing(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32):
    S = exp(g) * S + outer(v, k)  # growing
    return S, {"o": bf16(S @ q)}


def test_what_a_call_finds_has_the_line_of_the_function() -> None:
    line = next(n for n, text in enumerate(LINES, 1) if text.endswith("# growing"))
    with pytest.raises(ValueError, match=r"a decay may exceed 1.*\.within\(lo, 0\)") as caught:
        wkvc.recurrence(growing)(**inputs("q", "k", "v", "g"))
    assert str(caught.value).startswith(f"{__file__}:{line}: ")


def scaled(S, q=bf16[K], k=bf16[K], v=bf16[V]):
    S = S + outer(v, k)
    return S, {"o": bf16(FACTOR * (S @ q))}


def test_numbers_from_outside_stay_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    op = wkvc.recurrence(scaled)
    op(**inputs("q", "k", "v"))
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    with pytest.raises(ValueError, match="numbers outside of the function have changed since it was made: make them"):
        op(**inputs("q", "k", "v", keys=32))


def test_heads_are_one_number_or_two() -> None:
    with pytest.raises(TypeError, match=r"head is \(64, 64, 64\), expected keys and values of a head"):
        wkvc.recurrence(head=(64, 64, 64))(scaled)  # pyright: ignore[reportArgumentType]


def keys_first(S: torch.Tensor, x: Any) -> tuple[torch.Tensor, torch.Tensor]:
    S = S + torch.outer(x.k.float(), x.v.float())
    return S, x.q.shape[-1] ** -0.5 * (x.q.float() @ S)


def test_states_are_as_the_step_has_them() -> None:
    op = wkvc.from_torch(keys_first, q=bf16[K], k=bf16[K], v=bf16[V], state_layout="kv")
    given, start = inputs("q", "k", "v", values=16), torch.rand(1, 2, 16, 16)
    for found, expected in zip(
        op(**given, initial_state=start, output_final_state=True, mma="f32"),
        op.eager(**given, initial_state=start),
        strict=True,
    ):
        assert found is not None
        assert (found - expected).norm() < 1e-6 * expected.norm()
    states, token = start.clone(), {name: x[:, :1] for name, x in given.items()}
    o = wkvc.decode(op, **token, states=states)
    expected, last = op.eager(**token, initial_state=start)
    assert isinstance(o, torch.Tensor)
    assert (o - expected).norm() < 1e-6 * expected.norm()
    assert (states - last).norm() < 1e-6 * last.norm()


def test_the_printed_source_is_of_every_head() -> None:
    op = wkvc.from_torch(keys_first, q=bf16[K], k=bf16[K], v=bf16[V], state_layout="kv")
    assert "K.extent**-0.5 * (S_next @ q)" in op.python()
    made: dict[str, Any] = {}
    exec(compile(op.python(), "pasted", "exec"), made)
    given = inputs("q", "k", "v")
    found, expected = (function(**given, mma="f32")[0] for function in (made["keys_first"], op))
    assert torch.equal(found, expected)

    def odd(S: torch.Tensor, x: Any) -> tuple[torch.Tensor, torch.Tensor]:
        return S + torch.outer(x.v, x.k), (x.q.shape[-1] + 1.0) * (S @ x.q)

    with pytest.raises(ValueError, match="which is no power of an extent: make the number an option"):
        wkvc.from_torch(odd, q=f32[K], k=f32[K], v=f32[V]).python()
