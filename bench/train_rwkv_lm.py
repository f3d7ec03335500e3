#!/usr/bin/env python3
"""Trains RWKV-LM's RWKV-7 on bytes of text, with its own CUDA kernel or with wkvc: losses and tokens a second.

    bench/train_rwkv_lm.py --clone RWKV-LM --kernels cuda --seed 0 --json cuda0.json
    bench/train_rwkv_lm.py --clone RWKV-LM --kernels cuda_h100 --seed 0 --json h100.json
    bench/train_rwkv_lm.py --clone RWKV-LM --kernels wkvc --seed 0 --json wkvc0.json
    bench/train_rwkv_lm.py --clone RWKV-LM --plot curves.svg cuda0.json h100.json wkvc0.json

Needs a GPU, nvcc, ninja and a clone of RWKV-LM, of which RWKV-v7/train_temp is used as it is. The first run builds its
nine extensions, for minutes; --build does nothing else. Its other fused kernels run in all cases: only the recurrence
is exchanged. Lightning and DeepSpeed, which that code imports, are not needed: nothing of them is called here.
"""
import importlib
import importlib.machinery
import os
import sys
import types
from pathlib import Path

import torch

import training


def stand_in(name, **members):
    """A module that the code imports, without what nobody calls."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(module).update(members)
    sys.modules[name] = module


def load_model_file(clone, kernels):
    """RWKV-LM's model.py, which builds its extensions."""
    os.environ.update(RWKV_JIT_ON="0", RWKV_HEAD_SIZE=str(training.HEAD), RWKV_MY_TESTING="x070", RWKV_FLOAT_MODE="bf16",
                      RWKV_HEAD_L2WRAP_CE_CHUNK="0", RWKV_KERNEL="@rwkv3" if kernels == "cuda_h100" else "")
    stand_in("pytorch_lightning", LightningModule=torch.nn.Module)
    stand_in("pytorch_lightning.utilities", rank_zero_info=print, rank_zero_only=lambda function: function)
    stand_in("pytorch_lightning.strategies", DeepSpeedStrategy=object)
    folder = Path(clone) / "RWKV-v7" / "train_temp"
    os.chdir(folder)  # sources of extensions are named from there
    sys.path.insert(0, str(Path.cwd()))
    return importlib.import_module("src.model")


def new_model(source):
    args = types.SimpleNamespace(n_layer=training.LAYERS, n_embd=training.WIDTH, vocab_size=256, head_size=training.HEAD,
                                 ctx_len=training.TOKENS, my_testing="x070", grad_cp=0, weight_decay=0, accelerator="GPU")
    model = source.RWKV(args)
    model.load_state_dict(model.generate_init_weight())
    return model.to("cuda", torch.bfloat16)


def main():
    parser = training.arguments(__doc__, ["cuda", "cuda_h100", "wkvc"])
    parser.add_argument("--clone", required=True, help="a clone of RWKV-LM")
    parser.add_argument("--build", action="store_true", help="only build its extensions")
    args = parser.parse_args()
    if args.plot:
        training.plot(args.plot[0], args.plot[1:])
        return
    if args.json:
        args.json = Path(args.json).resolve()  # the current folder changes
    source = load_model_file(args.clone, args.kernels)
    if args.build:
        return
    if args.kernels == "wkvc":
        from wkvc.rwkv_lm import RWKV7_CLAMPW_CUDA

        source.RWKV7_CLAMPW_CUDA = RWKV7_CLAMPW_CUDA
    torch.manual_seed(args.seed)
    model = new_model(source)
    training.train(args, model, model)


if __name__ == "__main__":
    main()
