"""Qwen3.5 models with random weights, and a small tokenizer, to be put behind a machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from qgc.ir.layout.shape import SHAPES, ModelShape

WORDS = (
    "the",
    "of",
    "and",
    "to",
    "a",
    "in",
    "is",
    "it",
    "that",
    "was",
    "for",
    "on",
    "are",
    "as",
    "with",
    "his",
)


def text_config(shape: ModelShape, rows: int, layers: int, **changes: Any) -> dict[str, Any]:
    """A `qwen3_5_text` configuration of a shape; every fourth layer is full attention, and so is the last."""
    kinds = ["full_attention" if i % 4 == 3 or i == layers - 1 else "linear_attention" for i in range(layers)]
    return {
        "architectures": ["Qwen3_5ForCausalLM"],
        "model_type": "qwen3_5_text",
        "vocab_size": rows,
        "hidden_size": shape.hidden,
        "intermediate_size": shape.intermediate,
        "num_hidden_layers": layers,
        "layer_types": kinds,
        "num_attention_heads": shape.attention_heads,
        "num_key_value_heads": shape.kv_heads,
        "head_dim": shape.attention_dim,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "linear_num_key_heads": shape.heads,
        "linear_num_value_heads": shape.value_heads,
        "rms_norm_eps": 1e-6,
        "tie_word_embeddings": True,
        **changes,
    }


def write_words(folder: Path, rows: int) -> None:
    """A tokenizer of `rows` words, split at white space."""
    words = [*WORDS, *(f"w{i}" for i in range(rows - len(WORDS)))]
    model = {"type": "WordLevel", "vocab": {w: i for i, w in enumerate(words)}, "unk_token": "the"}
    content = {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": model,
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))


def random_base(
    folder: Path,
    shape: str = "tiny",
    rows: int = 600,
    layers: int = 4,
    dtype: torch.dtype = torch.float32,
    mean: float = 0.0,
    seed: int = 0,
) -> Path:
    """Write a text base with weights as they are initialised, RMSNorm weights included; `mean` is added to every
    entry of the embedding's first coordinates."""
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    torch.manual_seed(seed)
    config = Qwen3_5TextConfig(**text_config(SHAPES[shape], rows, layers))
    with torch.no_grad():
        model = Qwen3_5ForCausalLM(config).to(dtype)
        for name, tensor in model.named_parameters():
            if name.endswith("layernorm.weight") or name == "model.norm.weight":
                tensor.uniform_(-0.3, 0.5)
        model.model.embed_tokens.weight[:, :64] += mean
    model.save_pretrained(folder)
    write_words(folder, rows - 7)
    return folder
