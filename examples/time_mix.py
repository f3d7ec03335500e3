#!/usr/bin/env python3
"""RWKV-7's time mixing as one module: torch.compile takes it whole, forward and backward.

    python3 examples/time_mix.py

The equations are those of "RWKV-7 Goose with Expressive Dynamic State Evolution", section 4.
"""

import torch
from torch import nn
from torch.nn import functional

import wkvc


class LowRank(nn.Module):
    """bias + f(x A) B: a small network for each channel."""

    def __init__(self, channels: int, rank: int, activation: nn.Module) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(channels, rank, bias=False), activation, nn.Linear(rank, channels, bias=True)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class TimeMix(nn.Module):
    """x [B, T, C] → [B, T, C], with heads of `head` channels."""

    def __init__(self, channels: int, head: int = 64) -> None:
        super().__init__()
        self.heads = channels // head
        self.mix = nn.Parameter(torch.rand(6, channels))  # how much of the token before goes into r, w, k, v, a, g
        self.receptance, self.key, self.value, self.output = (nn.Linear(channels, channels, False) for _ in range(4))
        self.decay = LowRank(channels, 64, nn.Tanh())
        self.rate = LowRank(channels, 64, nn.Identity())
        self.gate = LowRank(channels, 128, nn.Sigmoid())
        self.removal_scale = nn.Parameter(torch.ones(channels))
        self.rate_mix = nn.Parameter(torch.ones(channels))
        self.bonus = nn.Parameter(torch.zeros(self.heads, head))
        self.norm = nn.GroupNorm(self.heads, channels, eps=64e-5)

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        before = functional.pad(x, (0, 0, 1, -1))
        xr, xw, xk, xv, xa, xg = (x + mix * (before - x) for mix in self.mix.unbind())
        r, k, v = self.receptance(xr), self.key(xk), self.value(xv)
        rate = torch.sigmoid(self.rate(xa))
        removal = functional.normalize(self.split(k * self.removal_scale), dim=-1)
        k = k * (1 + self.rate_mix * (rate - 1))
        r, w, k, v, rate = (self.split(t) for t in (r, self.decay(xw), k, v, rate))
        o, _ = wkvc.rwkv7(r, w, k, v, -removal, removal * rate)
        o = self.norm(o.flatten(0, 1).flatten(1)).view_as(x)
        o = o + ((r * k * self.bonus).sum(-1, keepdim=True) * v).flatten(2)
        return self.output(o * self.gate(xg))


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.manual_seed(0)
    block = torch.compile(TimeMix(128).to(device), fullgraph=True)
    x = torch.randn(2, 32, 128, device=device)
    block(x).square().mean().backward()
    print("one graph forward and one backward")


if __name__ == "__main__":
    main()
