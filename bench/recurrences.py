"""The recurrences that scripts of bench/ measure: inputs as layers give them, and one token's step in float64.

Texts of those that are not built in come from bench/recurrences.cpp, which says where the formulas are from. A step
takes states [..., V, K] and vectors [..., K] or [..., V] or numbers [...], and gives the output and the next state.
"""
import math
import subprocess
from functools import lru_cache
from typing import Callable, NamedTuple

import torch
from torch.nn.functional import logsigmoid, normalize, softplus

STEEPEST = -math.exp(-0.5)  # the least log decay of RWKV-7
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


class Recurrence(NamedTuple):
    """A recurrence; names of tensors are in the order in which public kernels are given them here."""

    tokens: tuple  # inputs of each token
    over_values: tuple  # those of them over values
    draw: Callable  # from a Draw: inputs by name
    step: Callable
    built_in: bool = False
    parameters: tuple = ()  # inputs of each head
    shared: tuple = ()  # inputs of which one head serves all
    in_f32: tuple = ()  # inputs that are never stored in 16 bits
    head: Callable = lambda keys: (keys, keys)  # keys and values


class Draw:
    """Random tensors of one size, from one seed."""

    def __init__(self, size, head, seed, device):
        self.batches, self.tokens, self.heads = size
        self.keys, self.values = head
        self.device = device
        self.generator = torch.Generator(device).manual_seed(seed)

    def normal(self, *shape):
        return torch.randn(*shape, generator=self.generator, device=self.device)

    def uniform(self, *shape):
        return torch.rand(*shape, generator=self.generator, device=self.device)

    def key(self, heads=None):
        return self.normal(self.batches, self.tokens, heads or self.heads, self.keys)

    def value(self):
        return self.normal(self.batches, self.tokens, self.heads, self.values)

    def number(self):
        return self.normal(self.batches, self.tokens, self.heads)

    def step_sizes(self, *width):
        """Logarithms from log 1e-3 to log 1e-1 whose softplus layers of Mamba and DeltaNet start with, and noise."""
        dt = torch.exp(math.log(1e-3) + self.uniform(self.heads, *width) * math.log(100))
        noise = self.normal(self.batches, self.tokens, self.heads, *width)
        return softplus(dt + torch.log(-torch.expm1(-dt)) + 0.5 * noise)

    def rates(self):
        """A of a head, from 1 to 16, as these layers start."""
        return 1 + 15 * self.uniform(self.heads)


def unit(x):
    return normalize(x, dim=-1)


def row(x):
    return x.unsqueeze(-2)


def outer(column, row_):
    return column.unsqueeze(-1) * row(row_)


def dot(state, vector):
    return (state @ vector.unsqueeze(-1)).squeeze(-1)


def over_matrix(number):
    return number[..., None, None]


def read(state, q):
    """As attention reads: divided by sqrt(K)."""
    return dot(state, q) * q.shape[-1] ** -0.5


# RWKV

def draw_rwkv7(at):
    key = unit(at.key())
    return {"r": at.key(), "w": at.key(), "k": at.key(), "v": at.value(), "a": -key, "b": key * torch.sigmoid(at.key())}


def draw_rwkv7_logw(at):
    x = draw_rwkv7(at)
    return {**x, "w": STEEPEST * torch.sigmoid(x["w"])}


def rwkv7_step(log_decay):
    def step(S, x):
        S = S * row(torch.exp(log_decay(x["w"]))) + outer(dot(S, x["a"]), x["b"]) + outer(x["v"], x["k"])
        return dot(S, x["r"]), S
    return step


def draw_rwkv6(at):
    return {"r": at.key(), "w": at.key() * 0.5 - 3, "k": at.key(), "v": at.value(), "u": at.normal(at.heads, at.keys)}


def rwkv6_step(log_decay):
    def step(S, x):
        write = outer(x["v"], x["k"])
        return dot(S + row(x["u"]) * write, x["r"]), S * row(torch.exp(log_decay(x["w"]))) + write
    return step


# Delta rules

def delta_rule(S, beta, v, k):
    return S + outer(beta.unsqueeze(-1) * (v - dot(S, k)), k)


def draw_delta(at, g):
    return {"q": unit(at.key()), "k": unit(at.key()), "v": at.value(), "g": g, "beta": torch.sigmoid(at.number())}


def mild(log_decay):
    """As layers start, none below −0.59."""
    return log_decay.clamp(-0.59, -1e-6)


def draw_gated_delta_net(at):
    return draw_delta(at, mild(-at.rates() * at.step_sizes()))


def draw_kda(at):
    return draw_delta(at, mild(-at.rates()[:, None] * at.step_sizes(at.keys)))


def draw_kda_gate5(at):
    slopes = torch.exp(0.9 * at.uniform(at.heads) - 0.5)
    return draw_delta(at, -5 * torch.sigmoid(slopes[:, None] * at.key()))


def draw_delta_net(at):
    x = draw_delta(at, None)
    return {name: t for name, t in x.items() if name != "g"}


def draw_comba(at):
    """p is the key times a sigmoid of each head, which layers start at 1."""
    x = draw_gated_delta_net(at)
    return {**x, "p": x["k"] * torch.sigmoid(1 + 0.1 * at.normal(at.heads, 1))}


def draw_gdn2(at):
    x = draw_kda(at)
    del x["beta"]
    return {**x, "b": torch.sigmoid(at.key()), "w": torch.sigmoid(at.value())}


def draw_gated_delta_product(at):
    x, second = draw_gated_delta_net(at), draw_delta(at, None)
    return {"q": x["q"], "g": x["g"], **{name + "1": x[name] for name in ("k", "v", "beta")},
            **{name + "2": second[name] for name in ("k", "v", "beta")}}


def draw_iplr(at):
    x = draw_rwkv7(at)
    return {"q": unit(x["r"]), "k": unit(x["k"]), "v": x["v"], "a": x["a"], "b": x["b"]}


def delta_net_step(S, x):
    S = delta_rule(S, x["beta"], x["v"], x["k"])
    return read(S, x["q"]), S


def comba_step(S, x):
    S = S * over_matrix(torch.exp(x["g"])) + outer(x["beta"].unsqueeze(-1) * (x["v"] - dot(S, x["p"])), x["k"])
    return read(S, x["q"]), S


def gdn2_step(S, x):
    decayed = S * row(torch.exp(x["g"]))
    S = decayed + outer(x["w"] * x["v"] - dot(decayed, x["b"] * x["k"]), x["k"])
    return read(S, x["q"]), S


def gated_delta_product_step(S, x):
    S = S * over_matrix(torch.exp(x["g"]))
    for n in "12":
        S = delta_rule(S, x["beta" + n], x["v" + n], x["k" + n])
    return read(S, x["q"]), S


def iplr_step(S, x):
    S = S + outer(dot(S, x["a"]), x["b"]) + outer(x["v"], x["k"])
    return read(S, x["q"]), S


def gated_delta_net_step(S, x):
    S = delta_rule(S * over_matrix(torch.exp(x["g"])), x["beta"], x["v"], x["k"])
    return read(S, x["q"]), S


def kda_step(S, x):
    S = delta_rule(S * row(torch.exp(x["g"])), x["beta"], x["v"], x["k"])
    return read(S, x["q"]), S


# Decays without a delta rule

def draw_mamba2(at):
    return {"x": at.value(), "dt": at.step_sizes(), "A": -at.rates(), "B": at.key(1), "C": at.key(1)}


def simple_gla_step(S, x):
    S = S * over_matrix(torch.exp(x["g"])) + outer(x["x"], x["B"])
    return dot(S, x["C"]), S


def mamba2_step(S, x):
    return simple_gla_step(S, {**x, "x": x["dt"].unsqueeze(-1) * x["x"], "g": x["A"] * x["dt"]})


def draw_gla(at):
    return {"q": at.key(), "k": at.key(), "v": at.value(), "g": logsigmoid(at.key()) / 16}


def draw_retnet(at):
    rates = torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), at.heads, device=at.device))
    return {"q": at.key(), "k": at.key(), "v": at.value(), "g": torch.log(1 - rates)}


def retnet_step(S, x):
    S = S * over_matrix(torch.exp(x["g"])) + outer(x["v"], x["k"])
    return read(S, x["q"]), S


def draw_simple_gla(at):
    return {"q": at.key(), "k": at.key(), "v": at.value(), "g": mild(-at.rates() * at.step_sizes())}


def draw_hgrn2(at):
    return {"q": at.key(), "v": at.value(), "g": logsigmoid(at.key()) / 16}


def hgrn2_step(S, x):
    return decayed_step(S, {**x, "k": 1 - torch.exp(x["g"])})


def decayed_step(S, x):
    S = S * row(torch.exp(x["g"])) + outer(x["v"], x["k"])
    return read(S, x["q"]), S


# One without a name

def draw_unnamed(at):
    key = unit(at.key())
    x = draw_delta(at, -torch.sigmoid(at.key()))
    return {**x, "a": key, "b": -key * torch.sigmoid(at.key()), "z": at.value()}


def unnamed_step(S, x):
    written = torch.sigmoid(x["z"]) * x["v"]
    S = delta_rule(S * row(torch.exp(x["g"])), x["beta"], written, x["k"]) + outer(dot(S, x["a"]), x["b"])
    return dot(S, x["q"]), S


RWKV7 = ("r", "w", "k", "v", "a", "b")
DELTA = ("q", "k", "v", "g", "beta")
RECURRENCES = {
    "rwkv7": Recurrence(RWKV7, ("v",), draw_rwkv7, rwkv7_step(lambda w: STEEPEST * torch.sigmoid(w)), built_in=True),
    "rwkv7_logw": Recurrence(RWKV7, ("v",), draw_rwkv7_logw, rwkv7_step(lambda w: w), built_in=True),
    "rwkv6": Recurrence(("r", "w", "k", "v"), ("v",), draw_rwkv6, rwkv6_step(lambda w: -torch.exp(w)), built_in=True,
                        parameters=("u",)),
    "gated_delta_net": Recurrence(DELTA, ("v",), draw_gated_delta_net, gated_delta_net_step, in_f32=("g", "beta"),
                                  built_in=True),
    "kda": Recurrence(DELTA, ("v",), draw_kda, kda_step, in_f32=("g", "beta"), built_in=True),
    "kda_gate5": Recurrence(DELTA, ("v",), draw_kda_gate5, kda_step, in_f32=("g", "beta")),
    "mamba2": Recurrence(("x", "dt", "B", "C"), ("x",), draw_mamba2, mamba2_step, shared=("B", "C"), built_in=True,
                         parameters=("A",), in_f32=("dt", "A"), head=lambda keys: (keys, max(16, keys // 2))),
    "gla": Recurrence(("q", "k", "v", "g"), ("v",), draw_gla, decayed_step, in_f32=("g",), built_in=True),
    "retnet": Recurrence(("q", "k", "v"), ("v",), draw_retnet, retnet_step, parameters=("g",), in_f32=("g",),
                         built_in=True),
    "simple_gla": Recurrence(("q", "k", "v", "g"), ("v",), draw_simple_gla, retnet_step, in_f32=("g",), built_in=True),
    "hgrn2": Recurrence(("q", "v", "g"), ("v",), draw_hgrn2, hgrn2_step, in_f32=("g",), built_in=True),
    "delta_net": Recurrence(("q", "k", "v", "beta"), ("v",), draw_delta_net, delta_net_step, in_f32=("beta",),
                            built_in=True),
    "comba": Recurrence(("q", "k", "v", "p", "g", "beta"), ("v",), draw_comba, comba_step, in_f32=("g", "beta"),
                        built_in=True),
    "gdn2": Recurrence(("q", "k", "v", "g", "b", "w"), ("v", "w"), draw_gdn2, gdn2_step, in_f32=("g",), built_in=True),
    "gated_delta_product": Recurrence(("q", "g", "k1", "v1", "beta1", "k2", "v2", "beta2"), ("v1", "v2"),
                                      draw_gated_delta_product, gated_delta_product_step,
                                      in_f32=("g", "beta1", "beta2"), built_in=True),
    "iplr": Recurrence(("q", "k", "v", "a", "b"), ("v",), draw_iplr, iplr_step, built_in=True),
    "unnamed": Recurrence((*DELTA, "a", "b", "z"), ("v", "z"), draw_unnamed, unnamed_step, in_f32=("g", "beta")),
}


# Public kernels take other inputs than RWKV-6's and Mamba-2's: log decays, and values times dt.
RWKV6_LOGW = RECURRENCES["rwkv6"]._replace(step=rwkv6_step(lambda w: w))
SIMPLE_GLA = Recurrence(("C", "B", "x", "g"), ("x",), None, simple_gla_step, in_f32=("g",))


def draw(name, size, head, io="bf16", seed=0, device="cuda"):
    """Inputs of a recurrence and do, the gradient of its output, by name; `size` is (batches, tokens, heads)."""
    recurrence, at = RECURRENCES[name], Draw(size, head, seed, device)
    x = recurrence.draw(at)
    x["do"] = 1e-3 * at.value()
    return {n: t if n in recurrence.in_f32 else t.to(DTYPES[io]) for n, t in x.items()}


@lru_cache
def text_of(name, head, io, program):
    """The text of the rec stage, printed by `program`, which is build/bin/bench_recurrences."""
    command = [program, "emit", name, "--stage", "rec", "--head", "{},{}".format(*head), "--io", io]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
