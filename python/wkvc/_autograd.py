"""Gradients of operators, in terms of other operators."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import torch
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from ._operators import Family

Operator = Callable[..., Any]


class Gradient(NamedTuple):
    """An operator and its gradient as functions of autograd: for eager mode, and for transforms of torch.func."""

    eager: type[torch.autograd.Function]
    transformed: type[torch.autograd.Function]


def _gradient(op: Operator, save: Callable[..., None], backward: Operator) -> Gradient:
    """The gradient from what the backward pass needs: `save` takes it from the arguments and results."""

    class Eager(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *arguments: Any) -> Any:
            results = below_autograd(op, arguments)
            save(ctx, arguments, results)
            return results

    class Transformed(torch.autograd.Function):  # PyTorch takes twice as long for an eager call of such a one
        generate_vmap_rule = True

        @staticmethod
        def forward(*arguments: Any) -> Any:
            return below_autograd(op, arguments)

    Transformed.setup_context = staticmethod(save)
    for function in (Eager, Transformed):
        function.backward = staticmethod(backward)
        function.jvp = staticmethod(_refuse_tangents)
    return Gradient(Eager, Transformed)


def gradient_of(family: "Family") -> Gradient:
    """The gradient of the forward operator."""
    count = len(family.inputs)

    def save(ctx: Any, arguments: tuple[Any, ...], results: tuple[torch.Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        _, _, grads, final = ctx.settings = arguments[count + 2 :]
        family.check_gradients(ctx.needs_input_grad, grads)
        ctx.save_for_backward(*arguments[: count + 2], results[-1])
        ctx.outputs = [(result.shape, result.dtype) for result in results[:-2]]
        ctx.mark_non_differentiable(results[-1], *([] if final else [results[-2]]))

    def backward(ctx: Any, *gradients: Any) -> Any:
        *inputs, initial_state, cu_seqlens, saved = ctx.saved_tensors
        variant, options, grads, _ = ctx.settings
        *doutputs, dfinal_state, _ = gradients
        doutputs = [
            inputs[0].new_zeros(shape, dtype=dtype) if gradient is None else gradient
            for gradient, (shape, dtype) in zip(doutputs, ctx.outputs, strict=True)
        ]
        needs = ctx.needs_input_grad
        settings = (variant, options, grads, needs[count])
        arguments = (*inputs, initial_state, cu_seqlens, saved, *doutputs, dfinal_state, *settings)
        if torch.is_grad_enabled():  # create_graph
            results = family.backward(*arguments)
        else:
            results = below_autograd(family.backward_op, arguments)
        return *(result if need else None for result, need in zip(results, needs, strict=False)), *[None] * 5

    return _gradient(family.forward_op, save, backward)


def no_gradient_of(op: Operator) -> Gradient:
    """The gradient of a backward operator, which is a message."""

    def save(*_: Any) -> None:
        pass

    def backward(*_: Any) -> NoReturn:
        raise RuntimeError(
            "wkvc has no gradients of gradients: call backward without create_graph=True, or compute this part "
            "with another implementation"
        )

    return _gradient(op, save, backward)


def for_autograd(op: Operator, gradient: Gradient) -> Operator:
    """The operator for the Autograd key."""

    def apply(*arguments: Any) -> Any:
        if not _may_be_differentiated(arguments):
            return below_autograd(op, arguments)
        if torch._C._are_functorch_transforms_active():
            raise NotImplementedError(
                f"torch.func does not differentiate {op} itself, nor compiled code: call wkvc's functions in eager mode"
            )
        return gradient.eager.apply(*arguments)

    return apply


def for_transforms(op: Operator, gradient: Gradient) -> Operator:
    """The operator, which transforms of torch.func see as a function with a gradient."""

    def apply(*arguments: Any) -> Any:
        if not torch._C._are_functorch_transforms_active() or torch.compiler.is_compiling():
            return op(*arguments)
        if torch.is_grad_enabled() or forward_ad._current_level >= 0:
            return gradient.transformed.apply(*arguments)
        return op(*arguments)

    return apply


def below_autograd(op: Operator, arguments: Sequence[Any]) -> Any:
    """The operator's results without gradients."""
    with torch._C._AutoDispatchBelowAutograd():
        return op(*arguments)


def refuse_any_tangent(arguments: Sequence[Any]) -> None:
    """Raises NotImplementedError where a tensor has a tangent of forward-mode derivatives."""
    if forward_ad._current_level < 0:
        return
    if any(torch.is_tensor(x) and forward_ad.unpack_dual(x).tangent is not None for x in arguments):
        _refuse_tangents()


def _may_be_differentiated(arguments: Sequence[Any]) -> bool:
    """Tells if there are gradients to compute, or if there may be tangents, which are refused."""
    return forward_ad._current_level >= 0 or (torch.is_grad_enabled() and torch._C._any_requires_grad(*arguments))


def _refuse_tangents(ctx: Any = None, *_: Any) -> NoReturn:
    raise NotImplementedError(
        "wkvc has no forward-mode derivatives (jvp, jacfwd, dual numbers): use reverse mode, such as backward(), "
        "torch.func.vjp or torch.func.jacrev"
    )
