"""Widening keeps the function: random models of every awkward proportion, and whatever cannot be widened."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner
from safetensors.torch import load_file
from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

from qgc.cli.main import cli
from qgc.diagnostics import QgcError
from qgc.host.widen import shape_of, widen


def _model(**fields: Any) -> Qwen3_5ForCausalLM:
    """A small model with every weight random, the norms too."""
    torch.manual_seed(0)
    defaults: dict[str, Any] = {
        "vocab_size": 40,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "layer_types": ["linear_attention", "full_attention"],
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 16,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 128,
        "linear_value_head_dim": 128,
        "tie_word_embeddings": True,
    }
    model = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**defaults | fields)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.add_(torch.randn_like(parameter) / 4)
            elif parameter.ndim > 1:
                parameter.normal_(std=0.3)
    return model


def _logits(model: Qwen3_5ForCausalLM) -> torch.Tensor:
    tokens = torch.arange(2 * 70).remainder(37).view(2, 70)
    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=tokens).logits
    return logits


def _widened(model: Qwen3_5ForCausalLM, **changes: Any) -> tuple[Qwen3_5ForCausalLM, int]:
    config = model.config.to_dict()
    shape = replace(shape_of(config, "wide", config["hidden_size"]), **changes)
    tensors = {
        k: v
        for k, v in model.state_dict().items()
        if not (k == "lm_head.weight" and config["tie_word_embeddings"])
    }
    wide = widen(config, tensors, shape)
    other = Qwen3_5ForCausalLM(Qwen3_5TextConfig(**wide.config)).eval()
    missing, unexpected = other.load_state_dict(wide.tensors, strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    other.tie_weights()
    return other, wide.rounded


@pytest.mark.parametrize(
    ("fields", "changes"),
    [
        ({}, {"hidden": 128}),
        ({}, {"hidden": 64}),
        ({}, {"hidden": 256}),
        ({"tie_word_embeddings": False}, {"hidden": 256}),
        ({}, {"intermediate": 64}),
        ({}, {"heads": 4, "value_heads": 4}),
        ({}, {"heads": 4, "value_heads": 8}),
        ({"linear_num_value_heads": 4}, {"heads": 4, "value_heads": 16}),
        ({}, {"attention_heads": 8}),
        ({}, {"attention_heads": 16, "kv_heads": 4}),
        ({}, {"attention_dim": 64}),
        ({}, {"hidden": 128, "intermediate": 96, "heads": 4, "value_heads": 4, "attention_heads": 8, "attention_dim": 64}),
    ],
    ids=str,
)  # fmt: skip
def test_same_function(fields: dict[str, Any], changes: dict[str, int]) -> None:
    model = _model(**fields)
    wide, _ = _widened(model, **changes)
    torch.testing.assert_close(_logits(wide), _logits(model), rtol=2e-4, atol=2e-4)


def test_no_weight_is_rounded_when_norms_are_one() -> None:
    model = _model()
    with torch.no_grad():
        model.model.norm.weight.zero_()
        model.model.layers[1].self_attn.k_norm.weight.zero_()
    for dtype in (torch.float32, torch.bfloat16):
        _, rounded = _widened(model.to(dtype), hidden=256, attention_dim=64)
        assert rounded == 0


def test_rounded_norms_are_counted() -> None:
    _, rounded = _widened(_model(), hidden=128)
    assert 0 < rounded <= 32


@pytest.mark.parametrize(
    "changes",
    [
        {"hidden": 96},
        {"hidden": 16},
        {"intermediate": 32},
        {"attention_dim": 32},
        {"heads": 1, "value_heads": 1},
    ],
    ids=str,
)
def test_a_shape_that_does_not_fit(changes: dict[str, int]) -> None:
    with pytest.raises(QgcError, match="widen-shape"):
        _widened(_model(), **changes)


def test_value_heads_need_room_at_their_key_head() -> None:
    with pytest.raises(QgcError, match="value heads of a key head"):
        _widened(_model(linear_num_value_heads=4), heads=4, value_heads=4)


def _saved(folder: Path) -> Path:
    _model().save_pretrained(folder)
    return folder


def test_command(tmp_path: Path) -> None:
    narrow, wide = _saved(tmp_path / "narrow"), tmp_path / "wide"
    result = CliRunner().invoke(cli, ["widen", str(narrow), "-o", str(wide), "--hidden", "128"])
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{wide}\n"
    assert "likeliest token equal at 192 of 192 positions" in result.stderr
    assert json.loads((wide / "config.json").read_text())["hidden_size"] == 128
    assert load_file(wide / "model.safetensors")["model.norm.weight"].shape == (128,)


def test_command_needs_a_target(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["widen", str(tmp_path), "-o", str(tmp_path / "wide")])
    assert result.exit_code == 2 and "--hidden or --shape" in result.stderr


@pytest.mark.parametrize(
    ("config", "said"),
    [(None, "holds no model"), ("{", "holds no model"), ('{"model_type": "llama"}', "is a llama model")],
)
def test_command_refuses_another_model(tmp_path: Path, config: str | None, said: str) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    result = CliRunner().invoke(cli, ["widen", str(tmp_path), "-o", str(tmp_path / "wide"), "--hidden", "64"])
    assert result.exit_code == 1 and "widen-base" in result.stderr and said in result.stderr
    assert not (tmp_path / "wide").exists()


def test_command_refuses_shards(tmp_path: Path) -> None:
    _saved(tmp_path / "narrow")
    (tmp_path / "narrow/model.safetensors").unlink()
    result = CliRunner().invoke(
        cli, ["widen", str(tmp_path / "narrow"), "-o", str(tmp_path / "wide"), "--hidden", "64"]
    )
    assert result.exit_code == 1 and "model.safetensors" in result.stderr
