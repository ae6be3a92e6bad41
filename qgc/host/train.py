"""`make host`: trains the host from scratch, on one CPU thread, with seeded data made on the way."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from qgc.host.conversations import conversation
from qgc.host.model import new_model
from qgc.host.tokenizer import train_tokenizer, write

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerFast, Qwen3_5ForCausalLM

SEED = 5
ROW = 192
"""Tokens of a row, three chunks of the delta rule; conversations are packed, and one that passes the end is cut."""
BATCH = 8
OTHERS = 0.1
"""Weight of a token that the user or the GPU says, next to 1 for the model's own."""
RATE = 4e-3


def rows(tokenizer: PreTrainedTokenizerFast, rng: Random) -> Iterator[tuple[list[int], list[float]]]:
    """Rows of `ROW + 1` token numbers, and the weight of each as a target. Every row starts with a conversation."""
    while True:
        numbers: list[int] = []
        weights: list[float] = []
        while len(numbers) <= ROW:
            parts = list(conversation(rng))
            encoded = tokenizer([part.text for part in parts])["input_ids"]
            for part, ids in zip(parts, encoded, strict=True):
                numbers += ids
                weights += [1.0 if part.is_own else OTHERS] * len(ids)
        yield numbers[: ROW + 1], weights[: ROW + 1]


def loss_of(model: Qwen3_5ForCausalLM, batch: list[tuple[list[int], list[float]]]) -> torch.Tensor:
    """The weighted mean cross-entropy of a batch, in nats a token."""
    import torch

    numbers = torch.tensor([row[0] for row in batch])
    weights = torch.tensor([row[1] for row in batch])[:, 1:].reshape(-1)
    logits = model(input_ids=numbers[:, :-1], use_cache=False).logits
    losses = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), numbers[:, 1:].reshape(-1), reduction="none"
    )
    return (losses * weights).sum() / weights.sum()


def _optimizers(model: Qwen3_5ForCausalLM) -> list[torch.optim.Optimizer]:
    """Muon for the matrices inside, Adam for everything else."""
    import torch

    inner: list[torch.nn.Parameter] = []
    outer: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            is_matrix = parameter.ndim == 2 and "embed" not in name and min(parameter.shape) > 8
            (inner if is_matrix else outer).append(parameter)
    return [
        torch.optim.Muon(inner, lr=RATE, weight_decay=0.05, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(outer, lr=RATE, betas=(0.9, 0.98), weight_decay=0.0),
    ]


def _factor(done: float) -> float:
    """The learning rate at a share of the training: a short rise, a plateau, a fall to zero over the last half."""
    return min(1.0, done / 0.02, max(0.0, 2 * (1 - done)))


def train(
    steps: int, limit: float = math.inf
) -> tuple[Qwen3_5ForCausalLM, PreTrainedTokenizerFast, dict[str, Any]]:
    """Train for `steps` batches; past `limit` seconds the run is given up as too slow.

    Raises:
        TimeoutError: at the limit; a shorter run would be another model than the seeds promise.
    """
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    rng = Random(SEED)
    texts = ("".join(part.text for part in conversation(rng)) for _ in range(20_000))
    tokenizer = train_tokenizer(texts)
    model = new_model()
    optimizers = _optimizers(model)
    data = rows(tokenizer, rng)
    start, mean = time.process_time(), 0.0
    for step in range(steps):
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = RATE * _factor((step + 1) / steps)
        loss = loss_of(model, [next(data) for _ in range(BATCH)])
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        mean = loss.item() if step == 0 else 0.98 * mean + 0.02 * loss.item()
        seconds = time.process_time() - start
        if step % 50 == 49:
            click.echo(f"step {step + 1} of {steps}, loss {mean:.4f}, {seconds:.0f} s of CPU", err=True)
        if seconds > limit:
            raise TimeoutError(f"{seconds:.0f} s of CPU after {step + 1} steps")
    facts = {
        "seed": SEED,
        "steps": steps,
        "tokens": steps * BATCH * ROW,
        "cpu_seconds": round(time.process_time() - start),
    }
    return model.eval(), tokenizer, facts | {"parameters": sum(p.numel() for p in model.parameters())}


@click.command()
@click.option("-o", "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("host"))
@click.option(
    "--steps", type=click.IntRange(min=1), default=4000, show_default=True, help="Batches of 1,536 tokens."
)
@click.option("--limit", type=float, default=5400, show_default=True, help="Seconds of CPU to give up after.")
def main(out: Path, steps: int, limit: float) -> None:
    """Train the host and write its checkpoint to OUT; the README there is kept."""
    from transformers import GenerationConfig

    model, tokenizer, facts = train(steps, limit)
    out.mkdir(exist_ok=True)
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=0, pad_token_id=0)
    model.save_pretrained(out)
    write(tokenizer, out)
    (out / "training.json").write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
