"""A call under flash-linear-attention's names: heads of any size, states in either layout, a few tokens in float32."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn.functional import pad

from ._call import autocast_dtype
from ._decode import MOST_TOKENS, decode
from ._functions import Operator, settle
from ._operators import Family
from ._states import StateLayout

Results = tuple[torch.Tensor, torch.Tensor | None]


def run(
    function: Callable[..., Any],
    tensors: tuple[torch.Tensor, ...],
    scale: float | None,
    initial_state: torch.Tensor | None,
    output_final_state: bool,
    state_v_first: bool,
    cu_seqlens: torch.Tensor | None,
    cp_context: Any = None,
    **settings: Any,
) -> Results:
    """The output in the dtype of the first tensor, and the final state, or None in its place."""
    if cp_context is not None:
        raise ValueError("cp_context was given: wkvc has no context parallelism, leave it out")
    layout: StateLayout = "vk" if state_v_first else "kv"
    family = settle(function, settings).family
    padded, (keys, values) = _padded(family, tensors)
    is_padded = padded is not tensors
    if scale is None and (is_padded or not isinstance(function, Operator)):
        scale = keys**-0.5
    rows, columns = (values, keys) if state_v_first else (keys, values)
    state = None if initial_state is None else initial_state.float()
    if is_padded and state is not None:
        state = pad(state, (0, -columns % 16, 0, -rows % 16))
    if cu_seqlens is None and _are_few(padded, initial_state):
        results: Any = _by_tokens(function, family, padded, state, layout, scale=scale, **settings)
    else:
        given = {"initial_state": state, "state_layout": layout, "cu_seqlens": cu_seqlens, "scale": scale}
        results = function(*padded, output_final_state=bool(output_final_state), **given, **settings)
    o, state = results
    if is_padded:
        o, state = o[..., :values].contiguous(), None if state is None else state[..., :rows, :columns]
    return o.to(tensors[0].dtype), state if output_final_state else None


def _padded(family: Family, tensors: tuple[torch.Tensor, ...]) -> tuple[tuple[torch.Tensor, ...], tuple[int, int]]:
    """The tensors with zeros behind keys and values up to multiples of 16; and the keys and values of a head."""
    dims = [spec.dim for spec in family.inputs]
    keys = next(x.shape[-1] for x, dim in zip(tensors, dims, strict=True) if dim == "K")
    values = next((x.shape[-1] for x, dim in zip(tensors, dims, strict=True) if dim == "V"), keys)
    if keys % 16 == 0 and values % 16 == 0:
        return tensors, (keys, values)
    padded = [pad(x, (0, -x.shape[-1] % 16)) if dim in ("K", "V") else x for x, dim in zip(tensors, dims, strict=True)]
    return tuple(padded), (keys, values)


def _are_few(tensors: Sequence[torch.Tensor], initial_state: torch.Tensor | None) -> bool:
    """Whether `decode` takes as many tokens, and nobody needs gradients or casts."""
    if not 0 < tensors[0].shape[1] <= MOST_TOKENS or autocast_dtype(tensors[0]) is not None:
        return False
    given = tensors if initial_state is None else (*tensors, initial_state)
    return not (torch.is_grad_enabled() and any(x.requires_grad for x in given))


def _by_tokens(
    function: Callable[..., Any],
    family: Family,
    tensors: tuple[torch.Tensor, ...],
    initial_state: torch.Tensor | None,
    layout: StateLayout,
    *,
    mma: Any = None,
    **settings: Any,
) -> tuple[torch.Tensor, torch.Tensor]:
    """A few tokens with `decode`, which rounds no operand of contractions; `initial_state` stays as it is."""
    if initial_state is None:
        sizes = {spec.dim: x.shape[-1] for spec, x in zip(family.inputs, tensors, strict=True)}
        heads = max(x.shape[2] for spec, x in zip(family.inputs, tensors, strict=True) if not spec.is_parameter)
        rows, columns = (sizes["K"], sizes["V"]) if layout == "kv" else (sizes["V"], sizes["K"])
        states = tensors[0].new_zeros((tensors[0].shape[0], heads, rows, columns), dtype=torch.float32)
    else:
        states = initial_state.detach().clone(memory_format=torch.contiguous_format)
    o = decode(function, *tensors, states=states, state_layout=layout, **settings)
    assert isinstance(o, torch.Tensor)
    return o, states
