"""Checkpoints: the compiled layers as a stand-alone `qwen3_5_text` model that stock transformers loads and runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qgc import __version__
from qgc.backends.weights.embedding import embedding, vocabulary_rows
from qgc.backends.weights.memory import memory_banks
from qgc.backends.weights.plan import Plan, plan
from qgc.backends.weights.tokenizer import write_tokenizer
from qgc.diagnostics import fail
from qgc.ir.layout.shape import ModelShape
from qgc.ir.layout.weights import DECAY_BIAS, Entries, LayerWeights, tensor_shapes
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import Program
from qgc.ir.machine.tokens import Token, Vocabulary

if TYPE_CHECKING:
    import torch

Progress = Callable[[str, int, int], None]


def build(
    machine: MachineConfig,
    shape: ModelShape,
    dtype: str,
    out: Path,
    bake: Program | None = None,
    progress: Progress = lambda what, done, total: None,
) -> None:
    """Compile a machine into a checkpoint folder, which must not exist yet.

    Memory stays at one layer and the embedding: every layer is a file of its own. Two builds are byte-identical.

    Raises:
        QgcError: when the machine does not fit the shape, or `weights-dtype` when a weight is no number of `dtype`.
    """
    from safetensors.torch import save_file

    progress("plan", 0, 1)
    p = plan(machine, shape, bake)
    out.mkdir(parents=True)
    parts = list(_parts(p))
    total = len(parts)
    index: dict[str, str] = {}
    size = 0
    for number, (prefix, weights) in enumerate(_weights(p, parts), 1):
        progress("write", number, total)
        name = f"model-{number:05d}-of-{total:05d}.safetensors"
        tensors = {prefix + key: _cast(prefix + key, value, dtype) for key, value in weights.items()}
        save_file(tensors, out / name, metadata={"format": "pt"})
        size += sum(t.numel() * t.element_size() for t in tensors.values())
        index |= dict.fromkeys(tensors, name)
    _json(out / "model.safetensors.index.json", {"metadata": {"total_size": size}, "weight_map": index})
    vocabulary = Vocabulary(machine)
    _json(out / "config.json", configuration(p, vocabulary, dtype))
    ends = [vocabulary.id(Token("halt")), vocabulary.id(Token("fault"))]
    _json(out / "generation_config.json", {"do_sample": False, "eos_token_id": ends, "pad_token_id": ends[0]})
    write_tokenizer(vocabulary, out)
    _json(out / "qgc.json", _manifest(p, dtype, bake))


def _json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2) + "\n")


def _manifest(p: Plan, dtype: str, bake: Program | None) -> dict[str, Any]:
    """What a host must know to launch: the machine, and where its memory is."""
    return {
        "qgc": __version__,
        "machine": asdict(p.machine),
        "shape": asdict(p.layout.shape),
        "dtype": dtype,
        "layers": p.layout.schedule.layers,
        "first_token": 0,
        "memory": [asdict(bank) for bank in memory_banks(p.machine, p.netlist, p.layout)],
        "baked": bake and bake.kernel,
    }


def configuration(p: Plan, vocabulary: Vocabulary, dtype: str) -> dict[str, Any]:
    """The transformers configuration: linear layers, and one idle full-attention layer that the stock cache needs."""
    shape, layers = p.layout.shape, p.layout.schedule.layers
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "vocab_size": vocabulary_rows(vocabulary),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": layers + 1,
        "layer_types": ["linear_attention"] * layers + ["full_attention"],
        "num_attention_heads": shape.attention_heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.attention_dim,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": shape.head_dim,
        "linear_value_head_dim": shape.head_dim,
        "linear_num_key_heads": shape.heads,
        "linear_num_value_heads": shape.value_heads,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 1 << 20,
        "tie_word_embeddings": True,
        "dtype": dtype,
        "eos_token_id": vocabulary.id(Token("halt")),
        "pad_token_id": vocabulary.id(Token("halt")),
    }


def _parts(p: Plan) -> Iterator[str]:
    yield "model."
    for layer in range(p.layout.schedule.layers + 1):
        yield f"model.layers.{layer}."


def _weights(p: Plan, parts: list[str]) -> Iterator[tuple[str, dict[str, torch.Tensor]]]:
    """The tensors of each file: embedding and final norm, then layer by layer."""
    import torch

    shape = p.layout.shape
    table = embedding(Vocabulary(p.machine), p.layout)
    yield parts[0], {"embed_tokens.weight": torch.from_numpy(table), "norm.weight": torch.zeros(shape.hidden)}
    for prefix, layer in zip(parts[1:-1], p.layers(), strict=True):
        yield prefix, linear_layer(shape, layer)
    yield parts[-1], idle_attention_layer(shape)


def _common(shape: ModelShape) -> dict[str, torch.Tensor]:
    """The two norms of every layer; their weights are stored as the difference from 1."""
    import torch

    zeros = torch.zeros(shape.hidden)
    return {"input_layernorm.weight": zeros, "post_attention_layernorm.weight": zeros.clone()}


def linear_layer(shape: ModelShape, weights: LayerWeights) -> dict[str, torch.Tensor]:
    """All tensors of a compiled layer, float32 and dense."""
    import torch

    channels = (2 * shape.heads + shape.value_heads) * shape.head_dim
    newest = torch.zeros(channels, 1, 4)
    newest[:, 0, -1] = 1
    tensors = _common(shape) | {
        "linear_attn.conv1d.weight": newest,
        "linear_attn.dt_bias": torch.full((shape.value_heads,), DECAY_BIAS),
        "linear_attn.A_log": torch.zeros(shape.value_heads),
        "linear_attn.norm.weight": torch.ones(shape.head_dim),
    }
    for name, size in tensor_shapes(shape).items():
        tensors[name] = _dense(weights.get(name), size)
    return tensors


def _dense(entries: Entries | None, size: tuple[int, int]) -> torch.Tensor:
    import torch

    out = torch.zeros(size)
    if entries is not None and entries.values:
        place, value = entries.merged(size[1])
        out.view(-1)[torch.from_numpy(place)] = torch.from_numpy(value.astype(np.float32))
    return out


def idle_attention_layer(shape: ModelShape) -> dict[str, torch.Tensor]:
    """A full-attention layer that adds nothing."""
    import torch

    queries, keys = shape.attention_heads * shape.attention_dim, shape.kv_heads * shape.attention_dim
    sizes = {
        "self_attn.q_proj.weight": (2 * queries, shape.hidden),
        "self_attn.k_proj.weight": (keys, shape.hidden),
        "self_attn.v_proj.weight": (keys, shape.hidden),
        "self_attn.o_proj.weight": (shape.hidden, queries),
        "self_attn.q_norm.weight": (shape.attention_dim,),
        "self_attn.k_norm.weight": (shape.attention_dim,),
        "mlp.gate_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.up_proj.weight": (shape.intermediate, shape.hidden),
        "mlp.down_proj.weight": (shape.hidden, shape.intermediate),
    }
    return _common(shape) | {name: torch.zeros(size) for name, size in sizes.items()}


def _cast(name: str, tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """The tensor in the checkpoint's dtype; every weight must be a number of that dtype, or exactness would be lost."""
    import torch

    kind = getattr(torch, dtype, None)
    if kind not in (torch.float32, torch.bfloat16):
        raise fail("weights-dtype", f"dtype {dtype!r} is not supported", hint="dtypes: float32, bfloat16")
    cast = tensor.to(kind)
    if kind is not torch.float32 and not torch.equal(cast.float(), tensor):
        worst = (cast.float() - tensor).abs().argmax().item()
        raise fail("weights-dtype", f"{name}: {tensor.view(-1)[int(worst)].item()} is no number of {dtype}")
    return cast.contiguous()
