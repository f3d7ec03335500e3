#!/usr/bin/env python3
"""Trains RWKV-LM's RWKV-7 on bytes of text, with its own CUDA kernel or with wkvc: losses and tokens a second.

    bench/training/train_rwkv_lm.py --clone RWKV-LM --kernels cuda --seed 0 --json cuda0.json
    bench/training/train_rwkv_lm.py --clone RWKV-LM --kernels cuda_h100 --seed 0 --json h100.json
    bench/training/train_rwkv_lm.py --clone RWKV-LM --kernels wkvc --seed 0 --json wkvc0.json
    bench/training/train_rwkv_lm.py --clone RWKV-LM --plot curves.svg cuda0.json h100.json wkvc0.json

Needs a GPU, nvcc, ninja and a clone of RWKV-LM, of which RWKV-v7/train_temp is used as it is. The first run builds its
extensions, for minutes; --build builds all of them at once and does nothing else. Its other fused kernels run in all
cases: only the recurrence is exchanged. Lightning and DeepSpeed, which that code imports, are not needed: nothing of
them is called here.
"""
import importlib
import importlib.machinery
import multiprocessing
import os
import sys
import types
from pathlib import Path
from unittest import mock

import torch

import training


def stand_in(name, **members):
    """A module that the code imports, without what nobody calls."""
    module = types.ModuleType(name)
    module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    vars(module).update(members)
    sys.modules[name] = module


# With RWKV_JIT_ON=0, functions of one name hide each other in model.py; their twins for RWKV_JIT_ON=1 run either way.
FUSED = ("tmix_mix6_bf16_v5", "tmix_kk_pre_bf16_v5", "tmix_lnx_rkvres_xg_bf16_v1", "tmix_a_gate_bf16", "tmix_vres_gate_bf16_v3")


def enter_clone(clone, kernels):
    """Makes model.py of the clone ready to be imported."""
    os.environ.update(RWKV_JIT_ON="0", RWKV_HEAD_SIZE=str(training.HEAD), RWKV_MY_TESTING="x070", RWKV_FLOAT_MODE="bf16",
                      RWKV_HEAD_L2WRAP_CE_CHUNK="0", RWKV_KERNEL="@rwkv3" if kernels == "cuda_h100" else "")
    stand_in("pytorch_lightning", LightningModule=torch.nn.Module)
    stand_in("pytorch_lightning.utilities", rank_zero_info=print, rank_zero_only=lambda function: function)
    stand_in("pytorch_lightning.strategies", DeepSpeedStrategy=object)
    folder = Path(clone) / "RWKV-v7" / "train_temp"
    os.chdir(folder)  # sources of extensions are named from there
    sys.path.insert(0, str(Path.cwd()))


def load_model_file():
    """Imports model.py, which builds its extensions one after the other where they are not built yet."""
    source = importlib.import_module("src.model")
    for name in FUSED:
        setattr(source, name, getattr(source, f"_{name}_jit"))
    return source


def build_extension(options):
    from torch.utils.cpp_extension import load

    load(**options)


def build_extensions():
    """Builds the extensions that model.py loads, each in a process of its own."""
    found = []
    with mock.patch("torch.utils.cpp_extension.load", lambda **options: found.append(options)), \
         mock.patch("torch.library.register_autograd"), mock.patch("torch.jit.script", lambda function: function):
        importlib.import_module("src.model")
    with multiprocessing.get_context("fork").Pool(len(found)) as processes:
        processes.map(build_extension, found, chunksize=1)


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
    enter_clone(args.clone, args.kernels)
    if args.build:
        build_extensions()
        return
    source = load_model_file()
    if args.kernels == "wkvc":
        from wkvc.rwkv_lm import RWKV7_CLAMPW_CUDA

        source.RWKV7_CLAMPW_CUDA = RWKV7_CLAMPW_CUDA
    torch.manual_seed(args.seed)
    model = new_model(source)
    training.train(args, model, model)


if __name__ == "__main__":
    main()
