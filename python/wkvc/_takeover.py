"""Functions of wkvc in the place of another package's, call by call; where wkvc does not run, the other one does."""

import functools
import inspect
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from . import _library
from ._call import autocast_dtype
from ._rwkv import Mma

Function = Callable[..., Any]

# Arguments that say how results are computed, and not what they are: wkvc has its own ways.
_WAYS = frozenset({"chunk_size", "chunk_indices", "cu_seqlens_cpu", "disable_recompute", "safe_gate"})
_NEWER_NAMES: dict[str, str] = {
    "transpose_state_layout": "state_v_first"
}  # of arguments that flash-linear-attention deprecates
_MOST_FOUND = 4096  # kinds of calls of a function that are remembered
_calls: Counter[str] = Counter()  # by function and what became of them


def report() -> str:
    """Counts calls that ran on wkvc and calls that did not, with the reasons; prints and returns the text."""
    lines = [f"{count:>8}  {what}" for what, count in _calls.most_common()]
    text = "\n".join(lines) if lines else "no calls so far"
    print(text)
    return text


class Takeover:
    """A function of wkvc that takes the calls of another one."""

    def __init__(
        self,
        name: str,
        function: Function,
        original: Function,
        renames: Mapping[str, str],
        is_tolerant: bool = False,
        chunks: tuple[int, ...] = (),
    ) -> None:
        """`name` is for reports. `renames` has names of `function` for those of `original`.

        What `original` takes as **kwargs and `function` does not know is a reason to refuse, or ignored if tolerant.
        `chunks` are the sizes that `original` takes; empty: powers of two. It raises its own error for others.
        """
        self.name, self._function, self._renames, self._is_tolerant = name, function, renames, is_tolerant
        self._chunks = chunks
        self._signature = inspect.signature(original)
        self._known = frozenset(inspect.signature(function).parameters)
        self._found: dict[Any, tuple[dict[str, Mma] | None, str]] = {}

    def verify(self, *arguments: Any, **named: Any) -> tuple[bool, str | None]:
        """Whether wkvc runs a call, or why not; counts it."""
        reason = self._decide(arguments, named)[1]
        return reason is None, reason

    def run(self, *arguments: Any, **named: Any) -> Any:
        """A call that wkvc runs, and that was counted before."""
        given, reason = self._found_for(arguments, named)
        if reason is not None:
            raise ValueError(reason)
        return self._function(**given)

    def instead_of(self, original: Function) -> Function:
        """A function that runs here or there."""

        @functools.wraps(original)
        def choose(*arguments: Any, **named: Any) -> Any:
            given, reason = self._decide(arguments, named)
            return self._function(**given) if reason is None else original(*arguments, **named)

        return torch.compiler.disable(choose)

    def _decide(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """What `_found_for` gives; counts the call."""
        given, reason = self._found_for(arguments, named)
        _calls[f"{self.name}: on wkvc" if reason is None else f"{self.name}: by the original: {reason}"] += 1
        return given, reason

    def _given(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments as wkvc's function takes them; raises TypeError for those that it does not take."""
        if not (self._is_tolerant or self._is_chunk(named.get("chunk_size"))):
            raise TypeError(f"chunk_size is {named['chunk_size']}")
        bound = self._signature.bind(*arguments, **named)
        bound.apply_defaults()
        given: dict[str, Any] = {}
        for parameter in self._signature.parameters.values():
            value = bound.arguments[parameter.name]
            own = self._renames.get(parameter.name, parameter.name)
            if parameter.kind is parameter.VAR_KEYWORD:
                others = _with_newer_names(value, named)
                given |= {name: other for name, other in others.items() if name in self._known}
                unknown = [] if self._is_tolerant else [*others.keys() - self._known - _WAYS]
            elif own in self._known:
                given[own], unknown = value, []
            else:
                unknown = [] if own in _WAYS or _is_same(value, parameter.default) else [parameter.name]
            if unknown:
                raise TypeError(f"wkvc takes no {', '.join(sorted(unknown))}")
        return given

    def _is_chunk(self, size: Any) -> bool:
        """Whether the original takes chunks of a size; wkvc has chunks of its own."""
        if size is None or not isinstance(size, int):
            return size is None
        return size in self._chunks if self._chunks else size.bit_count() == 1

    def _found_for(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
        """The arguments of wkvc's function; or the reason for which a call stays with the original."""
        try:
            given = self._given(arguments, named)
            reason = next((why for name, tensor in _tensors(given) if (why := _why_not(name, tensor))), None)
            if reason is not None:
                return {}, reason
            settings, why_not = self._settings_for(given)
        except TypeError as error:  # an argument that there is not, or one without a hash
            return {}, str(error)
        return ({}, why_not) if settings is None else ({**given, **settings}, None)

    def _settings_for(self, given: Mapping[str, Any]) -> tuple[dict[str, Mma] | None, str]:
        """What operands of contractions are rounded to in a call, or None and why there are no kernels.

        Compiles where the answer is not known: a call with tensors that have no memory.
        """
        first = next((tensor for _, tensor in _tensors(given)), None)
        if first is None:
            return None, "no argument is a tensor"
        dtype = autocast_dtype(first)
        key = (tuple(_layout(value) for value in given.values()), torch.is_grad_enabled(), dtype)
        if key not in self._found:
            if len(self._found) >= _MOST_FOUND:
                self._found.clear()
            self._found[key] = self._find(given, dtype or first.dtype)
        return self._found[key]

    def _find(self, given: Mapping[str, Any], dtype: torch.dtype) -> tuple[dict[str, Mma] | None, str]:
        reasons: dict[str, None] = {}
        for settings in self._choices(dtype):
            with FakeTensorMode():
                fakes = {name: _fake(value) for name, value in given.items()}
                try:
                    self._function(**{**fakes, **settings})
                    return settings, ""
                except Exception as error:  # a model that worked goes on, whatever this is
                    reasons[str(error).partition("\n")[0]] = None
        return None, "; ".join(reasons)

    def _choices(self, dtype: torch.dtype) -> list[dict[str, Mma]]:
        """Settings of calls, the best ones first."""
        if "mma" not in self._known:
            return [{}]
        choices: tuple[Mma, ...] = ("f32", "f16") if dtype == torch.float32 else ("f16", "bf16")
        return [{"mma": mma} for mma in choices]


def swap(functions: Iterable[tuple[Function, Function]]) -> None:
    """Puts the second function where a loaded module of another package has the first."""
    others = {id(old): new for old, new in functions}
    for path, module in [*sys.modules.items()]:
        if not isinstance(module, ModuleType) or path.partition(".")[0] == "wkvc":
            continue
        for name, value in [*vars(module).items()]:
            if id(value) in others:
                setattr(module, name, others[id(value)])


def _tensors(given: Mapping[str, Any]) -> list[tuple[str, torch.Tensor]]:
    return [(name, value) for name, value in given.items() if isinstance(value, torch.Tensor)]


def _why_not(name: str, tensor: torch.Tensor) -> str | None:
    """The reason for which wkvc does not take a tensor."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"{name} is a {type(tensor).__name__}"
    if not (tensor.is_cpu or (tensor.is_cuda and _runs_on(tensor.device))):
        return f"{name} is on {tensor.device}, which is no H100 or H200"
    return None


def _with_newer_names(more: Mapping[str, Any], given: Iterable[str]) -> dict[str, Any]:
    """`more` by the newer names; raises TypeError where `given` has both names of an argument, as the original does."""
    for old in _NEWER_NAMES.keys() & more.keys():
        new = _NEWER_NAMES[old]
        if new in given:
            raise TypeError(f"{old} and {new} are one argument, and both are given")
        warnings.warn(f"{old} is deprecated: call the argument {new}", DeprecationWarning, stacklevel=2)
    return {_NEWER_NAMES.get(name, name): value for name, value in more.items()}


def _is_same(value: Any, default: Any) -> bool:
    return value is default or (isinstance(value, bool | int | float | str) and value == default)


@functools.cache
def _runs_on(device: torch.device) -> bool:
    return _library.runs_on(torch.cuda.get_device_capability(device))


def _layout(value: Any) -> Any:
    """What of an argument kernels follow from."""
    if not isinstance(value, torch.Tensor):
        return tuple(value) if isinstance(value, list) else value
    return value.shape, value.stride(), value.dtype, value.device, value.requires_grad


def _fake(value: Any) -> Any:
    """The argument, with no memory where it is a tensor."""
    if not isinstance(value, torch.Tensor):
        return value
    fake = torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device=value.device)
    return fake.requires_grad_(value.requires_grad)
