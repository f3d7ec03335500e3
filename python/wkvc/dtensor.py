"""DTensors as inputs: batches and heads do not depend on each other, and may be dealt to devices.

    import wkvc.dtensor  # tells DTensor so, of operators that wkvc.op makes later, too

Tokens may be Shard(0), batches, or Shard(2), heads, or Replicate(). Packed sequences are one batch.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch.distributed.tensor import DTensor, Partial, Replicate, Shard
from torch.distributed.tensor._op_schema import RuntimeSchemaInfo
from torch.distributed.tensor.experimental import register_sharding

from . import _families
from ._operators import Family
from ._text import Spec


class _Way(NamedTuple):
    """Placements along one dimension of a mesh."""

    tokens: Any
    parameter: Any
    state: Any
    saved: Any
    parameter_gradient: Any
    map: Any = Replicate()

    def of(self, spec: Spec) -> Any:
        return self.parameter if spec.is_parameter else self.tokens

    def of_gradient(self, spec: Spec) -> Any:
        return self.parameter_gradient if spec.is_parameter else self.tokens


_WHOLE = _Way(*[Replicate()] * 5)
_BATCHES = _Way(Shard(0), Replicate(), Shard(0), Shard(0), Partial())
_HEADS = _Way(Shard(2), Shard(0), Shard(1), Shard(0), Shard(0))


def _ways(family: Family, inputs: Sequence[Any], cu_seqlens: Any) -> list[_Way]:
    """The ways in which the inputs may be dealt out: heads that others share go with these."""
    ways = [_WHOLE] if cu_seqlens is not None else [_WHOLE, _BATCHES]
    heads = {x.shape[2] for spec, x in zip(family.inputs, inputs, strict=True) if not spec.is_parameter}
    devices = inputs[family.first_token].mesh.size()
    if len(heads) == 1 or all(count % devices == 0 for count in heads):
        ways.append(_HEADS)
    return ways


def _given(tensor: Any, placement: Any) -> Any:
    return None if tensor is None else placement


def _forward(family: Family) -> Callable[..., Any]:
    def strategies(*arguments: Any) -> list[tuple[list[Any], list[Any]]]:
        *inputs, initial_state, cu_seqlens, _variant, _options, grads, final = arguments
        found = []
        for way in _ways(family, inputs, cu_seqlens):
            results = [way.tokens] * len(family.outputs)
            results += [way.state if final else Replicate(), way.saved if grads else Replicate()]
            given = [way.of(spec) for spec in family.inputs]
            given += [_given(initial_state, way.state), _given(cu_seqlens, way.map), *[None] * 4]
            found.append((results, given))
        return found

    return strategies


def _backward(family: Family) -> Callable[..., Any]:
    count = len(family.inputs)

    def strategies(*arguments: Any) -> list[tuple[list[Any], list[Any]]]:
        initial_state, cu_seqlens = arguments[count : count + 2]
        dfinal_state, _variant, _options, grads, initial = arguments[-5:]
        names, found = grads.split(","), []
        for way in _ways(family, arguments[:count], cu_seqlens):
            wanted = [way.of_gradient(spec) if spec.name in names else Replicate() for spec in family.inputs]
            given = [way.of(spec) for spec in family.inputs]
            given += [_given(initial_state, way.state), _given(cu_seqlens, way.map), way.saved]
            given += [*[way.tokens] * len(family.outputs), _given(dfinal_state, way.state), *[None] * 4]
            found.append(([*wanted, way.state if initial else Replicate()], given))
        return found

    return strategies


def _register(family: Family) -> None:
    """Tells DTensor how the operators of a family may be dealt out."""
    count = len(family.inputs)
    for op, strategies, settings in (
        (family.forward_op, _forward(family), count + 2),
        (family.backward_op, _backward(family), count + 4 + len(family.outputs)),
    ):
        register_sharding(op)(strategies)
        # Results depend on the words, too, from this argument on.
        propagator: Any = DTensor._op_dispatcher.sharding_propagator
        propagator.op_to_schema_info[op] = RuntimeSchemaInfo(settings, needs_pytree=True)


_families.on_each(_register)
