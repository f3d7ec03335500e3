"""Recurrences from their text."""

import hashlib
import os
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from . import _text
from ._arguments import bind, keywords_of
from ._call import StateLayout, autocast_dtype, call, cast, check_inputs
from ._checks import kind_of
from ._families import find_or_make
from ._operators import Family
from ._options import check_text, check_values, with_mma
from ._rwkv import Mma


def _family(text: str) -> Family:
    signature = _text.signature_of(text)
    name = f"{signature.name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    head = (signature.key_dim, signature.value_dim)
    return find_or_make(name, lambda name: Family(name, signature.inputs, signature.outputs, lambda *_: text, head))


class Recurrence:
    """A recurrence as a function of tensors; can be copied and pickled."""

    def __init__(self, text: str, mma: str | None, options: str) -> None:
        self.text = text
        self.family = _family(text)
        self._mma = mma
        self._options = options
        check_text(options)
        self.options = options if mma is None else with_mma(mma, options)
        check_values(self.options)  # a mistake shows here already

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the inputs, in their order."""
        return self.family.names

    def __call__(
        self,
        /,
        *inputs: torch.Tensor,
        initial_state: torch.Tensor | None = None,
        output_final_state: bool = False,
        state_layout: StateLayout = "vk",
        cu_seqlens: torch.Tensor | None = None,
        state_indices: torch.Tensor | None = None,
        report: torch.Tensor | None = None,
        intermediate_states: torch.Tensor | None = None,
        states_every: int = 0,
        **named: torch.Tensor,
    ) -> tuple[torch.Tensor | None, ...]:
        """The outputs and the final state, or None in its place.

        Args:
            inputs, named: by position in the order of `inputs`, then by name. They are [B, T, H, K], [B, T, H, V] or
                [B, T, H], and parameters [H, K], [H, V] or [H], in the dtypes that the text declares. Under
                torch.autocast inputs are cast to those. Tensors of tokens may have fewer heads, as `rwkv7` takes them.
                An input that has the name of an argument below goes by position.
            initial_state: float32, [B, H, V, K], or [B, H, K, V] with state_layout="kv"; zeros where it is None.
            output_final_state: whether to return the state behind the last token.
            state_layout: "vk" or "kv", of both states.
            cu_seqlens, state_indices, report: sequences one behind the other and states in slots, as `rwkv7` has
                them.
            intermediate_states, states_every: states behind every so many tokens, as `rwkv7` gives them.
        """
        self._refuse_options(named)
        inputs = bind(self.family.name, self.inputs, inputs, named, _SETTINGS)
        check_inputs(self.family, inputs)
        if autocast_dtype(inputs[0]) is not None:
            inputs = tuple(cast(tensor, spec.dtype) for tensor, spec in zip(inputs, self.family.inputs, strict=True))
        states = (initial_state, output_final_state, state_layout, cu_seqlens, state_indices, report)
        intermediate = (intermediate_states, states_every)
        outputs, state = call(self.family, inputs, "", self.options, *states, *intermediate)
        return *outputs, state

    def _refuse_options(self, named: Mapping[str, Any]) -> None:
        """Raises TypeError for arguments of `op` among those of a call."""
        options = [name for name in ("mma", "options") if name in named and name not in self.inputs]
        if options:
            raise TypeError(f"{', '.join(options)}: options of wkvc.op belong to wkvc.op")

    def __repr__(self) -> str:
        return f"wkvc.op({self.family.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Recurrence, (self.text, self._mma, self._options)

    def __deepcopy__(self, _: Any) -> "Recurrence":
        return self


_SETTINGS = keywords_of(Recurrence.__call__)


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
    return Recurrence(_text.canonical(_read(text_or_path)), mma, options)


def _read(text_or_path: str | PathLike[str]) -> str:
    """The text, which has lines or a brace, or that of a file, whatever the file's name is."""
    if not isinstance(text_or_path, str | PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"text_or_path is {kind_of(text_or_path)}, expected the text of a recurrence, or a path")
    if isinstance(text_or_path, str):
        is_file = "\n" not in text_or_path and os.path.isfile(text_or_path)
        if not is_file and ("{" in text_or_path or "\n" in text_or_path or not text_or_path):
            return text_or_path
    try:
        return Path(text_or_path).read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise FileNotFoundError(
            f"there is no file {str(text_or_path)!r}, expected the text of a recurrence (wkvc emit OP --stage rec), or "
            "the path of a file with it"
        ) from error
