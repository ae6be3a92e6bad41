"""The host model's shape: a hybrid `qwen3_5_text` that every preset of a machine's shape can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qgc.host.tokenizer import SIZE

if TYPE_CHECKING:
    from transformers import Qwen3_5ForCausalLM

HIDDEN = 128
"""2048 is 16 times this: RMSNorm's factor is 4. 1024 is 8 times this: two copies, then 4 times."""


def new_model() -> Qwen3_5ForCausalLM:
    """A model with fresh weights, of the random generator's current state.

    DeltaNet heads have 128 rows and columns, as in every Qwen3.5 model, so that widening only adds idle heads. Norms before
    linear maps stay at one: the maps can have any factor, and a factor of one scales exactly.
    """
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig

    config = Qwen3_5TextConfig(
        vocab_size=SIZE,
        hidden_size=HIDDEN,
        intermediate_size=384,
        num_hidden_layers=4,
        layer_types=["linear_attention", "full_attention"] * 2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=64,
        linear_conv_kernel_dim=4,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=128,
        linear_value_head_dim=128,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        eos_token_id=0,
        pad_token_id=0,
    )
    model = Qwen3_5ForCausalLM(config)
    for name, parameter in model.named_parameters():
        if name.endswith(("layernorm.weight", "model.norm.weight", "q_norm.weight", "k_norm.weight")):
            parameter.requires_grad_(name.endswith("q_norm.weight"))
    return model
