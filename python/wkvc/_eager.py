"""A step of PyTorch over tokens: what it gets and gives, and its loop."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .language import Given, refuse


class Token:
    """What a step gets as `x`: tensors by name, `x["q"]` and `x.q`, or in order, `q, k = x` and `x[0]`."""

    def __init__(self, tensors: Mapping[str, Any]) -> None:
        self._tensors = dict(tensors)

    def keys(self) -> list[str]:
        return [*self._tensors]

    def __getitem__(self, key: Any) -> Any:
        named = dict(enumerate(self._tensors)).get(key, key)
        if named not in self._tensors:
            refuse(f"x[{key!r}]: no such input is declared; declared are {', '.join(self._tensors)}")
        return self._tensors[named]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._tensors.values())


def by_name(outputs: Any) -> dict[str, Any]:
    """Outputs of a step: a dict, a named tuple, a tuple (o0, o1, …), or one alone (o)."""
    if isinstance(outputs, dict):
        return outputs
    if isinstance(outputs, tuple):
        names = getattr(outputs, "_fields", [f"o{n}" for n in range(len(outputs))])
        return dict(zip(names, outputs, strict=True))
    return {"o": outputs}


class NoCasts(TorchFunctionMode):
    """Casts give the tensor as it is, so that a step keeps the dtype of its inputs."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        is_cast = func.__name__ in ("float", "bfloat16", "half", "to", "type_as")
        return args[0] if is_cast else func(*args, **(kwargs or {}))


def loop(
    step: Callable[..., Any], declared: Mapping[str, Given], inputs: Mapping[str, torch.Tensor], state: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    """Outputs [B, T, H, …] and the last state of inputs and a state as calls take them."""
    is_token = [not declared[name].is_of_head for name in inputs]

    def one(S: torch.Tensor, *tensors: torch.Tensor) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        following, outputs = step(S, Token(dict(zip(inputs, tensors, strict=True))))
        return following, tuple(by_name(outputs).values())

    every = torch.vmap(torch.vmap(one), in_dims=(0, *(0 if of_token else None for of_token in is_token)))
    tokens = next(x.shape[1] for x, of_token in zip(inputs.values(), is_token, strict=True) if of_token)
    rows = []
    for t in range(tokens):
        token = (x[:, t] if of_token else x for x, of_token in zip(inputs.values(), is_token, strict=True))
        state, outputs = every(state, *token)
        rows.append(outputs)
    return *(torch.stack(output, 1) for output in zip(*rows, strict=True)), state
