"""Functions with the names, argument orders and layouts of RWKV-LM and RWKV-PEFT.

Tensors are [B, T, C] with heads of 64 side by side. T may be any number, not only a multiple of 16.
"""

import torch

from ._checks import check_tensor
from ._rwkv import rwkv7

HEAD_SIZE = 64


def _split(name: str, tensor: torch.Tensor, head_size: int) -> torch.Tensor:
    check_tensor(name, tensor)
    if tensor.dim() != 3 or tensor.shape[-1] % head_size:
        raise ValueError(f"{name} has shape {list(tensor.shape)}, expected [B, T, C] with C a multiple of {head_size}")
    return tensor.unflatten(-1, (-1, head_size))


def _heads(head_size: int, **tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(_split(name, tensor, head_size) for name, tensor in tensors.items())


def RWKV7_CLAMPW_CUDA(  # noqa: N802
    r: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> torch.Tensor:
    """RWKV-LM's train_temp: w is raw, the decay exp(-exp(-1/2) · sigmoid(w)); a is -kk and b is kk · a."""
    o, _ = rwkv7(*_heads(HEAD_SIZE, r=r, w=w, k=k, v=v, a=a, b=b))
    return o.flatten(2)


def _log_decay(w: torch.Tensor) -> torch.Tensor:
    """The log decay of w before exp(-exp(w)), in float32: 16 bits would round away small ones."""
    check_tensor("w", w)
    return -w.float().exp()


class WindBackstepping:
    """RWKV-LM's operator before July 2026: w comes first, and the decay is exp(-exp(w))."""

    @staticmethod
    def apply(
        w: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, z: torch.Tensor, b: torch.Tensor
    ) -> torch.Tensor:
        """Tensors are [B, T, H, 64]; so is the result. Layers clamp w = -softplus(-w) - 0.5, so that w < -0.5."""
        o, _ = rwkv7(q, _log_decay(w), k, v, z, b, decay="log")
        return o


def RUN_CUDA_RWKV7g(  # noqa: N802
    q: torch.Tensor, w: torch.Tensor, k: torch.Tensor, v: torch.Tensor, a: torch.Tensor, b: torch.Tensor
) -> torch.Tensor:
    """The same on [B, T, C], as RWKV-LM's and RWKV-PEFT's layers call it."""
    q, w, k, v, a, b = _heads(HEAD_SIZE, q=q, w=w, k=k, v=v, a=a, b=b)
    return WindBackstepping.apply(w, q, k, v, a, b).flatten(2)


def _initial_state(s: torch.Tensor, batches: int) -> torch.Tensor:
    """A state for each batch, in float32."""
    check_tensor("s", s)
    if s.dim() != 3 and (s.dim() != 4 or s.shape[0] not in (1, batches)):
        raise ValueError(f"s has shape {list(s.shape)}, expected [H, V, K], or [B, H, V, K] with B = {batches}")
    return s.float().expand(batches, *s.shape[-3:])


def RUN_RWKV7_STATE(  # noqa: N802
    r: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    w: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    s: torch.Tensor,
    HEAD_SIZE: int = HEAD_SIZE,
) -> tuple[torch.Tensor, torch.Tensor]:
    """RWKV-PEFT's state tuning: s is a learnt state [H, V, K], or one for each sequence, [B, H, V, K].

    Gives the outputs, [B, T, C], and the final state, [B, H, V, K].
    """
    r, w, k, v, a, b = _heads(HEAD_SIZE, r=r, w=w, k=k, v=v, a=a, b=b)
    initial = _initial_state(s, r.shape[0])
    o, state = rwkv7(r, _log_decay(w), k, v, a, b, initial_state=initial, output_final_state=True, decay="log")
    assert state is not None
    return o.flatten(2), state


def RUN_RWKV7_INFCTX(  # noqa: N802
    r: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    w: torch.Tensor,
    a: torch.Tensor,
    b: torch.Tensor,
    s: torch.Tensor,
    HEAD_SIZE: int = HEAD_SIZE,
) -> tuple[torch.Tensor, torch.Tensor]:
    """RWKV-PEFT's contexts in parts: s is the state of the part before, with keys first, [B, H, K, V].

    Gives the outputs, [B, T, C], and the state for the next part, in the same layout.
    """
    check_tensor("s", s)
    if s.dim() != 4:
        raise ValueError(f"s has shape {list(s.shape)}, expected [B, H, K, V]")
    o, state = RUN_RWKV7_STATE(r, k, v, w, a, b, s.transpose(-1, -2), HEAD_SIZE)
    return o, state.transpose(-1, -2)
