"""The language of recurrences in Python: what one token does to one head's state.

    from wkvc.language import K, V, bf16, exp, f32, outer

    @wkvc.recurrence(head=(128, 128), compute="f16")
    def gated_delta_net(S, q=bf16[K], k=bf16[K], v=bf16[V], g=f32.within(-1e6, 0), beta=f32.within(0, 1), *, scale=1.0):
        decayed = exp(g) * S
        change = beta * (f32(v) - decayed @ k)
        S = decayed + outer(change, k)
        return S, {"o": bf16(scale * K.extent**-0.5 * (S @ q))}

The function runs on symbols, once for each head and each choice of options: numbers that it reads from outside must
not change. `K.extent` and `V.extent` are the keys and values of that head. Its first parameter is the state, V rows and
K columns in f32. The other parameters are inputs, [B, T, H, K], [B, T, H, V] or [B, T, H], in the order of the
function; `.of_head()` makes one a parameter of each head, `.within(lo, hi)` promises a range. Keyword-only parameters
are options, which calls set. The function returns the next state, and the outputs by name, each in the dtype that
stores the output. Values have the names of the variables that they are assigned to.

Dtypes are never promoted: arithmetic takes f32 only, and `f32(x)` is the only way there. Contractions (`@`, `outer`)
take any dtype, round their operands to the compute dtype and give f32. Mistakes are a TypeError or a ValueError that
begins with the file and line of the expression.
"""

import math
import numbers
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn

import torch

__all__ = [
    "K",
    "V",
    "bf16",
    "diag",
    "dot",
    "exp",
    "f16",
    "f32",
    "log",
    "outer",
    "reciprocal",
    "relu",
    "sigmoid",
    "silu",
    "softplus",
    "sqrt",
    "tanh",
]

_SHAPES = {"K": "a K vector", "V": "a V vector", "1": "a number", None: "a V×K matrix"}


_extents: ContextVar[dict[str, int]] = ContextVar("extents")  # of the head that a function runs for


@contextmanager
def head_of(keys: int, values: int) -> Iterator[None]:
    """A head that functions run for: `K.extent` and `V.extent`."""
    token = _extents.set({"K": keys, "V": values})
    try:
        yield
    finally:
        _extents.reset(token)


class Dim:
    """The axis of a vector: keys or values."""

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def extent(self) -> int:
        """How many there are, inside a function of the language: a call's head says so."""
        extents = _extents.get(None)
        if extents is None:
            refuse(f"{self.name}.extent: a head has extents inside a function of the language alone", ValueError)
        return extents[self.name]

    def __repr__(self) -> str:
        return self.name


K, V = Dim("K"), Dim("V")


_INSIDE = tuple(os.path.dirname(file) + os.sep for file in (__file__, torch.__file__))


def place() -> str:
    """Where the user's code stands: the file and line of the innermost frame outside this package and PyTorch."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_INSIDE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def refuse(message: str, kind: type[Exception] = TypeError, at: str | None = None) -> NoReturn:
    raise kind(f"{at or place()}: {message}")


class Given:
    """An input as a function declares it: a dtype, an axis, a range, and whether it is of a head."""

    def __init__(self, dtype: str, axis: str = "1", within: tuple[float, float] | None = None, of_head: bool = False):
        self.dtype, self.axis, self.range, self.is_of_head = dtype, axis, within, of_head

    def within(self, lo: float, hi: float) -> "Given":
        """The same, whose elements are promised to lie in [lo, hi]."""
        return Given(self.dtype, self.axis, checked_range(lo, hi), self.is_of_head)

    def of_head(self) -> "Given":
        """The same as a parameter: [H, K], [H, V] or [H]."""
        return Given(self.dtype, self.axis, self.range, of_head=True)


class Dtype(Given):
    """A dtype: `bf16[K]` is an input over keys, `f32` a number, and `f32(x)` the value x in that dtype."""

    def __init__(self, name: str) -> None:
        super().__init__(name)

    def __getitem__(self, dim: Any) -> Given:
        if not isinstance(dim, Dim):
            refuse(
                f"{self.dtype}[{dim!r}]: expected {self.dtype}[K] or {self.dtype}[V]; {self.dtype} alone is a number"
            )
        return Given(self.dtype, dim.name)

    def __call__(self, x: "Expr") -> "Expr | Stored":
        _expect_expr(self.dtype, x)
        if x.dtype == self.dtype:
            refuse(f"{self.dtype}({x.text}): '{x.text}' is already {self.dtype}: drop the cast")
        if self.dtype == "f32":
            return Expr("cast", x.axis, [x], f"f32({x.text})")
        return Stored(x, self.dtype)

    def __repr__(self) -> str:
        return self.dtype


# Any: as a default, a declaration stands for the value that the function gets.
bf16: Any = Dtype("bf16")
f16: Any = Dtype("f16")
f32: Any = Dtype("f32")


class Stored:
    """An output: a value, and the dtype that stores it."""

    def __init__(self, value: "Expr", dtype: str) -> None:
        if value.axis is None:
            refuse(f"{dtype}({value.text}): '{value.text}' is a V×K matrix; expected a vector or a number")
        self.value, self.dtype = value, dtype

    def __getattr__(self, name: str) -> NoReturn:
        raise TypeError(f"{place()}: {self.dtype}({self.value.text}) is an output: arithmetic is in f32")


def checked_range(lo: Any, hi: Any) -> tuple[float, float]:
    if not all(isinstance(x, numbers.Real) and math.isfinite(x) for x in (lo, hi)):
        refuse(f"the range [{lo}, {hi}] is not finite", ValueError)
    if lo > hi:
        refuse(f"the range [{lo}, {hi}] is empty: lo must not exceed hi", ValueError)
    return float(lo), float(hi)


class Expr:
    """A vector, number or matrix of one token."""

    __array_priority__ = 1000  # numpy leaves operators to this class

    def __init__(
        self, kind: str, axis: str | None, operands: "list[Expr]", text: str, dtype: str = "f32", **attributes: Any
    ) -> None:
        self.kind, self.axis, self.operands, self.dtype, self.attributes = kind, axis, operands, dtype, attributes
        self.text = text if len(text) <= 40 else text[:37] + "..."
        self.name: str | None = None
        self.at = place()

    def within(self, lo: float, hi: float) -> "Expr":
        """The same value, whose elements are promised to lie in [lo, hi]."""
        _expect_f32("within", self)
        if self.axis is None:
            refuse(f"'within': '{self.text}' is a V×K matrix; expected a vector or a number")
        return Expr("assume", self.axis, [self], self.text, range=checked_range(lo, hi))

    def __add__(self, other: Any) -> "Expr":
        return _sum("add", "+", self, other)

    def __radd__(self, other: Any) -> "Expr":
        return _sum("add", "+", other, self)

    def __sub__(self, other: Any) -> "Expr":
        return _sum("sub", "-", self, other)

    def __rsub__(self, other: Any) -> "Expr":
        return _sum("sub", "-", other, self)

    def __mul__(self, other: Any) -> "Expr":
        return _times_diagonal(self, other) if isinstance(other, Diagonal) else _product(self, other)

    def __rmul__(self, other: Any) -> "Expr":
        return _product(other, self)

    def __truediv__(self, other: Any) -> "Expr":
        if isinstance(other, Expr):
            return _product(self, reciprocal(other))
        return _product(self, 1 / _constant(other))

    def __rtruediv__(self, other: Any) -> "Expr":
        return _product(other, reciprocal(self))

    def __neg__(self) -> "Expr":
        return _unary("neg", "-", self)

    def __matmul__(self, other: Any) -> "Expr":
        return dot(self, other)

    def __pow__(self, other: Any) -> NoReturn:
        refuse(f"'**': a power of '{self.text}' is no operation of the language; write products, or exp(n * log(x))")

    def __bool__(self) -> bool:  # noqa: PLE0304
        refuse(f"'{self.text}' is a symbol of every token, and has no truth: use options, or arithmetic such as relu")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, _: self.__bool__()
    __hash__ = object.__hash__

    def __float__(self) -> NoReturn:
        refuse(f"'{self.text}' is a symbol of every token, and no number: use functions of wkvc.language, not of math")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse(f"'{self.text}' is a symbol of every token, and no array: use functions of wkvc.language, not of numpy")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        refuse(f"'{self.text}' has no {name}; functions are in wkvc.language: exp, sigmoid, outer, …", AttributeError)

    def __repr__(self) -> str:
        return self.text


class Diagonal:
    """A vector as the diagonal of a matrix."""

    def __init__(self, vector: Expr) -> None:
        self.vector = vector

    def __mul__(self, other: Any) -> NoReturn:
        d = self.vector.text
        refuse(f"'*': diag({d}) stands on the right, S * diag({d}): columns of a state decay by keys, and no rows")

    __rmul__ = __mul__


def diag(d: Expr) -> Diagonal:
    """S * diag(d) multiplies column k of a matrix by d[k]."""
    _expect_expr("diag", d)
    return Diagonal(d)


def dot(x: Expr, y: Expr) -> Expr:
    """Matrix times K vector, a V vector; or vector times vector, a number. The same as x @ y."""
    for operand in (x, y):
        _expect_expr("@", operand)
    if y.axis not in ("K", "V") or (x.axis is None and y.axis != "K") or x.axis not in (None, y.axis):
        refuse(
            f"'@': '{x.text}' is {_SHAPES[x.axis]} and '{y.text}' {_SHAPES[y.axis]}; expected a matrix and a K vector, "
            "or two vectors over the same axis"
        )
    return Expr("dot", "V" if x.axis is None else "1", [x, y], f"{_factor(x)} @ {_factor(y)}")


def outer(column: Expr, row: Expr) -> Expr:
    """The matrix of a V vector times a K vector."""
    for operand, axis in ((column, "V"), (row, "K")):
        _expect_expr("outer", operand)
        if operand.axis != axis:
            refuse(f"'outer': '{operand.text}' is {_SHAPES[operand.axis]}; expected {_SHAPES[axis]}")
    return Expr("outer", None, [column, row], f"outer({column.text}, {row.text})")


def exp(x: Expr) -> Expr:
    return _unary("exp", "exp", x)


def log(x: Expr) -> Expr:
    return _unary("log", "log", x)


def sigmoid(x: Expr) -> Expr:
    return _unary("sigmoid", "sigmoid", x)


def tanh(x: Expr) -> Expr:
    return _unary("tanh", "tanh", x)


def softplus(x: Expr) -> Expr:
    return _unary("softplus", "softplus", x)


def relu(x: Expr) -> Expr:
    return _unary("relu", "relu", x)


def sqrt(x: Expr) -> Expr:
    return _unary("sqrt", "sqrt", x)


def reciprocal(x: Expr) -> Expr:
    return _unary("reciprocal", "reciprocal", x)


def silu(x: Expr) -> Expr:
    """x · sigmoid(x)."""
    return x * sigmoid(x)


def _factor(x: Expr) -> str:
    return f"({x.text})" if x.kind in ("add", "sub") and x.name is None else x.text


def _expect_expr(what: str, x: Any) -> None:
    if isinstance(x, Given):
        refuse(f"'{what}': a declaration was given; declarations are defaults of the function's parameters")
    if not isinstance(x, Expr):
        refuse(f"'{what}': {type(x).__name__} was given, expected a value of the recurrence")


def _expect_f32(what: str, x: Expr) -> None:
    if x.dtype != "f32":
        refuse(
            f"'{what}': '{x.text}' is {x.dtype}, but arithmetic is in f32; dtypes are never promoted: write "
            f"f32({x.text})"
        )


def _unary(kind: str, name: str, x: Expr) -> Expr:
    _expect_expr(name, x)
    _expect_f32(name, x)
    if x.axis is None:
        refuse(
            f"'{name}': '{x.text}' is a V×K matrix; expected a vector or a number. States are linear in the state "
            "before"
        )
    return Expr(kind, x.axis, [x], f"-{_factor(x)}" if kind == "neg" else f"{name}({x.text})")


def _constant(x: Any) -> float:
    if isinstance(x, bool) or not isinstance(x, numbers.Real):
        refuse(f"{type(x).__name__} was given, expected a value of the recurrence or a number")
    if not math.isfinite(x):
        refuse(f"the constant {x} is not finite", ValueError)
    return float(x)


def _sides(x: Any, y: Any) -> tuple[Expr, Expr]:
    """Both as values: a constant has the axis of the other side, or is a number beside a matrix."""
    axis = (x if isinstance(x, Expr) else y).axis or "1"
    return tuple(  # pyright: ignore[reportReturnType]
        side if isinstance(side, Expr) else Expr("constant", axis, [], f"{side}", value=_constant(side))
        for side in (x, y)
    )


def _expect_same_dtype(symbol: str, x: Expr, y: Expr) -> None:
    if x.dtype == y.dtype:
        return _expect_f32(symbol, x)
    mend = " and ".join(f"f32({side.text})" for side in (x, y) if side.dtype != "f32")
    refuse(f"'{symbol}': '{x.text}' is {x.dtype} but '{y.text}' is {y.dtype}; dtypes are never promoted: write {mend}")


def _axes_differ(symbol: str, x: Expr, y: Expr) -> NoReturn:
    apart = "; K and V stay apart even where they are equal" if {x.axis, y.axis} == {"K", "V"} else ""
    refuse(f"'{symbol}': '{x.text}' is {_SHAPES[x.axis]} but '{y.text}' is {_SHAPES[y.axis]}{apart}")


def _spread(x: Expr, axis: str | None) -> Expr:
    """A number beside a vector becomes a vector."""
    return Expr("broadcast", axis, [x], x.text) if x.axis == "1" and axis in ("K", "V") else x


def _sum(kind: str, symbol: str, x: Any, y: Any) -> Expr:
    x, y = _sides(x, y)
    _expect_same_dtype(symbol, x, y)
    left, right = _spread(x, y.axis), _spread(y, x.axis)
    if left.axis != right.axis:
        _axes_differ(symbol, x, y)
    return Expr(kind, left.axis, [left, right], f"{x.text} {symbol} {_factor(y) if kind == 'sub' else y.text}")


def _product(x: Any, y: Any) -> Expr:
    x, y = _sides(x, y)
    _expect_same_dtype("*", x, y)
    text = f"{_factor(x)} * {_factor(y)}"
    if x.axis == y.axis and x.axis is not None:
        return Expr("mul", x.axis, [x, y], text)
    if x.axis == "1":
        return Expr("scale", y.axis, [x, y], text)
    if y.axis == "1":
        return Expr("scale", x.axis, [y, x], text)
    if x.axis is not None and y.axis is not None:
        _axes_differ("*", x, y)
    if x.axis is None and y.axis is None:
        refuse(f"'*': '{x.text}' and '{y.text}' are V×K matrices; the next state is linear in the state before")
    refuse(
        f"'*': '{x.text}' is {_SHAPES[x.axis]} and '{y.text}' {_SHAPES[y.axis]}; a matrix is multiplied as "
        "S * diag(d) with a K vector, by a number, or in S @ k"
    )


def _times_diagonal(matrix: Expr, diagonal: Diagonal) -> Expr:
    d = diagonal.vector
    if matrix.axis is not None:
        refuse(f"'*': only a matrix is multiplied by 'diag({d.text})'")
    _expect_f32("diag", d)
    if d.axis != "K":
        refuse(f"'diag': '{d.text}' is {_SHAPES[d.axis]}; expected a K vector: states decay by keys, not by values")
    return Expr("diag_mul", None, [matrix, d], f"{_factor(matrix)} * diag({d.text})")
