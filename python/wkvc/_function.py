"""What a recurrence is to its users: a function of tensors, of the library, in Python or of a text."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from ._arguments import bind
from ._call import autocast_dtype, call, check_inputs
from ._operators import Family
from ._states import STATE_ARGUMENTS, StateLayout, states_from


class Settled(NamedTuple):
    """What arguments of a call settle beside tensors and states."""

    family: Family
    variant: str
    options: str
    tensors: Mapping[str, Any]  # the arguments that settle nothing: inputs by name


class Function(ABC):
    """A recurrence as a function of tensors."""

    title: str  # in messages
    settings: tuple[str, ...]  # the names of arguments that are neither tensors nor states
    state_layout: StateLayout = "vk"  # of states where a call says nothing

    @abstractmethod
    def settle(self, named: Mapping[str, Any]) -> Settled:
        """What arguments by name settle; raises TypeError or ValueError for settings that no call takes."""

    @abstractmethod
    def converted(
        self, family: Family, inputs: tuple[torch.Tensor, ...], autocast: torch.dtype | None
    ) -> tuple[torch.Tensor, ...]:
        """Inputs as kernels take them, under autocast to a dtype or without."""

    def __call__(self, /, *inputs: torch.Tensor, **named: Any) -> tuple[torch.Tensor | None, ...]:
        """The outputs and the final state, or None in its place.

        Args:
            inputs, named: tensors by position, then by name: [B, T, H, K], [B, T, H, V] or [B, T, H], and parameters
                [H, K], [H, V] or [H]. Tensors of tokens may have fewer heads, as `rwkv7` takes them. An input that has
                the name of another argument goes by position.
            states, or a field of `wkvc.States` by its name: initial_state, output_final_state, cu_seqlens, …
            mma, options, and the options of the recurrence: of functions that were not made by wkvc.op.
        """
        settled = self.settle({name: value for name, value in named.items() if name not in STATE_ARGUMENTS})
        family = settled.family
        inputs = bind(self.title, family.names, inputs, settled.tensors, (*STATE_ARGUMENTS, *self.settings))
        check_inputs(family, inputs)
        given = {name: value for name, value in named.items() if name in STATE_ARGUMENTS}
        states = states_from(self.title, given, layout=self.state_layout)
        inputs = self.converted(family, inputs, autocast_dtype(inputs[0]))
        outputs, state = call(family, inputs, settled.variant, settled.options, states)
        return *outputs, state

    def __deepcopy__(self, _: Any) -> "Function":
        return self
