#!/usr/bin/env python3
"""Measures what storing states costs that are rounded after every token: errors against the recurrence in float64.

    bench/states.py [--tokens 20000] [--device cpu] [--json states.json]

Needs the package wkvc, and a GPU or a C++ compiler. Tokens of RWKV-7 are decoded one by one through pools of float32,
bfloat16 and float16. Errors are |x - ref| / |ref| of the state behind so many tokens, and of the last 100 outputs there.
"""
import argparse
import json

import torch

import wkvc

HEADS, HEAD = 2, 64
DTYPES = (torch.float32, torch.bfloat16, torch.float16)
WINDOW = 100


def draw(tokens):
    """r, w, k, v, a, b as RWKV-7 has them, float32 in float64."""
    generator = torch.Generator().manual_seed(0)

    def normal():
        return torch.randn(1, tokens, HEADS, HEAD, generator=generator, dtype=torch.float64)

    def unit(x):
        return torch.nn.functional.normalize(x, dim=-1)

    kk = unit(normal())
    w = -6 + 5 * torch.rand(1, tokens, HEADS, HEAD, generator=generator, dtype=torch.float64)
    tensors = unit(normal()), w, unit(normal()), normal(), -kk, kk * normal().sigmoid()
    return [tensor.float().double() for tensor in tensors]


def reference(inputs, marks):
    """Outputs, and the states behind so many tokens."""
    r, w, k, v, a, b = (tensor[0] for tensor in inputs)
    decay = torch.exp(-torch.exp(torch.tensor(-0.5, dtype=torch.float64)) * w.sigmoid())
    state = torch.zeros(HEADS, HEAD, HEAD, dtype=torch.float64)
    outputs, states = [], {}
    for t in range(r.shape[0]):
        erased = (state @ a[t].unsqueeze(-1)) * b[t].unsqueeze(-2)
        state = state * decay[t].unsqueeze(-2) + erased + v[t].unsqueeze(-1) * k[t].unsqueeze(-2)
        outputs.append((state @ r[t].unsqueeze(-1)).squeeze(-1))
        if t + 1 in marks:
            states[t + 1] = state
    return torch.stack(outputs), states


def decoded(inputs, dtype, device, marks):
    given = [tensor.float().to(device) for tensor in inputs]
    pool = torch.zeros(1, HEADS, HEAD, HEAD, dtype=dtype, device=device)
    outputs, states = [], {}
    for t in range(given[0].shape[1]):
        outputs.append(wkvc.decode(wkvc.rwkv7, *(tensor[:, t:t + 1] for tensor in given), states=pool)[0, 0].cpu())
        if t + 1 in marks:
            states[t + 1] = pool[0].double().cpu()
    return torch.stack(outputs).double(), states


def error(x, expected):
    return float((x - expected).norm() / expected.norm())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=20000)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--json", help="where the errors go, too")
    options = parser.parse_args()
    marks = [tokens for tokens in (100, 1000, options.tokens) if tokens <= options.tokens]
    inputs = draw(options.tokens)
    outputs, states = reference(inputs, marks)
    report = []
    for dtype in DTYPES:
        found, found_states = decoded(inputs, dtype, options.device, marks)
        for mark in marks:
            last = slice(max(0, mark - WINDOW), mark)
            row = {"dtype": str(dtype).removeprefix("torch."), "tokens": mark,
                   "state": error(found_states[mark], states[mark]), "o": error(found[last], outputs[last])}
            print("{dtype:<9} {tokens:>6} tokens: state {state:.1e}, o {o:.1e}".format(**row), flush=True)
            report.append(row)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
