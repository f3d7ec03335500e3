"""Symbols that plain PyTorch code runs on: values of the language with an axis of each dimension."""

import inspect
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

import torch

from . import _text
from .language import Expr, K, Stored, V, refuse

Axes = tuple[str, ...]  # "K", "V", and "1" for a dimension of one element


class Symbol:
    """A tensor of one token: a matrix, a vector or a number, and `stored` where a cast has rounded it for an output."""

    __array_priority__ = 1000  # numpy leaves operators to this class

    def __init__(self, value: Expr, axes: Axes, stored: Stored | None = None) -> None:
        self.value, self.axes, self.stored = value, axes, stored

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None) -> Any:
        return apply(func.__name__, *args, **(kwargs or {}))

    @property
    def text(self) -> str:
        return self.value.text

    @property
    def storage(self) -> str:
        """The name of the dtype."""
        return self.stored.dtype if self.stored else self.value.dtype

    @property
    def dtype(self) -> torch.dtype:
        return _text.DTYPES[self.storage]

    @property
    def shape(self) -> torch.Size:
        extents = {"K": K, "V": V}
        return torch.Size(extents[axis].extent if axis in extents else 1 for axis in self.axes)

    @property
    def ndim(self) -> int:
        return len(self.axes)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def dim(self) -> int:
        return self.ndim

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("item", "tolist", "numpy"):
            self._no_number(name)
        expect_mapped(name)
        return apply(name, self) if name in ("T", "mT") else partial(apply, name, self)

    def _no_number(self, what: str) -> NoReturn:
        refuse(f"'{what}': '{self.text}' is a symbol of every token, and no number: compute with functions of PyTorch")

    def __bool__(self) -> bool:  # noqa: PLE0304
        refuse(
            f"'{self.text}' is a symbol of every token, and has no truth: all tokens take one way. "
            "Use arithmetic such as relu, or a keyword-only parameter of the step"
        )

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, _: self.__bool__()
    __hash__ = object.__hash__

    def __float__(self) -> float:
        self._no_number("float")

    def __int__(self) -> int:
        self._no_number("int")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        self._no_number("numpy")

    def __iter__(self) -> NoReturn:
        self._no_number("iter")

    def __setitem__(self, *_: Any) -> NoReturn:
        in_place("[…] =")

    def __getitem__(self, index: Any) -> Any:
        return apply("getitem", self, index)

    def __repr__(self) -> str:
        return f"{self.text} [{', '.join(self.axes)}]"


def _operator(name: str) -> Any:
    return lambda *operands: apply(name, *operands)


def _reflected(name: str) -> Any:
    return lambda self, other: apply(name, other, self)


def _changing(symbol: str) -> Any:
    return lambda self, _: in_place(symbol)


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "matmul": "@", "pow": "**"}.items():
    setattr(Symbol, f"__{_name}__", _operator(_name))
    setattr(Symbol, f"__r{_name}__", _reflected(_name))
    setattr(Symbol, f"__i{_name}__", _changing(f"{_sign}="))
setattr(Symbol, "__neg__", _operator("neg"))  # noqa: B010


def in_place(what: str) -> NoReturn:
    refuse(f"'{what}' changes a tensor in place; a step gives new ones: write S = S + … in place of S += …")


def expect_mapped(name: str) -> None:
    """Refuses what no operation of the language stands for."""
    from ._mapped import MAPPED

    if name.endswith("_") and not name.endswith("__"):
        in_place(name)
    if name not in MAPPED:
        refuse(f"'{name}' is not mapped to the language; mapped are {', '.join(MAPPED)}")


def apply(name: str, *args: Any, **kwargs: Any) -> Any:
    """The operation of the language that a function of PyTorch stands for."""
    from ._mapped import MAPPED

    name = name.strip("_") if name.startswith("__") else name
    if any(isinstance(x, torch.Tensor) for x in (*args, *kwargs.values())):
        refuse(f"'{name}': a tensor that is no input was given: declare it (.of_head() for parameters), or use numbers")
    expect_mapped(name)
    try:
        inspect.signature(MAPPED[name]).bind(*args, **kwargs)
    except TypeError as error:
        refuse(f"'{name}': {error}; what is not mapped has to be left out")
    return MAPPED[name](*args, **kwargs)
