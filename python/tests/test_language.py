"""Recurrences written in Python: the text of the C++ definitions, their results, and mistakes at the user's line."""

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch

import wkvc
from wkvc import _library
from wkvc.language import K, V, bf16, diag, exp, f16, f32, outer, relu, sigmoid, softplus, tanh

G = f32.within(-1e6, 0)
BETA = f32.within(0, 1)


def rwkv7(S, r=bf16[K], w=bf16[K], k=bf16[K], a=bf16[K], b=bf16[K], v=bf16[V]):
    log_w = -math.exp(-0.5) * sigmoid(f32(w))
    S = S * diag(exp(log_w)) + outer(S @ a, b) + outer(v, k)
    return S, {"o": bf16(S @ r)}


def rwkv6(S, r=bf16[K], w=bf16[K], k=bf16[K], v=bf16[V], u=bf16[K].of_head()):
    log_w = -exp(f32(w))
    uk = f32(u) * f32(k)
    return S * diag(exp(log_w)) + outer(v, k), {"o": bf16((S + outer(v, uk)) @ r)}


def gla(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32[K].within(-1e6, 0)):
    S = S * diag(exp(g)) + outer(v, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def simple_gla(S, q=bf16[K], k=bf16[K], v=bf16[V], g=G):
    S = exp(g) * S + outer(v, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def retnet(S, q=bf16[K], k=bf16[K], v=bf16[V], g=G.of_head()):
    S = exp(g) * S + outer(v, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def hgrn2(S, q=bf16[K], v=bf16[V], g=f32[K].within(-1e6, 0)):
    forget = exp(g)
    k = 1 - forget
    S = S * diag(forget) + outer(v, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def delta_net(S, q=bf16[K], k=bf16[K], v=bf16[V], beta=BETA):
    change = beta * (f32(v) - S @ k)
    S = S + outer(change, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def gated_delta_net(S, q=bf16[K], k=bf16[K], v=bf16[V], g=G, beta=BETA, *, scale=1.0):
    decayed = exp(g) * S
    change = beta * (f32(v) - decayed @ k)
    S = decayed + outer(change, k)
    return S, {"o": bf16(scale * K.extent**-0.5 * (S @ q))}


def kda(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32[K].within(-1e6, 0), beta=BETA):
    decayed = S * diag(exp(g))
    change = beta * (f32(v) - decayed @ k)
    S = decayed + outer(change, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def gdn2(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32[K].within(-1e6, 0), b=bf16[K], w=bf16[V]):
    decayed = S * diag(exp(g))
    erased = f32(b) * f32(k)
    written = f32(w) * f32(v)
    S = decayed + outer(written - decayed @ erased, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def comba(S, q=bf16[K], k=bf16[K], v=bf16[V], p=bf16[K], g=G, beta=BETA):
    change = beta * (f32(v) - S @ p)
    S = exp(g) * S + outer(change, k)
    return S, {"o": bf16(K.extent**-0.5 * (S @ q))}


def mamba2(S, x=bf16[V], dt=f32, A=f32.within(-1e6, 0).of_head(), B=bf16[K], C=bf16[K]):
    log_decay = (A * dt).within(-1e6, 0)
    S = exp(log_decay) * S + outer(dt * f32(x), B)
    return S, {"o": bf16(S @ C)}


HEADS = {"rwkv7": (64, 64), "rwkv6": (64, 64), "mamba2": (128, 64)}
TWINS = [rwkv7, rwkv6, gla, simple_gla, retnet, hgrn2, delta_net, gated_delta_net, kda, gdn2, comba, mamba2]


@pytest.mark.parametrize("function", TWINS)
def test_a_built_in_recurrence_has_the_same_text_in_python(function: Callable[..., Any]) -> None:
    head = HEADS.get(function.__name__, (128, 128))
    op = wkvc.recurrence(head=head)(function)
    assert op.text() == _library.emit(function.__name__, "")
    other = op.source.emit("", (32, 16), "f16", "bf16")
    assert other == _library.emit(function.__name__, "--head 32,16 --io f16 --mma bf16")


def inputs(dtype: torch.dtype = torch.float16) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 21, 2, 32, generator=generator).to(dtype) for _ in range(3))
    k = torch.nn.functional.normalize(k.float(), dim=-1).to(dtype)
    g, beta = (torch.rand(1, 21, 2, generator=generator) for _ in range(2))
    return [x.requires_grad_() for x in (q, k, v, -g, beta)]


def test_results_are_those_of_the_built_in_one() -> None:
    op = wkvc.recurrence(head=128)(gated_delta_net)
    for scale in (1.0, 2.0):
        given = inputs()
        settings = ({"scale": scale}, {"scale": scale * 32**-0.5})
        ops = zip((op, wkvc.gated_delta_net), settings, strict=True)
        results = [it(*given, output_final_state=True, **of) for it, of in ops]
        for found, expected in zip(*results, strict=True):
            assert torch.equal(found, expected)
        gradients = [torch.autograd.grad(o.float().sum() + S.sum(), given) for o, S in results]
        assert all(map(torch.equal, *gradients))


def test_calls_store_in_float32_what_is_declared_in_16_bits() -> None:
    given = [x.detach().float() for x in inputs()]
    found, _ = wkvc.recurrence(head=128)(gated_delta_net)(*given)
    expected, _ = wkvc.gated_delta_net(*given, scale=32**-0.5)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


def test_it_decodes_compiles_and_is_checked() -> None:
    op = wkvc.recurrence(head=128)(gated_delta_net)
    given = [x.detach() for x in inputs()]
    assert wkvc.check(op, dict(zip(op.family.names, given, strict=True)), scale=2.0).passed
    states = torch.zeros(1, 2, 32, 32)
    o = wkvc.decode(op, *(x[:, :1] for x in given), states=states)
    assert torch.allclose(o.float(), op(*given)[0][:, :1].float(), atol=2e-2)
    compiled = torch.compile(lambda *x: op(*x)[0], fullgraph=True)
    assert torch.equal(compiled(*given), op(*given)[0])
    assert torch.equal(
        wkvc.op(wkvc.recurrence(head=32)(gated_delta_net).text())(*map(_bf16, given))[0], op(*map(_bf16, given))[0]
    )


def _bf16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16() if x.dim() == 4 else x


def test_operands_are_as_the_definition_says_unless_a_call_does() -> None:
    op = wkvc.recurrence(head=32, compute="bf16")(delta_net)
    exact, coarse = wkvc.recurrence(head=32, compute="f32")(delta_net), [x.detach() for x in inputs()]
    q, k, v, _, beta = coarse
    assert torch.equal(op(q, k, v, beta)[0], wkvc.delta_net(q, k, v, beta, mma="bf16")[0])
    assert torch.equal(exact(q, k, v, beta)[0], wkvc.delta_net(q, k, v, beta, mma="f32")[0])
    assert torch.equal(exact(q, k, v, beta, mma="f16")[0], wkvc.delta_net(q, k, v, beta)[0])


def test_two_functions_of_one_name() -> None:
    def mine(S, k=bf16[K], v=bf16[V], *, twice=False):
        S = S + outer(v, k)
        return S, {"o": bf16((2.0 if twice else 1.0) * (S @ k))}

    def other():
        def mine(S, k=bf16[K], v=bf16[V]):
            S = 0.5 * S + outer(v, k)
            return S, {"o": bf16(S @ k)}

        return mine

    x = [torch.ones(1, 3, 1, 16, dtype=torch.bfloat16) for _ in range(2)]
    first, second = wkvc.recurrence(head=16)(mine), wkvc.recurrence(head=16)(other())
    assert first(*x)[0][0, :, 0, 0].tolist() == [16, 32, 48]
    assert first(*x, twice=True)[0][0, :, 0, 0].tolist() == [32, 64, 96]
    assert second(*x)[0][0, :, 0, 0].tolist() == [16, 24, 28]


# Mistakes: each line is marked, and the message begins with the marked line.


def no_state(k=bf16[K], v=bf16[V]):  # first line: no state
    return k, {"o": bf16(v)}


def no_declaration(S, k=bf16[K], v=None):  # first line: no declaration
    return S + outer(v, k), {"o": bf16(S @ k)}


def mixed(S, k=bf16[K], v=bf16[V], g=f32[V]):
    return S + outer(g * v, k), {"o": bf16(S @ k)}  # here


def rounded(S, k=bf16[K], v=bf16[V]):
    return S + outer(sigmoid(v), k), {"o": bf16(S @ k)}  # here


def wrong_axis(S, k=bf16[K], v=bf16[V]):
    return S + outer(k, v), {"o": bf16(S @ k)}  # here


def squared(S, k=bf16[K], v=bf16[V]):
    return S * S + outer(v, k), {"o": bf16(S @ k)}  # here


def bounded(S, k=bf16[K], v=bf16[V]):
    return tanh(S) + outer(v, k), {"o": bf16(S @ k)}  # here


def row_decay(S, k=bf16[K], v=bf16[V]):
    return S * diag(f32(v)) + outer(v, k), {"o": bf16(S @ k)}  # here


def values_times_state(S, k=bf16[K], v=bf16[V]):
    return S * f32(v) + outer(v, k), {"o": bf16(S @ k)}  # here


def branch(S, k=bf16[K], v=bf16[V], g=f32):
    S = exp(g) * S if g > 0 else S  # here
    return S + outer(v, k), {"o": bf16(S @ k)}


def with_numpy(S, k=bf16[K], v=bf16[V], g=f32):
    decay = numpy.exp(g)  # here
    return decay * S + outer(v, k), {"o": bf16(S @ k)}


def with_math(S, k=bf16[K], v=bf16[V], g=f32):
    decay = math.exp(g)  # here
    return decay * S + outer(v, k), {"o": bf16(S @ k)}


def with_torch(S, k=bf16[K], v=bf16[V], g=f32):
    decay = g.exp()  # here
    return decay * S + outer(v, k), {"o": bf16(S @ k)}


def cast_twice(S, k=bf16[K], v=bf16[V], g=f32):
    return f32(g) * S + outer(v, k), {"o": bf16(S @ k)}  # here


def infinite(S, k=bf16[K], v=bf16[V]):
    return math.inf * S + outer(v, k), {"o": bf16(S @ k)}  # here


def a_power(S, k=bf16[K], v=bf16[V], g=f32):
    return g**2 * S + outer(v, k), {"o": bf16(S @ k)}  # here


def an_empty_range(S, k=bf16[K], v=bf16[V], g=f32):
    return g.within(1, 0) * S + outer(v, k), {"o": bf16(S @ k)}  # here


def no_update(S, k=bf16[K], v=bf16[V]):  # first line: no update
    return S, {"o": bf16(f32(v) * (k @ k))}


def unused(S, k=bf16[K], v=bf16[V], g=f32):  # first line: unused
    return S + outer(v, k), {"o": bf16(S @ k)}


def a_matrix(S, k=bf16[K], v=bf16[V]):
    return S + outer(v, k), {"o": bf16(S)}  # here


def no_outputs(S, k=bf16[K], v=bf16[V]):  # first line: no outputs
    return S + outer(v, k)


def stored_in_16_bits(S, k=bf16[K], v=bf16[V]):  # first line: stored as it is
    return S + outer(v, k), {"o": k}


MISTAKES: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (no_state, TypeError, "expected the state as the first parameter"),
    (no_declaration, TypeError, r"the input 'v' has no declaration, such as v=bf16\[K\]"),
    (mixed, TypeError, r"'\*': 'g' is f32 but 'v' is bf16; dtypes are never promoted: write f32\(v\)"),
    (rounded, TypeError, r"'sigmoid': 'v' is bf16, but arithmetic is in f32; .* write f32\(v\)"),
    (wrong_axis, TypeError, "'outer': 'k' is a K vector; expected a V vector"),
    (squared, TypeError, "'S' and 'S' are V×K matrices; the next state is linear in the state before"),
    (bounded, TypeError, "'tanh': 'S' is a V×K matrix; expected a vector or a number"),
    (row_decay, TypeError, r"'diag': 'f32\(v\)' is a V vector; expected a K vector: states decay by keys"),
    (values_times_state, TypeError, r"a matrix is multiplied as S \* diag\(d\) with a K vector"),
    (branch, TypeError, "'g' is a symbol of every token, and has no truth"),
    (with_numpy, TypeError, "'g' is a symbol of every token, and no array"),
    (with_math, TypeError, "'g' is a symbol of every token, and no number"),
    (with_torch, AttributeError, "'g' has no exp; functions are in wkvc.language"),
    (cast_twice, TypeError, r"'g' is already f32: drop the cast"),
    (infinite, ValueError, "the constant inf is not finite"),
    (a_power, TypeError, "a power of 'g' is no operation of the language"),
    (an_empty_range, ValueError, r"the range \[1, 0\] is empty"),
    (no_update, ValueError, "no token changes it"),
    (unused, ValueError, "no result depends on g: leave them out"),
    (a_matrix, TypeError, "'S' is a V×K matrix; expected a vector or a number"),
    (no_outputs, TypeError, 'expected "return S, '),
    (stored_in_16_bits, TypeError, "the output 'o' is k; expected a vector or a number, in the dtype"),
]


def marked_line(function: Callable[..., Any]) -> int:
    lines, first = inspect.getsourcelines(function)
    return next(number for number, line in enumerate(lines, first) if "# here" in line or "# first line" in line)


@pytest.mark.parametrize(("function", "kind", "message"), MISTAKES, ids=lambda x: getattr(x, "__name__", ""))
def test_mistakes_name_their_line(function: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        wkvc.recurrence(head=16)(function)
    assert str(caught.value).startswith(f"{__file__}:{marked_line(function)}: ")


def test_what_no_kernel_has_is_refused_with_names_of_the_text() -> None:
    def wide(S, k=bf16[K], v=bf16[V]):
        return S + outer(v, k), {"o": bf16(S @ k)}

    with pytest.raises(ValueError, match=r"key_dim.*17|head.*17|17"):
        wkvc.recurrence(head=17)(wide)
    with pytest.raises(ValueError, match=r"sram_budget|shared memory"):
        wkvc.recurrence(head=16, sram=10**9)(wide)
    with pytest.raises(ValueError, match=r"f64|compute"):
        wkvc.recurrence(head=16, compute="f64")(wide)  # pyright: ignore[reportArgumentType]


def test_options_are_values() -> None:
    def gated(S, k=bf16[K], v=bf16[V], x=f32, *, gate="exp", power=1):
        decay = exp(-softplus(x)) if gate == "exp" else sigmoid(x)
        for _ in range(power - 1):
            decay = decay * sigmoid(x)
        return decay * S + outer(v, k), {"o": bf16(S @ k)}

    op = wkvc.recurrence(head=16)(gated)
    assert op.text() != op.text(gate="sigmoid") != op.text(gate="sigmoid", power=3)
    with pytest.raises(TypeError, match="takes no gat; known names are"):
        op(torch.ones(1, 1, 1, 16), torch.ones(1, 1, 1, 16), torch.ones(1, 1, 1), gat="exp")
    with pytest.raises(TypeError, match="expected numbers, texts and truths"):
        op.text(gate=object())


def test_f16_and_more_functions() -> None:
    def rectified(S, k=f16[K], v=f16[V], g=f32.within(-1, 0)):
        write = relu(f32(v)) / (1 + exp(g))
        return exp(g) * S + outer(write, k), {"o": f16(S @ k), "sum": f32(k) @ f32(k)}

    assert 'rec.output "sum"' in wkvc.recurrence(head=16)(rectified).text()
