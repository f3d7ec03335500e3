"""The built-in recurrences as functions: what a function takes follows from the definition in the library."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import torch

from . import _library, _text
from ._arguments import bind, check_names, keywords_of
from ._call import StateLayout, autocast_dtype, call, cast, check_inputs
from ._checks import check_number
from ._families import family_of, find_or_make
from ._operators import Family, Head
from ._options import values_of, with_mma
from ._recurrence import Recurrence
from ._rwkv import SETTINGS, settings_of
from ._text import Signature


class Operator:
    """A built-in recurrence as a function of tensors."""

    def __init__(self, name: str) -> None:
        self.name = name
        read = _library.signature(name)
        self.options: dict[str, str] = {option["name"]: option["values"] for option in read["options"]}
        self.__doc__ = _described(read)

    @property
    def family(self) -> Family:
        """The operators of calls without options."""
        return _family(self.name, "")

    def resolve(self, settings: Mapping[str, Any], options: str = "") -> tuple[Family, str, str]:
        """The family, the variant and the options of calls with these settings: `mma`, and options of the recurrence.

        Raises TypeError for names that are neither, and ValueError for values that an option does not take.
        """
        check_names(f"wkvc.{self.name}", settings, (*self.options, "mma"))
        mma = settings.get("mma", "f16")
        given = {name: value for name, value in settings.items() if name != "mma" and value is not None}
        variant = ",".join(f"{name}={_value_text(name, value)}" for name, value in sorted(given.items()))
        return _family(self.name, variant), variant, with_mma(mma, options)

    def split(self, named: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments by name: settings, and tensors."""
        settings = {name: value for name, value in named.items() if name in self.options or name == "mma"}
        return settings, {name: value for name, value in named.items() if name not in settings}

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
        options: str = "",
        **named: Any,
    ) -> tuple[torch.Tensor | None, ...]:
        """The outputs and the final state, or None in its place."""
        settings, tensors = self.split(named)
        family, variant, words = self.resolve(settings, options)
        known = (*_ARGUMENTS, "mma", *self.options)
        inputs = self.widened(family, bind(f"wkvc.{self.name}", family.names, inputs, tensors, known))
        states = (initial_state, output_final_state, state_layout, cu_seqlens, state_indices, report)
        outputs, state = call(family, inputs, variant, words, *states, intermediate_states, states_every)
        return *outputs, state

    def widened(self, family: Family, inputs: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
        """Inputs as kernels take them: what is declared in float32 in that, the others in autocast's dtype if on."""
        check_inputs(family, inputs)
        dtype = autocast_dtype(inputs[0])
        result = []
        for spec, tensor in zip(family.inputs, inputs, strict=True):
            wanted = torch.float32 if spec.dtype == torch.float32 else dtype
            result.append(tensor if wanted is None else cast(tensor, wanted))
        return tuple(result)

    def __repr__(self) -> str:
        return f"wkvc.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return operator, (self.name,)

    def __deepcopy__(self, _: Any) -> "Operator":
        return self


_ARGUMENTS = keywords_of(Operator.__call__)


Settings = Mapping[str, Any]


def resolve(function: Any, named: Settings, options: str = "") -> tuple[Family, str, str, dict[str, Any]]:
    """The family, the variant and the options of a function of the package, and what of `named` is no setting of it.

    Raises TypeError or ValueError for settings that the function does not take.
    """
    if isinstance(function, Operator):
        settings, rest = function.split(named)
        return *function.resolve(settings, options), rest
    family = family_of(function)
    if isinstance(function, Recurrence):
        return family, "", options, dict(named)
    settings = {name: value for name, value in named.items() if name in SETTINGS and name != "options"}
    rest = {name: value for name, value in named.items() if name not in settings}
    return family, *settings_of(**settings, options=options), rest


@cache
def operator(name: str) -> Operator:
    """The function of a built-in recurrence."""
    return Operator(name)


def _value_text(name: str, value: Any) -> str:
    """A value as --set takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        if not value or set(value) & set(" ,='\"\\"):
            raise ValueError(f"{name} is {value!r}, expected one word")
        return value
    check_number(name, value)
    return repr(float(value))


def _signature(name: str, variant: str) -> Signature:
    """What a recurrence takes with these settings. Inputs that follow --io are in bfloat16."""
    settings = f" --set {variant}" if variant else ""
    return _text.signature_from(_library.signature(name, f"--io bf16{settings}"))


_families: dict[str, Family] = {}  # by name and variant


def _family(name: str, variant: str) -> Family:
    """The family of a recurrence with these settings: one for all that take the same tensors."""
    key = f"{name} {variant}"
    _find_family(name, variant, key)
    return _families[key]


@torch.compiler.assume_constant_result  # compiled code has the family, and its guards see only the table
def _find_family(name: str, variant: str, key: str) -> None:
    if key in _families:
        return
    signature, plain = _signature(name, variant), _signature(name, "")
    own_name = "_".join([name, *(spec.name for spec in signature.inputs if spec not in plain.inputs)])
    _families[key] = find_or_make(
        own_name, lambda own: Family(own, signature.inputs, signature.outputs, _text_of(name, signature))
    )


def _text_of(name: str, signature: Signature) -> Any:
    """The texts of a recurrence: a variant is what the option --set takes."""
    stored = [place for place, spec in enumerate(signature.inputs) if spec.dtype != torch.float32]

    def text_of(variant: str, options: str, head: Head) -> str:
        words = [f"--head {head.key_dim},{head.value_dim} --io {_text.NAMES[head.dtypes[stored[0]]]}"]
        if "--mma" in values_of(options):
            words.append(f"--mma {values_of(options)['--mma']}")
        if variant:
            words.append(f"--set {variant}")
        return _library.emit(name, " ".join(words))

    return text_of


def _described(read: dict[str, Any]) -> str:
    """The documentation of a function."""
    names = ", ".join(tensor["name"] for tensor in read["inputs"])
    options = "".join(
        f"\n    {option['name']}: {option['meaning']}: {option['values']} ({option['otherwise']})."
        for option in read["options"]
    )
    return (
        f"{read['name']}({names}, *, …): see `wkvc list {read['name']}`, and `wkvc.rwkv7` for arguments of states."
        f"\n\nOptions:{options or ' none'}\n"
    )
