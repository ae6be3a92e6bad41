"""The host's tokenizer: byte-level BPE as Qwen's, trained on its own conversations, with every digit a token."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from qgc.host.conversations import END, SPECIAL

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

SIZE = 832
"""Rows of the vocabulary; six of them are the protocol's."""

PIECES = r" ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]|\s"
"""What no token crosses: a word with the space before it, one digit, one sign, one space."""

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""Qwen's chat template without tools and thoughts."""


def train_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """Learn the merges from texts; every text survives a round trip, whatever its script."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=SIZE, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    core.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token=END, pad_token=END, clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def write(tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write what `AutoTokenizer.from_pretrained` loads."""
    tokenizer.save_pretrained(folder)
