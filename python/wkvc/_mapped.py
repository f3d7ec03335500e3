"""Functions of PyTorch as operations of the language: what each does to values and axes of symbols."""

import numbers
import operator
from collections.abc import Callable, Sequence
from types import EllipsisType
from typing import Any, NoReturn

import torch

from . import _text, language
from ._symbols import Axes, Symbol
from .language import Dtype, Expr, diag, dot, outer, refuse


def _shown(x: Any) -> str:
    return f"'{x.text}' is [{', '.join(x.axes)}]"


def _expect_f32(what: str, x: Any) -> None:
    if not isinstance(x, Symbol):
        refuse(f"'{what}': {type(x).__name__} was given, expected a tensor of the token")
    if x.stored:
        refuse(
            f"'{what}': '{x.text}' was rounded to {x.storage}; only outputs are rounded: compute in f32, and cast last"
        )
    if x.storage != "f32":
        refuse(
            f"'{what}': '{x.text}' is {x.storage}, but arithmetic is in f32; dtypes are never promoted, and kernels "
            f"round no values between: write {x.text}.float()"
        )


def _expect_apart(what: str, axes: Axes, x: Any, y: Any) -> Axes:
    """Refuses a result that has an axis twice."""
    if axes.count("K") > 1 or axes.count("V") > 1:
        shape = f"[{', '.join(axes)}]"
        mend = "expected V and K once; for S @ torch.outer(a, b) write torch.outer(S @ a, b)"
        refuse(f"'{what}': {_shown(x)} and {_shown(y)}, which makes {shape}; {mend}")
    return axes


def _mismatch(what: str, x: Any, y: Any) -> NoReturn:
    refuse(f"'{what}': {_shown(x)} and {_shown(y)}; K and V stay apart even where they are equal")


def _broadcast(what: str, x: Any, y: Any) -> Axes:
    """The axes of a result; numbers of Python have none."""
    sides = [side.axes if isinstance(side, Symbol) else () for side in (x, y)]
    most = max(map(len, sides))
    pairs = list(zip(*(("1",) * (most - len(axes)) + axes for axes in sides), strict=True))
    if any(a != b and "1" not in (a, b) for a, b in pairs):
        _mismatch(what, x, y)
    return _expect_apart(what, tuple(b if a == "1" else a for a, b in pairs), x, y)


def _binary(sign: str, combine: Callable[[Any, Any], Expr]) -> Callable[[Any, Any], Symbol]:
    """An operation on elements, which PyTorch's functions call `input` and `other`."""

    def mapped(input: Any, other: Any) -> Symbol:
        for side in (input, other):
            if not isinstance(side, numbers.Real):
                _expect_f32(sign, side)
        axes = _broadcast(sign, input, other)
        return Symbol(combine(*(side.value if isinstance(side, Symbol) else side for side in (input, other))), axes)

    return mapped


def _unary(function: Callable[[Expr], Expr], what: str) -> Callable[[Any], Symbol]:
    def mapped(input: Any) -> Symbol:
        _expect_f32(what, input)
        return Symbol(function(input.value), input.axes)

    return mapped


def _exact(x: Expr) -> Expr:
    """An operand of a contraction, which takes any dtype: a cast to f32 changes no element."""
    return x.operands[0] if x.kind == "cast" else x


def _product(x: Any, y: Any) -> Expr:
    """The product by elements, with rows and columns as diagonals and outer products."""
    axes = [side.axis if isinstance(side, Expr) else "1" for side in (x, y)]
    if axes == ["K", "V"]:
        x, y, axes = y, x, ["V", "K"]
    if axes == ["V", "K"]:
        return outer(_exact(x), _exact(y))
    if axes == ["K", None]:
        x, y, axes = y, x, [None, "K"]
    if axes == [None, "K"]:
        return x * diag(y)
    if set(axes) == {None, "V"}:
        w = (x if axes[0] == "V" else y).text
        refuse(
            f"'*': '{w}' is over V, and multiplies each row of values by a number of its own, which no kernel does; "
            "states decay by keys, S * w with w over K, or by a number"
        )
    return x * y


def _quotient(x: Any, y: Any) -> Expr:
    return _product(x, language.reciprocal(y)) if isinstance(y, Expr) else x / y


def _square(x: Expr) -> Expr:
    return x * x


def _rsqrt(x: Expr) -> Expr:
    return language.reciprocal(language.sqrt(x))


def _log_sigmoid(x: Expr) -> Expr:
    return -language.softplus(-x)


_POWERS = {2: _square, 0.5: language.sqrt, -0.5: _rsqrt, -1: language.reciprocal}


def _pow(input: Any, exponent: Any) -> Symbol:
    if exponent not in _POWERS:
        refuse(f"'**': the exponent is {exponent!r}, expected {', '.join(map(str, _POWERS))}; write exp(n * log(x))")
    return _unary(_POWERS[exponent], "**")(input)


def _silu(input: Any, inplace: bool = False) -> Symbol:
    return _elementwise("silu", language.silu, input, inplace)


def _relu(input: Any, inplace: bool = False) -> Symbol:
    return _elementwise("relu", language.relu, input, inplace)


def _elementwise(what: str, function: Callable[[Expr], Expr], x: Any, inplace: bool) -> Symbol:
    if inplace:
        refuse(f"'{what}': inplace=True changes a tensor in place; leave it out")
    return _unary(function, what)(x)


# Contractions.


def _matmul(input: Any, other: Any) -> Symbol:
    for side in (input, other):
        _expect_f32("@", side)
    if not (1 <= input.ndim <= 2 and 1 <= other.ndim <= 2):
        refuse(f"'@': {_shown(input)} and {_shown(other)}; expected matrices and vectors of one token")
    if input.axes[-1] != other.axes[0]:
        _mismatch("@", input, other)
    axes = _expect_apart("@", (*input.axes[:-1], *other.axes[1:]), input, other)
    if input.axes[-1] == "1":
        return Symbol(_product(input.value, other.value), axes)
    first, second = (input, other) if other.value.axis is not None else (other, input)
    return Symbol(dot(_exact(first.value), _exact(second.value)), axes)


def _outer(input: Any, vec2: Any) -> Symbol:
    for side in (input, vec2):
        _expect_f32("outer", side)
        if side.ndim != 1:
            refuse(f"'outer': {_shown(side)}; expected a vector")
    axes = _expect_apart("outer", (*input.axes, *vec2.axes), input, vec2)
    return Symbol(_product(input.value, vec2.value), axes)


def _einsum(equation: str, *operands: Any) -> Symbol:
    """Two operands: the product with a dimension for each letter, and sums over letters that the result has not."""
    given, arrow, result = equation.replace(" ", "").replace("...", "").partition("->")
    words = given.split(",")
    if not arrow or len(words) != len(operands) or len(words) != 2:
        refuse(f"'einsum': '{equation}' is not mapped: expected two operands and a result, such as vk,k->v")
    letters = result + "".join(sorted(set("".join(words)) - set(result)))
    product = _times(*(_spread(x, word, letters) for x, word in zip(operands, words, strict=True)))
    return _sum(product, tuple(range(len(result), len(letters)))) if len(letters) > len(result) else product


def _spread(x: Any, word: str, letters: str) -> Symbol:
    """The operand with a dimension for each letter."""
    _expect_f32("einsum", x)
    if len(word) != x.ndim or len(set(word)) != len(word):
        refuse(f"'einsum': {_shown(x)}, but '{word}' has {len(word)} letters; expected one for each dimension")
    return Symbol(x.value, tuple(x.axes[word.index(letter)] if letter in word else "1" for letter in letters))


def _sum(input: Any, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Symbol:
    _expect_f32("sum", input)
    chosen = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    dims = [_place(input, number) for number in chosen]
    value = input.value
    for number in dims:
        value = _summed(value, input.axes[number])
    kept = (("1" if keepdim else "") if place in dims else axis for place, axis in enumerate(input.axes))
    return Symbol(value, tuple(filter(None, kept)))


def _summed(x: Expr, axis: str) -> Expr:
    """The sum of a product over an axis, which is a contraction."""
    expected = "expected a product that is a contraction: (S * k).sum(-1) over K, (q * k).sum() or k.square().sum()"
    if axis == "1":
        return x
    if x.kind == "neg":
        return -_summed(x.operands[0], axis)
    if x.kind == "scale":
        return x.operands[0] * _summed(x.operands[1], axis)
    for one, other in (x.operands, x.operands[::-1]) if x.kind == "mul" else ():
        if one.kind == "constant":
            return one.attributes["value"] * _summed(other, axis)
    if (x.kind, axis) not in (("diag_mul", "K"), ("mul", x.axis)):
        refuse(f"'sum': '{x.text}' is summed over {axis}; {expected}")
    return dot(*map(_exact, x.operands))


def _mean(input: Any, dim: int | Sequence[int] | None = None, keepdim: bool = False) -> Symbol:
    total = _sum(input, dim, keepdim=True)
    summed = [size for size, left in zip(input.shape, total.shape, strict=True) if left != size]
    return _times(_sum(input, dim, keepdim), 1 / torch.Size(summed).numel())


# Views.


def _place(x: Symbol, dim: int, more: int = 0) -> int:
    """A dimension, counted from the first one."""
    if not -x.ndim - more <= dim < x.ndim + more:
        refuse(f"{_shown(x)}, and has no dimension {dim}")
    return dim % (x.ndim + more)


def _viewed(x: Symbol, axes: Axes) -> Symbol:
    return Symbol(x.value, axes, x.stored)


def _unsqueeze(input: Symbol, dim: int) -> Symbol:
    place = _place(input, dim, 1)
    return _viewed(input, (*input.axes[:place], "1", *input.axes[place:]))


def _squeeze(input: Symbol, dim: int | None = None) -> Symbol:
    places = range(input.ndim) if dim is None else [_place(input, dim)]
    return _viewed(input, tuple(axis for n, axis in enumerate(input.axes) if axis != "1" or n not in places))


def _transpose(input: Symbol, dim0: int = -2, dim1: int = -1) -> Symbol:
    axes, one, other = list(input.axes), _place(input, dim0), _place(input, dim1)
    axes[one], axes[other] = axes[other], axes[one]
    return _viewed(input, tuple(axes))


def _view(input: Symbol, *shape: Any) -> Symbol:
    """Dimensions of one element come and go, the others stay in order."""
    sizes = shape if isinstance(shape[0], int) else shape[0]
    left = [axis for axis in input.axes if axis != "1"]
    viewed = _viewed(input, tuple("1" if size == 1 or not left else left.pop(0) for size in sizes))
    if left or any(size not in (-1, found) for size, found in zip(sizes, viewed.shape, strict=True)):
        refuse(f"'view': {_shown(input)}, and {list(sizes)} was asked for; expected these, and dimensions of 1")
    return viewed


def _getitem(input: Symbol, index: Any) -> Symbol:
    """`x[:, None]`, `x[None]`, `x[..., None]`."""
    items = index if isinstance(index, tuple) else (index,)
    if not all(item is None or isinstance(item, EllipsisType) or item == slice(None) for item in items):
        refuse(f"'[…]': parts of '{input.text}' were asked for; a token's tensors are taken whole, [:, None] or [None]")
    axes, left = [], list(input.axes)
    whole = sum(item is not None for item in items if not isinstance(item, EllipsisType))
    if whole > len(left):
        refuse(f"'[…]': {_shown(input)}, and {whole} dimensions were asked for")
    for item in items:
        taken = 0 if item is None else len(input.axes) - whole if isinstance(item, EllipsisType) else 1
        axes += ["1"] if item is None else left[:taken]
        left = left[taken:]
    return _viewed(input, (*axes, *left))


def _itself(input: Symbol) -> Symbol:
    return input


# Casts.


def _cast(x: Symbol, name: str) -> Symbol:
    if name == x.storage:
        return x
    if name == "f32" and not x.stored:
        return Symbol(Expr("cast", x.value.axis, [x.value], f"{x.text}.float()"), x.axes)
    _expect_f32(f"to {name}", x)
    return Symbol(x.value, x.axes, Dtype(name)(x.value))  # pyright: ignore[reportArgumentType]


def _to(input: Symbol, dtype: Any) -> Symbol:
    wanted = dtype.dtype if isinstance(dtype, Symbol) else dtype
    if wanted not in _text.NAMES:
        refuse(f"'to': {dtype} was given, expected {', '.join(map(str, _text.NAMES))}, or a tensor of the token")
    return _cast(input, _text.NAMES[wanted])


def _casting(name: str) -> Callable[[Symbol], Symbol]:
    return lambda input: _cast(input, name)


_times = _binary("*", _product)
_divided = _binary("/", _quotient)
_UNARY = {
    "neg": operator.neg,
    "exp": language.exp,
    "log": language.log,
    "sigmoid": language.sigmoid,
    "tanh": language.tanh,
    "sqrt": language.sqrt,
    "rsqrt": _rsqrt,
    "reciprocal": language.reciprocal,
    "square": _square,
    "softplus": language.softplus,
    "log_sigmoid": _log_sigmoid,
}
MAPPED: dict[str, Callable[..., Any]] = {
    "add": _binary("+", operator.add),
    "sub": _binary("-", operator.sub),
    "mul": _times,
    "div": _divided,
    "truediv": _divided,
    "pow": _pow,
    **{name: _unary(function, name) for name, function in _UNARY.items()},
    "relu": _relu,
    "silu": _silu,
    "matmul": _matmul,
    "mv": _matmul,
    "mm": _matmul,
    "dot": _matmul,
    "outer": _outer,
    "einsum": _einsum,
    "sum": _sum,
    "mean": _mean,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "t": _transpose,
    "T": _transpose,
    "mT": _transpose,
    "view": _view,
    "reshape": _view,
    "getitem": _getitem,
    "contiguous": _itself,
    "clone": _itself,
    "float": _casting("f32"),
    "bfloat16": _casting("bf16"),
    "half": _casting("f16"),
    "to": _to,
    "type_as": _to,
}
