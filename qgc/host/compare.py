"""Two checkpoints side by side: whether they compute the same function of text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two models answered to the same tokens.

    Attributes:
        positions: next-token distributions that were compared.
        difference, largest: the greatest difference of two logits, and the greatest logit.
        same: positions where the likeliest token is the same.
        is_identical: whether every logit is the same to the bit.
    """

    positions: int
    difference: float
    largest: float
    same: int
    is_identical: bool

    @property
    def is_close(self) -> bool:
        """Whether the difference is rounding: below 2^-12 of the greatest logit."""
        return self.difference <= self.largest * 2.0**-12


def compare(left: Path, right: Path, rows: int = 2, length: int = 96, seed: int = 1) -> Comparison:
    """Feed `rows` rows of random tokens to two checkpoints in float32 and compare all logits."""
    import torch
    from transformers import AutoModelForCausalLM

    models = [AutoModelForCausalLM.from_pretrained(f, dtype=torch.float32).eval() for f in (left, right)]
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randint(models[0].config.vocab_size, (rows, length), generator=generator)
    with torch.inference_mode():
        a, b = (model(input_ids=numbers).logits for model in models)
    return Comparison(
        rows * length,
        float((a - b).abs().max()),
        float(a.abs().max()),
        int((a.argmax(-1) == b.argmax(-1)).sum()),
        torch.equal(a, b),
    )
