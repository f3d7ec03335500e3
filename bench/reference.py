"""Recurrences token by token in float64, on any device, in time that grows with the square root of the tokens.

A state is affine in the one before, row by row: each row times one matrix, plus what is written. A sequence is cut into
pieces. The pieces are walked side by side: once with a state of zeros and, below it, rows of the identity for which
nothing is written. That gives what each piece adds, and the matrix of each. A walk over the pieces gives the state
before each of them, and a second walk side by side the outputs. PyTorch differentiates all of it.
"""
import math

import torch
from torch.utils.checkpoint import checkpoint

BLOCK_BYTES = 4 << 30  # of states that live at once, about


def outputs_of(recurrence, x, head):
    """o [T, n, V] for n heads of `head` = (K, V), of tensors in float64: [T, n, ...], of parameters [n, ...]."""
    keys, values = head
    tokens = {name: x[name] for name in recurrence.tokens}
    parameters = {name: x[name] for name in recurrence.parameters}
    count, heads = next(iter(tokens.values())).shape[:2]
    length = piece_length(count)
    tokens = {name: in_pieces(tensor, length) for name, tensor in tokens.items()}
    pieces = -(-count // length)
    like = next(iter(tokens.values()))
    state = like.new_zeros(pieces, heads, values, keys)
    if pieces > 1:
        identity = torch.eye(keys, dtype=like.dtype, device=like.device).expand(pieces, heads, keys, keys)
        below = like.new_zeros(length, pieces, heads, keys)
        longer = {n: torch.cat([t, below], -1) if n in recurrence.over_values else t for n, t in tokens.items()}
        _, last = walk(recurrence, longer, parameters, torch.cat([state, identity], -2))
        added, matrix = last[:, :, :values], last[:, :, values:]
        before = [state[0]]
        for piece in range(pieces - 1):
            before.append(before[-1] @ matrix[piece] + added[piece])
        state = torch.stack(before)
    outputs, _ = walk(recurrence, tokens, parameters, state)
    return outputs.transpose(0, 1).reshape(pieces * length, heads, values)[:count]


def piece_length(tokens):
    """Near the square root, so that neither walk is long; sequences of up to 64 tokens are one piece."""
    return tokens if tokens <= 64 else 1 << math.ceil(math.log2(tokens) / 2 + 1)


def in_pieces(tensor, length):
    """[T, n, ...] as [length, pieces, n, ...], with zeros behind the last token."""
    missing = -tensor.shape[0] % length
    padded = torch.cat([tensor, tensor.new_zeros(missing, *tensor.shape[1:])])
    return padded.unflatten(0, (-1, length)).transpose(0, 1)


def walk(recurrence, tokens, parameters, state):
    """Outputs [length, pieces, n, V] and the last state, with the states of a block recomputed for gradients."""
    names, values = list(tokens), list(parameters.values())

    def block(state, parameters, *rows):
        outputs = []
        for token in zip(*rows):
            given = dict(zip(names, token)) | dict(zip(recurrence.parameters, parameters))
            output, state = recurrence.step(state, given)
            outputs.append(output)
        return torch.stack(outputs), state

    step = max(1, min(64, BLOCK_BYTES // (8 * state.numel() * 6)))
    outputs = []
    for first in range(0, tokens[names[0]].shape[0], step):
        rows = [tokens[name][first:first + step].unbind(0) for name in names]
        found, state = checkpoint(block, state, values, *rows, use_reentrant=False)
        outputs.append(found)
    return torch.cat(outputs), state


class Reference:
    """Of a few heads, in float64: the outputs, and the gradients of what belongs to these heads alone."""

    def __init__(self, recurrence, x, head, heads):
        """`x` has the inputs of the recurrence and do; `head` is (K, V), and `heads` are pairs (batch, head)."""
        self.head, self.heads = head, heads
        self.total = x["do"].shape[2]
        parameters = recurrence.parameters
        leaves = {name: self.part(t, name in parameters).double().requires_grad_()
                  for name, t in x.items() if name != "do"}
        o = outputs_of(recurrence, leaves, head)
        # A gradient of a parameter is a sum over batches, one of a shared input a sum over heads.
        own = [n for n in recurrence.tokens if x[n].shape[2] == self.total]
        gradients = torch.autograd.grad(o, [leaves[name] for name in own], self.part(x["do"]).double())
        self.results = {"o": o.detach(), **{"d" + name: g for name, g in zip(own, gradients)}}

    def part(self, tensor, is_parameter=False):
        """[T, n, ...] of the heads, or [n, ...]; a shared head serves as many neighbouring ones."""
        if is_parameter:
            return torch.stack([tensor[h] for _, h in self.heads])
        share = self.total // tensor.shape[2]
        return torch.stack([tensor[b, :, h // share] for b, h in self.heads], 1)

    def errors_of(self, found):
        """‖x−ref‖/‖ref‖ of each result that is there; ‖x‖ where the reference is zero, as of a first decay."""
        errors = {}
        for name, ref in self.results.items():
            if name in found:
                errors[name] = ((self.part(found[name]).double() - ref).norm() / (ref.norm() or 1)).item()
        return errors
