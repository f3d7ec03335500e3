"""Gradients of operators, in terms of other operators."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from ._operators import Family


def differentiable(family: "Family") -> Callable[..., Any]:
    """The forward operator with its gradient, for the Autograd key."""
    count = len(family.inputs)
    forward_op, backward_op = family.forward_op, family.backward_op

    class Gradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                results = forward_op(*arguments)
            ctx.set_materialize_grads(False)
            _, _, grads, final = ctx.settings = arguments[count + 2 :]
            family.check_gradients(ctx.needs_input_grad, grads)
            ctx.save_for_backward(*arguments[: count + 2], results[-1])
            ctx.outputs = [(result.shape, result.dtype, result.device) for result in results[:-2]]
            ctx.mark_non_differentiable(results[-1], *([] if final else [results[-2]]))
            return results

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            *inputs, initial_state, cu_seqlens, saved = ctx.saved_tensors
            variant, options, grads, _ = ctx.settings
            *doutputs, dfinal_state, _ = gradients
            doutputs = [
                torch.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
                for gradient, (shape, dtype, device) in zip(doutputs, ctx.outputs, strict=True)
            ]
            needs = ctx.needs_input_grad
            settings = (variant, options, grads, needs[count])
            arguments = (*inputs, initial_state, cu_seqlens, saved, *doutputs, dfinal_state, *settings)
            if torch.is_grad_enabled():  # create_graph
                results = backward_op(*arguments)
            else:
                with torch._C._AutoDispatchBelowAutograd():
                    results = backward_op(*arguments)
            return *(result if need else None for result, need in zip(results, needs, strict=False)), *[None] * 5

    def apply(*arguments: Any) -> Any:
        if torch.is_grad_enabled() and _requires_grad(arguments[: count + 1]):
            return Gradient.apply(*arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return forward_op(*arguments)

    return apply


def _requires_grad(tensors: Sequence[torch.Tensor | None]) -> bool:
    return any([tensor is not None and tensor.requires_grad for tensor in tensors])  # noqa: C419 (faster)


def not_differentiable(op: Any) -> Callable[..., Any]:
    """A backward operator whose gradient is a message, for the Autograd key."""

    class NoGradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return op(*arguments)

        @staticmethod
        def backward(ctx: Any, *_: Any) -> Any:
            raise RuntimeError(
                "wkvc has no gradients of gradients: call backward without create_graph=True, or compute this part "
                "with another implementation"
            )

    def apply(*arguments: Any) -> Any:
        if torch.is_grad_enabled() and _requires_grad([*filter(torch.is_tensor, arguments)]):
            return NoGradient.apply(*arguments)
        with torch._C._AutoDispatchBelowAutograd():
            return op(*arguments)

    return apply
