"""Mistakes in steps of plain PyTorch: each line is marked, and the message begins with the marked line."""

import math
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from torch.nn.functional import normalize, softplus

import wkvc
from test_language import marked_line
from wkvc.language import K, V, bf16, f32


def write(x):
    return torch.outer(x["v"].float(), x["k"].float())


def read(S, x):
    return (S @ x["k"].float()).bfloat16()


def promoted(S, x):
    return S + torch.outer(x["v"] + x["g"], x["k"].float()), read(S, x)  # here


def in_16_bits(S, x):
    return S + torch.outer(x["v"], x["k"]), read(S, x)  # here


def rounded_between(S, x):
    return S + torch.outer((2 * x["v"].float()).bfloat16().float(), x["k"].float()), read(S, x)  # here


def row_decay(S, x):
    return S * x["v"].float()[:, None] + write(x), read(S, x)  # here


def a_row_of_values(S, x):
    return S * x["v"].float() + write(x), read(S, x)  # here


def transposed(S, x):
    return S + torch.outer(x["k"].float(), x["v"].float()), read(S, x)  # here


def keys_by_keys(S, x):
    return S @ torch.outer(x["k"].float(), x["k"].float()) + write(x), read(S, x)  # here


def added_in_place(S, x):
    S.add_(write(x))  # here
    return S, read(S, x)


def augmented(S, x):
    S += write(x)  # here
    return S, read(S, x)


def an_element(S, x):
    S[0] = x["k"].float()  # here
    return S, read(S, x)


def branch(S, x):
    S = x["g"].exp() * S if x["g"] > 0 else S  # here
    return S + write(x), read(S, x)


def truth(S, x):
    if x["g"]:  # here
        S = 0.5 * S
    return S + write(x), read(S, x)


def item(S, x):
    return x["g"].item() * S + write(x), read(S, x)  # here


def with_numpy(S, x):
    return numpy.exp(x["g"]) * S + write(x), read(S, x)  # here


def with_math(S, x):
    return math.exp(x["g"]) * S + write(x), read(S, x)  # here


def squared(S, x):
    return S * S + write(x), read(S, x)  # here


def bounded(S, x):
    return torch.tanh(S) + write(x), read(S, x)  # here


def bounded_read(S, x):
    kept = torch.tanh(S @ x["k"].float())  # here
    return S + torch.outer(kept, x["k"].float()), read(S, x)


def a_decay_of_the_state(S, x):
    y = S @ x["k"].float()
    return (y @ y) * S + write(x), read(S, x)  # here


def unused(S, x):  # first line: g
    return S + write(x), read(S, x)


def no_update(S, x):  # first line: no update
    return S, read(S, x)


def undeclared(S, x):
    return x["w"].exp() * S + write(x), read(S, x)  # here


def undeclared_attribute(S, x):
    return x.w.exp() * S + write(x), read(S, x)  # here


def not_mapped(S, x):
    k = normalize(x["k"].float(), dim=-1)  # here
    return S + torch.outer(x["v"].float(), k), read(S, x)


def no_method(S, x):
    return x["g"].cumsum(0) * S + write(x), read(S, x)  # here


def an_argument(S, x):
    return softplus(x["g"], beta=2) * S + write(x), read(S, x)  # here


def another_tensor(S, x):
    return torch.ones(()) * S + write(x), read(S, x)  # here


def another_dtype(S, x):
    return S + write(x), (S @ x["k"].float()).to(torch.float64)  # here


def plain_sum(S, x):
    return x["k"].float().sum() * S + write(x), read(S, x)  # here


def a_part(S, x):
    return S + torch.outer(x["v"].float(), x["k"].float()[:8]), read(S, x)  # here


def another_shape(S, x):
    return S + torch.outer(x["v"].float(), x["k"].float().view(4, 4)[0]), read(S, x)  # here


def a_power(S, x):
    return x["g"] ** 3 * S + write(x), read(S, x)  # here


def turned_state(S, x):  # first line: the next state is [K, V]
    return (S + write(x)).T, read(S, x)


def turned_output(S, x):  # first line: the output is [V, 1]
    return S + write(x), S @ x["k"].float()[:, None]


def stored_as_it_came(S, x):  # first line: an input is no output
    return S + write(x), x["k"]


def no_pair(S, x):  # first line: no outputs
    return S + write(x)


def three_parameters(S, x, y):  # first line: (S, x)
    return S + write(x), read(S, x)


MISTAKES: list[tuple[Callable[..., Any], type[Exception], str]] = [
    (promoted, TypeError, r"'\+': 'v' is bf16, but arithmetic is in f32; dtypes are never promoted.* v\.float\(\)"),
    (in_16_bits, TypeError, r"'outer': 'v' is bf16, but arithmetic is in f32; .* write v\.float\(\)"),
    (rounded_between, TypeError, r"was rounded to bf16; only outputs are rounded: compute in f32, and cast last"),
    (row_decay, TypeError, r"'v\.float\(\)' is over V, .* states decay by keys, S \* w with w over K"),
    (a_row_of_values, TypeError, r"'S' is \[V, K\] and 'v\.float\(\)' is \[V\]; K and V stay apart even where"),
    (transposed, TypeError, r"'\+': 'S' is \[V, K\] and .* is \[K, V\]; K and V stay apart"),
    (keys_by_keys, TypeError, r"'outer': .* which makes \[K, K\]; .* write torch\.outer\(S @ a, b\)"),
    (added_in_place, TypeError, r"'add_' changes a tensor in place; .* write S = S \+"),
    (augmented, TypeError, r"'\+=' changes a tensor in place"),
    (an_element, TypeError, r"'\[…\] =' changes a tensor in place"),
    (branch, TypeError, "'g' is a symbol of every token, and has no truth"),
    (truth, TypeError, "'g' is a symbol of every token, and has no truth"),
    (item, TypeError, "'item': 'g' is a symbol of every token, and no number"),
    (with_numpy, TypeError, "'numpy': 'g' is a symbol of every token, and no number"),
    (with_math, TypeError, "'float': 'g' is a symbol of every token, and no number"),
    (squared, TypeError, "'S' and 'S' are V×K matrices; the next state is linear in the state before"),
    (bounded, TypeError, "'tanh': 'S' is a V×K matrix; expected a vector or a number"),
    (bounded_read, TypeError, r"'tanh\(.*\)' feeds the next state, and is not affine in the state"),
    (a_decay_of_the_state, TypeError, r"'y @ y' feeds the next state, and is not affine in the state|'.*@.*' feeds"),
    (unused, ValueError, "no result depends on g: leave them out"),
    (no_update, ValueError, "no token changes it"),
    (undeclared, TypeError, r"x\['w'\]: no such input is declared; declared are k, v, g"),
    (undeclared_attribute, TypeError, r"x\['w'\]: no such input is declared; declared are k, v, g"),
    (not_mapped, TypeError, "'normalize' is not mapped to the language; mapped are add, sub, .*einsum"),
    (no_method, TypeError, "'cumsum' is not mapped to the language; mapped are"),
    (an_argument, TypeError, "'softplus': got an unexpected keyword argument 'beta'"),
    (another_tensor, TypeError, "'mul': a tensor that is no input was given: declare it"),
    (another_dtype, TypeError, r"'to': torch\.float64 was given, expected torch\.float32"),
    (plain_sum, TypeError, r"'sum': 'k\.float\(\)' is summed over K; expected a product that is a contraction"),
    (a_part, TypeError, r"parts of 'k\.float\(\)' were asked for; a token's tensors are taken whole"),
    (another_shape, TypeError, r"'view': 'k\.float\(\)' is \[K\], and \[4, 4\] was asked for"),
    (a_power, TypeError, "the exponent is 3, expected 2, 0.5, -0.5, -1"),
    (turned_state, TypeError, r"the next state is .* \[K, V\], expected \[V, K\] in f32"),
    (turned_output, TypeError, r"the output 'o' is .* \[V, 1\], expected a vector or a number"),
    (stored_as_it_came, TypeError, r"the output 'o' is k \[K\], expected a vector or a number of f32"),
    (no_pair, TypeError, r'expected "return S, \{"o": ….bfloat16\(\)\}"'),
    (three_parameters, TypeError, r"expected the parameters \(S, x\)"),
]


@pytest.mark.parametrize(("step", "kind", "message"), MISTAKES, ids=lambda x: getattr(x, "__name__", ""))
def test_mistakes_name_their_line(step: Callable[..., Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message) as caught:
        wkvc.from_torch(step, k=bf16[K], v=bf16[V], g=f32, head=16)
    assert str(caught.value).startswith(f"{__file__}:{marked_line(step)}: ")


def test_mistakes_of_declarations() -> None:
    def step(S, x):
        return S + write(x), read(S, x)

    first = re.escape(f"{__file__}:{step.__code__.co_firstlineno}: step: ")
    with pytest.raises(TypeError, match=first + "'v' is torch.bfloat16; expected an input, such as k=bf16"):
        wkvc.from_torch(step, k=bf16[K], v=torch.bfloat16)
    with pytest.raises(TypeError, match=first + "no input is declared"):
        wkvc.from_torch(step)
    with pytest.raises(TypeError, match=first + "'S' is .*expected an input"):
        wkvc.from_torch(step, k=bf16[K], v=bf16[V], S=f32)
    with pytest.raises(TypeError, match="expected a function that def makes"):
        wkvc.from_torch(lambda S, x: (S + write(x), read(S, x)), k=bf16[K], v=bf16[V])
    with pytest.raises(ValueError, match=r'state_layout is .*, expected "vk" or "kv"'):
        wkvc.from_torch(step, k=bf16[K], v=bf16[V], state_layout="bad")  # pyright: ignore[reportArgumentType]
