"""Recurrences from their text."""

import hashlib
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from . import _text
from ._call import StateLayout, autocast_dtype, call, cast
from ._operators import Family
from ._rwkv import Mma
from ._slots import with_slots

_families: dict[str, Family] = {}


def _family(text: str) -> Family:
    signature = _text.signature_of(text)
    name = f"{signature.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    family = _families.get(name)
    if family is None:
        head = (signature.key_dim, signature.value_dim)
        family = Family(name, signature.inputs, signature.outputs, lambda *_: text, head)
        _families[name] = with_slots(family)
    return family


class Recurrence:
    """A recurrence as a function of tensors; can be copied and pickled."""

    def __init__(self, text: str, mma: str | None, options: str) -> None:
        self.text = text
        self.family = _family(text)
        self._mma = mma
        self._options = options
        self.options = f"--mma {mma} {options}".strip() if mma else options

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in their order."""
        return tuple(spec.name for spec in self.family.inputs)

    def __call__(
        self,
        *inputs: torch.Tensor,
        initial_state: torch.Tensor | None = None,
        output_final_state: bool = False,
        state_layout: StateLayout = "vk",
        cu_seqlens: torch.Tensor | None = None,
        state_indices: torch.Tensor | None = None,
        report: torch.Tensor | None = None,
        intermediate_states: torch.Tensor | None = None,
        states_every: int = 0,
    ) -> tuple[torch.Tensor | None, ...]:
        """The outputs and the final state, or None in its place.

        Args:
            inputs: in the order of `inputs`: [B, T, H, K], [B, T, H, V] or [B, T, H], of parameters [H, K], [H, V] or
                [H], in the dtypes that the text declares. Under torch.autocast they are cast to those. Tensors of
                tokens may have fewer heads, as `rwkv7` takes them.
            initial_state: float32, [B, H, V, K], or [B, H, K, V] with state_layout="kv"; zeros where it is None.
            output_final_state: whether to return the state behind the last token.
            state_layout: "vk" or "kv", of both states.
            cu_seqlens, state_indices, report: sequences one behind the other and states in slots, as `rwkv7` has
                them.
            intermediate_states, states_every: states behind every so many tokens, as `rwkv7` gives them.
        """
        if len(inputs) != len(self.family.inputs):
            raise TypeError(f"{self} takes {', '.join(self.inputs)}; {len(inputs)} tensors were given")
        if inputs and isinstance(inputs[0], torch.Tensor) and autocast_dtype(inputs[0]) is not None:  # pyright: ignore[reportUnnecessaryIsInstance]
            inputs = tuple(cast(tensor, spec.dtype) for tensor, spec in zip(inputs, self.family.inputs, strict=True))
        states = (initial_state, output_final_state, state_layout, cu_seqlens, state_indices, report)
        intermediate = (intermediate_states, states_every)
        outputs, state = call(self.family, inputs, "", self.options, *states, *intermediate)
        return *outputs, state

    def __repr__(self) -> str:
        return f"wkvc.op({self.family.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Recurrence, (self.text, self._mma, self._options)

    def __deepcopy__(self, _: Any) -> "Recurrence":
        return self


def op(text_or_path: str | PathLike[str], *, mma: Mma | None = None, options: str = "") -> Recurrence:
    """Makes an operator, with gradients, of any recurrence.

    Args:
        text_or_path: the text that `wkvc emit OP --stage rec` prints, of a recurrence written in C++ or by hand, or the
            path of a file with it.
        mma: what operands of contractions are rounded to; as the text says where it is None.
        options: more options of the command that configure a kernel, such as "--chunk 32 --saved f16".

    Returns:
        A function: the tensors of `inputs` in, the outputs and the final state (or None) out. It can be kept in a
        module, copied and pickled.
    """
    text = str(text_or_path)
    if "\n" not in text:
        text = Path(text).read_text(encoding="utf-8")
    return Recurrence(_text.canonical(text), mma, options)
