"""The tokenizer: one word a token, by its readable name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qgc.ir.machine.tokens import Token, Vocabulary


def write_tokenizer(vocabulary: Vocabulary, out: Path) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json` that `AutoTokenizer` loads; names are split at white space."""
    names = vocabulary.names()
    content: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {n: i for i, n in enumerate(names)},
            "unk_token": "<unknown>",
        },
    }
    (out / "tokenizer.json").write_text(json.dumps(content, indent=0) + "\n")
    halt = vocabulary.name(Token("halt"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_input_names": ["input_ids", "attention_mask"],
        "eos_token": halt,
        "pad_token": halt,
    }
    (out / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")
