"""Small language models of transformers and of flash-linear-attention, with random weights, by name."""
import contextlib
import importlib
import inspect
import sys

TRANSFORMERS = {  # the classes of the model and of its configuration
    "qwen3_next": ("Qwen3NextForCausalLM", "Qwen3NextConfig"),
    "qwen3_5": ("Qwen3_5ForCausalLM", "Qwen3_5TextConfig"),
    "kimi_linear": ("KimiLinearForCausalLM", "KimiLinearConfig"),
    "falcon_h1": ("FalconH1ForCausalLM", "FalconH1Config"),
    "granite_hybrid": ("GraniteMoeHybridForCausalLM", "GraniteMoeHybridConfig"),
    "bamba": ("BambaForCausalLM", "BambaConfig"),
    "mamba2": ("Mamba2ForCausalLM", "Mamba2Config"),
}
FLA = {
    "fla_gated_deltanet": ("GatedDeltaNetForCausalLM", "GatedDeltaNetConfig"),
    "fla_kda": ("KDAForCausalLM", "KDAConfig"),
    "fla_gla": ("GLAForCausalLM", "GLAConfig"),
    "fla_rwkv7": ("RWKV7ForCausalLM", "RWKV7Config"),
    "fla_delta_net": ("DeltaNetForCausalLM", "DeltaNetConfig"),
    "fla_comba": ("CombaForCausalLM", "CombaConfig"),
    "fla_mamba2": ("Mamba2ForCausalLM", "Mamba2Config"),
}


def available():
    """The names of models that the installed packages have."""
    found = []
    for module, classes in (("transformers", TRANSFORMERS), ("fla.models", FLA)):
        try:
            package = importlib.import_module(module)
        except ImportError:
            continue
        found += [name for name, (model, _) in classes.items() if hasattr(package, model)]
    return found


def make(name, width, head, layers=2, vocabulary=256, **others):
    """A model with random weights; every second layer of a hybrid is attention."""
    package = importlib.import_module("fla.models" if name in FLA else "transformers")
    model, config = (getattr(package, found) for found in {**TRANSFORMERS, **FLA}[name])
    settings = _fla(name, width, head) if name in FLA else _transformers(name, width, head, layers)
    shape = {"vocab_size": vocabulary, "hidden_size": width, "num_hidden_layers": layers}
    return model(config(**{**shape, **settings, **others}))


def _transformers(name, width, head, layers):
    heads = width // head
    kinds = ["full_attention" if layer % 2 else "linear_attention" for layer in range(layers)]
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if name == "mamba2":
        return {**tokens, "num_heads": 2 * heads, "head_dim": head, "state_size": head, "n_groups": 1, "expand": 2}
    attention = {"num_attention_heads": heads, "num_key_value_heads": heads, "intermediate_size": 2 * width, **tokens}
    experts = {"moe_intermediate_size": width, "num_experts_per_tok": 2}
    gated = {f"linear_{part}_head_dim": head for part in ("key", "value")} | {
        "linear_num_key_heads": heads, "linear_num_value_heads": 2 * heads, "head_dim": head, "layer_types": kinds}
    scan = {"mamba_n_heads": 2 * heads, "mamba_d_head": head, "mamba_d_state": head, "mamba_n_groups": 1}
    kimi = {f"{part}_head_dim": head for part in ("qk_rope", "qk_nope", "v", "linear")}
    own = {
        "qwen3_next": {**gated, **experts, "num_experts": 4, "shared_expert_intermediate_size": width},
        "qwen3_5": gated,
        "kimi_linear": {**experts, **kimi, "kv_lora_rank": head, "linear_num_heads": heads, "num_local_experts": 4,
                        "layer_types": kinds},
        "falcon_h1": {**scan, "mamba_d_ssm": 2 * width, "head_dim": head},
        "granite_hybrid": {**scan, "num_local_experts": 4, "num_experts_per_tok": 2, "shared_intermediate_size": width,
                           "layer_types": ["attention" if layer % 2 else "mamba" for layer in range(layers)]},
        "bamba": {**scan, "attn_layer_indices": [*range(1, layers, 2)]},
    }
    return {**attention, **own[name]}


def _fla(name, width, head):
    heads = {"head_dim": head, "num_heads": width // head}
    own = {
        "fla_gla": {"num_heads": width // head, "expand_k": 1.0},
        "fla_delta_net": {"num_heads": width // head},
        "fla_rwkv7": {"head_dim": head},
        "fla_mamba2": {"head_dim": head, "num_heads": 2 * width // head, "state_size": head},
    }
    return own.get(name, {**heads, "expand_v": 1.0} if name != "fla_kda" else heads)


@contextlib.contextmanager
def loops(model, functions):
    """Lets a model of transformers run its own loops in PyTorch for these functions, whatever kernels are installed."""
    module = sys.modules[type(model).__module__]
    installed = {name: getattr(module, name) for name in functions if hasattr(module, name)}
    try:
        for name, function in installed.items():
            setattr(module, name, inspect.unwrap(function))
        yield
    finally:
        for name, function in installed.items():
            setattr(module, name, function)
