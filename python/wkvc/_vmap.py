"""Operators under torch.vmap."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch


def one_by_one(op: Callable[..., tuple[torch.Tensor, ...]]) -> Callable[..., Any]:
    """The rule of torch.vmap that calls the operator for each element."""

    def rule(info: Any, in_dims: Sequence[int | None], *arguments: Any) -> Any:
        if info.batch_size == 0:
            raise ValueError("torch.vmap has no elements to map: expected one or more along the mapped dimension")

        def element(n: int) -> list[Any]:
            return [x if dim is None else x.select(dim, n) for x, dim in zip(arguments, in_dims, strict=True)]

        results = zip(*(op(*element(n)) for n in range(info.batch_size)), strict=True)
        stacked = tuple(torch.stack(parts) for parts in results)
        return stacked, (0,) * len(stacked)

    return rule


def refused(*_: Any) -> NoReturn:
    """The rule of torch.vmap for operators that update states in place."""
    raise NotImplementedError(
        "torch.vmap cannot run a call that updates states in place: make the mapped dimension a part of B, and give "
        "each sequence a slot"
    )
