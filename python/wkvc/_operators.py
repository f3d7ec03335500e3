"""torch.library operators: a forward and a backward one for each family of recurrences with the same tensors.

    wkvc::NAME(Tensor r, …, Tensor? initial_state, Tensor? cu_seqlens,
               str variant, str options, str grads, bool final)
        -> (Tensor o, …, Tensor final_state, Tensor saved)
    wkvc::NAME_backward(Tensor r, …, Tensor? initial_state, Tensor? cu_seqlens, Tensor saved, Tensor do, …,
                        Tensor? dfinal_state, str variant, str options, str grads, bool initial)
        -> (Tensor dr, …, Tensor dinitial_state)

`variant` tells the family which recurrence; `options` are those of the command line; `grads` names, with commas, what
gradients the backward pass gives (none: nothing is saved). Tensors that nobody asks for have no elements.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from . import _library, _vmap
from ._autograd import Gradient, for_autograd, for_transforms, gradient_of, no_gradient_of
from ._checks import check_dtypes, check_head, check_kind, check_shape, check_starts, dtype_name
from ._kernels import Kernels, Maps, Plan, Size, shape_of, size_options
from ._library import BACKWARD, FORWARD
from ._options import options_for
from ._schema import argument_names
from ._text import Signature, Spec, signature_of

library = torch.library.Library("wkvc", "DEF")
_MOST_CALLS = 4096  # of a family; beyond, sizes have surely changed for good
_STATE = ("B", "H", "V", "K")


class Head(NamedTuple):
    """Keys and values of a head, and the dtypes of the inputs."""

    key_dim: int
    value_dim: int
    dtypes: tuple[torch.dtype, ...]


# The text of a recurrence, from a variant, options and a head.
TextOf = Callable[[str, str, Head], str]


class Result(NamedTuple):
    """A tensor that an operator gives."""

    shape: Sequence[int]
    dtype: torch.dtype

    def like(self, first: torch.Tensor) -> torch.Tensor:
        return first.new_empty(self.shape, dtype=self.dtype)

    def check(self, name: str, tensor: torch.Tensor, device: torch.device) -> None:
        if tensor.dtype != self.dtype:
            raise TypeError(f"{name} is {dtype_name(tensor)}, expected {str(self.dtype).removeprefix('torch.')}")
        if list(tensor.shape) != list(self.shape):
            raise ValueError(f"{name} has shape {list(tensor.shape)}, expected {list(self.shape)}")
        if tensor.device != device:
            raise ValueError(f"{name} is on {tensor.device}, but the first input is on {device}: move it there")


class Call:
    """Launches of a pass on tensors of the same shapes and dtypes."""

    def __init__(
        self,
        kernels: Kernels,
        direction: int,
        size: Size,
        given: dict[str, bool],
        results: Sequence[Result],
        gaps: Sequence[slice] = (),
    ) -> None:
        """`given` has the names of the tensors that launches get, in their order, and which of them there are.

        No kernel may write the `gaps` of the last result.
        """
        self.plan = Plan(kernels, direction, size, given)
        self._device = kernels.device
        self._gaps = gaps
        # Kernels leave tokens of no sequence as they are: those results are zero.
        tokens = None if size.packed is None else (size.batches, size.tokens)
        shapes = [tuple(result.shape) for result in results]
        self._results = [
            (torch.zeros if shape[:2] == tokens else torch.empty, shape, result.dtype)
            for shape, result in zip(shapes, results, strict=True)
        ]

    def allocate(self) -> tuple[torch.Tensor, ...]:
        device = self._device
        results = tuple([make(shape, dtype=dtype, device=device) for make, shape, dtype in self._results])
        for gap in self._gaps:
            results[-1][gap].zero_()
        return results


class Family:
    """Recurrences with the same tensors, as a pair of operators."""

    def __init__(
        self,
        name: str,
        inputs: Sequence[Spec],
        outputs: Sequence[Spec],
        text_of: TextOf,
        head: tuple[int, int] | None = None,
    ) -> None:
        """With `head`, keys and values of a head, the family takes no others."""
        self.name = name
        self.head = head
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.names = tuple(spec.name for spec in self.inputs)
        self.first_token = next(place for place, spec in enumerate(self.inputs) if not spec.is_parameter)
        self.located: Callable[[str], str] = lambda message: message  # a message about the text, about what it is of
        self._text_of = text_of
        self._texts: dict[tuple[str, str, Head], tuple[str, Signature]] = {}
        self._kernels: dict[tuple[object, ...], Kernels] = {}
        self._calls: dict[tuple[Any, ...], Call] = {}
        self._accepted: set[tuple[tuple[bool, ...], str]] = set()
        self.in_slots: Any = None  # the operator for states in slots (_slots.py)
        self._define()

    # Texts and kernels.

    def text(self, variant: str, options: str, head: Head) -> tuple[str, Signature]:
        """The recurrence for a head, and its tensors."""
        key = (variant, options, head)
        found = self._texts.get(key)
        if found is None:
            text = self._text_of(variant, options, head)
            found = self._texts[key] = (text, signature_of(text))
        return found

    def kernels(
        self,
        variant: str,
        options: str,
        grads: str,
        head: Head,
        device: torch.device,
        size: Size,
        states: str = "",
    ) -> Kernels:
        """The kernels for a size, compiled where there are none yet; `states` has the options that states follow."""
        shape = size_options(size) if device.type == "cuda" else ""
        passes = self._pass_options(grads)
        if size.shared_inputs:
            passes += f" --shared {','.join(size.shared_inputs)}"
        key = (variant, options, passes, states, head, device, shape)
        found = self._kernels.get(key)
        if found is None:
            own, whole = options_for(options, backward=bool(grads)), options_for(options, backward=True)
            text, signature = self.text(variant, options, head)
            words = (own, passes, states, shape)
            try:
                if own != whole and "--chunk 1 " not in f"{whole} ":
                    _library.emit(text, f"--pass both {whole}", "cuda")  # a mistake shows before the first gradient
                found = Kernels(text, " ".join(word for word in words if word), device, signature)
            except ValueError as error:
                raise ValueError(self.located(str(error))) from error
            self._kernels[key] = found
        return found

    def _pass_options(self, grads: str) -> str:
        if not grads:
            return "--pass forward"
        names = [name for name in grads.split(",") if name != "initial_state"]  # kernels always give that one
        if len(names) == len(self.inputs):
            return "--pass both"
        return f"--pass both --grad {','.join(names or ['initial_state'])}"

    # Checks of what is given.

    def read(
        self,
        tensors: Sequence[torch.Tensor],
        initial_state: torch.Tensor | None,
        cu_seqlens: torch.Tensor | None = None,
    ) -> tuple[Head, Size]:
        """The head and size that the tensors have; raises TypeError or ValueError."""
        given = [*zip(self.inputs, tensors, strict=True)]
        first = tensors[self.first_token]
        lengths: dict[str, tuple[int, str]] = {}
        if self.head is not None:
            lengths = {"K": (self.head[0], "the recurrence"), "V": (self.head[1], "the recurrence")}
        shared = _shared_inputs(given)
        for spec, tensor in given:
            check_kind(spec.name, tensor, first.device)
            dims = spec.dims()
            check_shape(spec.name, tensor, dims if spec.name not in shared else ("B", "T", "S", *dims[3:]), lengths)
        check_head(lengths)
        value_dim = lengths.get("V", lengths.get("K", (0, "")))[0]
        key_dim = lengths.get("K", (value_dim, ""))[0]
        size = Size(lengths["B"][0], lengths["T"][0], lengths["H"][0])
        if shared:
            size = size._replace(shared=lengths["S"][0], shared_inputs=shared)
        if cu_seqlens is not None:
            check_starts(cu_seqlens, first, size.batches)
            size = size._replace(packed=cu_seqlens.shape[0] - 1)
        if initial_state is not None:
            if initial_state.dtype != torch.float32:
                dtype = dtype_name(initial_state)
                raise TypeError(f"initial_state is {dtype}, expected float32, as states outside a pool are")
            check_kind("initial_state", initial_state, first.device)
            expected = {**lengths, "K": (key_dim, "the keys"), "V": (value_dim, "the values")}
            if size.packed is not None:
                expected["B"] = (size.packed, "cu_seqlens, which has a number more than there are sequences")
            check_shape("initial_state", initial_state, _STATE, expected)
        return Head(int(key_dim), int(value_dim), tuple(tensor.dtype for tensor in tensors)), size

    def check_gradients(self, needs: tuple[bool, ...], grads: str) -> None:
        """Raises ValueError unless `grads` names every input that requires a gradient."""
        if (needs, grads) in self._accepted:
            return
        names = grads.split(",")
        for name, need in zip((*self.names, "initial_state"), needs, strict=False):
            if need and name not in names:
                raise ValueError(f"{name} requires a gradient, but grads is '{grads}': add {name} to grads")
        self._accepted.add((needs, grads))

    def _shape(self, dims: Sequence[str], head: Head, size: Size) -> tuple[int, ...]:
        lengths = {"T": size.tokens, "H": size.heads, "K": head.key_dim, "V": head.value_dim}
        return shape_of(dims, lengths, size)

    # The operators.

    def _check(
        self,
        tensors: Sequence[torch.Tensor],
        initial_state: torch.Tensor | None,
        cu_seqlens: torch.Tensor | None,
        settings: Sequence[Any],
    ) -> tuple[Kernels, Head, Size, Signature]:
        variant, options, grads, _ = settings
        head, size = self.read(tensors, initial_state, cu_seqlens)
        _, signature = self.text(variant, options, head)
        check_dtypes(signature, self.inputs, tensors)
        return self.kernels(variant, options, grads, head, tensors[0].device, size), head, size, signature

    def results(
        self, kernels: Kernels, head: Head, size: Size, signature: Signature, settings: Sequence[Any]
    ) -> list[Result]:
        """Shapes and dtypes of what the forward operator gives."""
        _, _, grads, final = settings
        dtypes = {output.name: output.dtype for output in signature.outputs}
        results = [Result(self._shape(output.dims(), head, size), dtypes[output.name]) for output in self.outputs]
        results.append(Result(self._shape(_STATE, head, size) if final else (0,), torch.float32))
        results.append(Result((kernels.saved_bytes(size) if grads else 0,), torch.uint8))
        return results

    def _gradients(
        self, tensors: Sequence[torch.Tensor], initial_state: torch.Tensor | None, settings: Sequence[Any]
    ) -> list[Result]:
        """Shapes and dtypes of what the backward operator gives."""
        _, _, grads, initial = settings
        if initial and initial_state is None:
            raise ValueError("there is no initial_state, and initial asks for its gradient")
        names = grads.split(",")
        results = [
            Result(tensor.shape if spec.name in names else (0,), tensor.dtype)
            for spec, tensor in zip(self.inputs, tensors, strict=True)
        ]
        shape = initial_state.shape if initial and initial_state is not None else (0,)
        return [*results, Result(shape, torch.float32)]

    def _forward_call(self, arguments: Sequence[Any]) -> Call:
        """Prepares launches of the forward pass on arguments like these."""
        count = len(self.inputs)
        tensors, (initial_state, cu_seqlens, *settings) = arguments[:count], arguments[count:]
        kernels, head, size, signature = self._check(tensors, initial_state, cu_seqlens, settings)
        results = self.results(kernels, head, size, signature, settings)
        given = names_of("", self.inputs, "initial_state", initial_state is not None)
        given |= names_of("", self.outputs, "final_state", settings[3])
        return Call(kernels, FORWARD, size, given, results, kernels.saved_gaps(size) if settings[2] else ())

    def _forward(self, *arguments: Any) -> tuple[torch.Tensor, ...]:
        count = len(self.inputs) + 1
        call = self.call_for(arguments, count + 1, self._forward_call)
        results = call.allocate()
        call.plan.launch([*arguments[:count], *results[:-1]], results[-1], Maps(arguments[count]))
        return results

    def _forward_fake(self, *arguments: Any) -> tuple[torch.Tensor, ...]:
        count = len(self.inputs)
        tensors, (initial_state, cu_seqlens, *settings) = arguments[:count], arguments[count:]
        checked = self._check(tensors, initial_state, cu_seqlens, settings)
        return tuple(result.like(tensors[0]) for result in self.results(*checked, settings))

    def _backward_call(self, arguments: Sequence[Any]) -> Call:
        """Prepares launches of the backward pass on arguments like these."""
        tensors, initial_state, cu_seqlens, saved, doutputs, dfinal_state = self._backward_tensors(arguments)
        settings = arguments[-4:]
        kernels, head, size, signature = self._check(tensors, initial_state, cu_seqlens, settings)
        *outputs, final_state, expected_saved = self.results(kernels, head, size, signature, (*settings[:3], True))
        for spec, tensor, output in zip(self.outputs, doutputs, outputs, strict=True):
            output.check(f"d{spec.name}", tensor, tensors[0].device)
        if dfinal_state is not None:
            final_state.check("dfinal_state", dfinal_state, tensors[0].device)
        expected_saved.check("saved", saved, tensors[0].device)
        results = self._gradients(tensors, initial_state, settings)
        given = names_of("", self.inputs, "initial_state", initial_state is not None)
        given |= names_of("d", self.outputs, "dfinal_state", dfinal_state is not None)
        given |= names_of("d", self.inputs, "dinitial_state", settings[3])
        return Call(kernels, BACKWARD, size, given, results)

    def _backward_tensors(self, arguments: Sequence[Any]) -> tuple[Any, Any, Any, Any, Any, Any]:
        count = len(self.inputs)
        initial_state, cu_seqlens, saved, *doutputs = arguments[count:-5]
        return arguments[:count], initial_state, cu_seqlens, saved, doutputs, arguments[-5]

    def _backward(self, *arguments: Any) -> tuple[torch.Tensor, ...]:
        count = len(self.inputs) + 1
        call = self.call_for(arguments, len(arguments) - 4, self._backward_call)
        results = call.allocate()
        cu_seqlens, saved = arguments[count : count + 2]
        call.plan.launch([*arguments[:count], *arguments[count + 2 : -4], *results], saved, Maps(cu_seqlens))
        return results

    def _backward_fake(self, *arguments: Any) -> tuple[torch.Tensor, ...]:
        tensors, initial_state, *_ = self._backward_tensors(arguments)
        return tuple(result.like(tensors[0]) for result in self._gradients(tensors, initial_state, arguments[-4:]))

    def call_for(self, arguments: Sequence[Any], tensors: int, make: Callable[[Sequence[Any]], Call]) -> Call:
        """The call for arguments of these shapes, dtypes and devices, of which the first ones are tensors."""
        layouts = [None if t is None else (t.shape, t.dtype, t.device) for t in arguments[:tensors]]
        key = (make.__name__, *arguments[tensors:], *layouts)
        call = self._calls.get(key)
        if call is None:
            if len(self._calls) >= _MOST_CALLS:
                self._calls.clear()
            call = self._calls[key] = make(arguments)
        return call

    def _define(self) -> None:
        names = argument_names([*self.names, *(f"d{spec.name}" for spec in self.outputs)])
        inputs = ", ".join(f"Tensor {name}" for name in names[: len(self.inputs)])
        doutputs = ", ".join(f"Tensor {name}" for name in names[len(self.inputs) :])
        settings = "str variant, str options, str grads, bool"
        results = ", ".join(["Tensor"] * (len(self.outputs) + 2))
        gradients = ", ".join(["Tensor"] * (len(self.inputs) + 1))
        name = self.name
        library.define(f"{name}({inputs}, Tensor? initial_state, Tensor? cu_seqlens, {settings} final) -> ({results})")
        library.define(
            f"{name}_backward({inputs}, Tensor? initial_state, Tensor? cu_seqlens, Tensor saved, {doutputs}, "
            f"Tensor? dfinal_state, {settings} initial) -> ({gradients})"
        )
        self.forward_op = getattr(torch.ops.wkvc, name).default
        self.backward_op = getattr(torch.ops.wkvc, f"{name}_backward").default
        for key in ("CPU", "CUDA"):
            library.impl(name, self._forward, key)
            library.impl(f"{name}_backward", self._backward, key)
        torch.library.register_fake(f"wkvc::{name}", self._forward_fake, lib=library)
        torch.library.register_fake(f"wkvc::{name}_backward", self._backward_fake, lib=library)
        self.forward = self._differentiable(name, self.forward_op, gradient_of(self))
        self.backward = self._differentiable(f"{name}_backward", self.backward_op, no_gradient_of(self.backward_op))

    def _differentiable(self, name: str, op: Any, gradient: Gradient) -> Callable[..., Any]:
        """The operator as calls run it; registers its gradient and its rule of torch.vmap."""
        library.impl(name, for_autograd(op, gradient), "Autograd")
        torch.library.register_vmap(f"wkvc::{name}", _vmap.one_by_one(op), lib=library)
        return for_transforms(op, gradient)


def names_of(prefix: str, specs: Sequence[Spec], state: str, has_state: bool) -> dict[str, bool]:
    """Tensors and a state by name, and which of them there are."""
    return {**dict.fromkeys([f"{prefix}{spec.name}" for spec in specs], True), state: has_state}


def _shared_inputs(given: Sequence[tuple[Spec, torch.Tensor]]) -> tuple[str, ...]:
    """The names of inputs with fewer heads than others, each of which serves as many: inputs have two such numbers."""
    heads = [(s.name, t.shape[2]) for s, t in given if not s.is_parameter and t.dim() == len(s.dims())]
    most = max([count for _, count in heads] or [0])  # in PyTorch 2.11, compiled code has no max of a generator
    fewer = [(name, count) for name, count in heads if count != most]
    # Numbers of a graph for any size are compared one by one: they have no hash.
    if not fewer or any(count != fewer[0][1] for _, count in fewer):
        return ()
    least = fewer[0][1]
    return tuple(name for name, _ in fewer) if least > 0 and most % least == 0 else ()
