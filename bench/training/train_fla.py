#!/usr/bin/env python3
"""Trains flash-linear-attention's RWKV-7 on bytes of text, with its kernels or with wkvc: losses and tokens a second.

    bench/training/train_fla.py --kernels fla --seed 0 --json fla0.json
    bench/training/train_fla.py --kernels fla --seed 1 --json fla1.json
    bench/training/train_fla.py --kernels wkvc --seed 0 --json wkvc0.json
    bench/training/train_fla.py --plot curves.svg fla0.json fla1.json wkvc0.json

Needs a GPU, flash-linear-attention 0.6.0 with transformers, and einops. The text is the Python library's own sources, in
one order. Equal seeds give equal models and equal batches. Tokens a second are of the median step after the first ones,
in which kernels compile.
"""
import torch

import training


def new_model():
    from fla.models import RWKV7Config, RWKV7ForCausalLM

    config = RWKV7Config(vocab_size=256, hidden_size=training.WIDTH, num_hidden_layers=training.LAYERS,
                         head_dim=training.HEAD)
    return RWKV7ForCausalLM(config)


def main():
    args = training.arguments(__doc__, ["fla", "wkvc"]).parse_args()
    if args.plot:
        training.plot(args.plot[0], args.plot[1:])
        return
    if args.kernels == "wkvc":
        import wkvc.fla

        wkvc.fla.enable()
    torch.manual_seed(args.seed)
    model = new_model().to("cuda", torch.bfloat16)
    training.train(args, model, lambda ids: model(ids).logits)
    if args.kernels == "wkvc":
        wkvc.fla.report()


if __name__ == "__main__":
    main()
