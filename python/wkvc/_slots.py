"""Operators whose states lie in slots of a pool and are updated in place, for serving.

    wkvc::NAME_in_slots(Tensor r, …, Tensor(a!) states, Tensor? state_indices, Tensor? cu_seqlens, Tensor(b!)? report,
                        Tensor(c!)? intermediate_states, int states_every, str variant, str options, str layout)
        -> Tensor o, …

Sequence n has the state states[state_indices[n]], or states[n] without state_indices. States behind every
`states_every` tokens go to `intermediate_states`, which is None where `states_every` is 0.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd.graph import increment_version

from . import _vmap
from ._autograd import below_autograd, refuse_any_tangent
from ._checks import (
    check_contiguous,
    check_dtypes,
    check_indices,
    check_intermediate_states,
    check_report,
    check_rows,
    check_slots,
)
from ._kernels import Maps
from ._library import FORWARD
from ._operators import Call, Family, Result, library, names_of
from ._schema import argument_names
from ._text import NAMES


class InSlots:
    """The operator of a family."""

    def __init__(self, family: Family) -> None:
        self.family = family
        self._count = len(family.inputs)
        name = f"{family.name}_in_slots"
        inputs = ", ".join(f"Tensor {argument}" for argument in argument_names(family.names))
        results = ", ".join(["Tensor"] * len(family.outputs))
        library.define(
            f"{name}({inputs}, Tensor(a!) states, Tensor? state_indices, Tensor? cu_seqlens, Tensor(b!)? report, "
            "Tensor(c!)? intermediate_states, int states_every, str variant, str options, str layout) -> "
            + (results if len(family.outputs) == 1 else f"({results})")
        )
        self.op = getattr(torch.ops.wkvc, name).default
        for key in ("CPU", "CUDA"):
            library.impl(name, self._run, key)
        torch.library.register_fake(f"wkvc::{name}", self._fake, lib=library)
        library.impl(name, _without_gradients(self.op, [self._count + n for n in (0, 3, 4)]), "Autograd")
        torch.library.register_vmap(f"wkvc::{name}", _vmap.refused, lib=library)

    def _prepare(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Checks the arguments; returns what a call of such needs."""
        tensors = arguments[: self._count]
        states, indices, cu_seqlens, report, intermediate_states, every, *settings = arguments[self._count :]
        variant, options, layout = settings
        family = self.family
        head, size = family.read(tensors, None, cu_seqlens)
        check_slots(states, (head.key_dim, head.value_dim), size.heads, layout, tensors[0].device)
        check_indices(indices, states, size.sequences)
        check_report(report, tensors[0].device)
        check_intermediate_states(intermediate_states, every, states, size.batches, size.tokens)
        size = size._replace(states_every=every, slots=None if indices is None else states.shape[0])
        _, signature = family.text(variant, options, head)
        check_dtypes(signature, family.inputs, tensors)
        stored = f"--state {NAMES[states.dtype]} --state-layout {layout}"
        if every:
            stored += f" --states-every {int(every)}"
        kernels = family.kernels(variant, options, "", head, tensors[0].device, size, stored)
        return kernels, size, family.results(kernels, head, size, signature, (variant, options, "", False))[:-2]

    def _call(self, arguments: Sequence[Any]) -> Call:
        kernels, size, results = self._prepare(arguments)
        given = names_of("", self.family.inputs, "initial_state", True)
        given |= names_of("", self.family.outputs, "final_state", True)
        if size.states_every:
            given["intermediate_states"] = True
        return Call(kernels, FORWARD, size, given, results)

    def _run(self, *arguments: Any) -> Any:
        count = self._count
        call = self.family.call_for(arguments, count + 5, self._call)
        outputs = call.allocate()
        states, indices, cu_seqlens, report, intermediate_states = arguments[count : count + 5]
        maps = Maps(cu_seqlens, indices, report)
        check_rows(states)  # calls of the same shapes may have other strides
        check_contiguous("intermediate_states", intermediate_states)
        call.plan.launch([*arguments[:count], states, *outputs, states, intermediate_states], None, maps)
        return outputs[0] if len(outputs) == 1 else outputs

    def _fake(self, *arguments: Any) -> Any:
        results: Sequence[Result] = self._prepare(arguments)[2]
        outputs = tuple(result.like(arguments[0]) for result in results)
        return outputs[0] if len(outputs) == 1 else outputs


def _without_gradients(op: Any, updated: Sequence[int]) -> Callable[..., Any]:
    """The operator for the Autograd key, which sees that the arguments at the places `updated` have changed."""

    def apply(*arguments: Any) -> Any:
        if torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments):
            raise RuntimeError(
                "states in slots, and those of wkvc.decode, are updated in place and have no gradients: call this "
                "under torch.no_grad(), or call the recurrence itself with initial_state and without state_indices"
            )
        refuse_any_tangent(arguments)
        results = below_autograd(op, arguments)
        for tensor in (arguments[place] for place in updated):
            if tensor is not None and not tensor.is_inference():
                increment_version(tensor)
        return results

    return apply
