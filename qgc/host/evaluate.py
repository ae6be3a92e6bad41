"""The host's score: expressions on templates that it was not trained on, and perplexity on held-out conversations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

from qgc.host.conversations import CALL, CALLED, RESULT, RESULTED, conversation, prompt
from qgc.host.questions import Question, question
from qgc.host.templates import KINDS

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3_5ForCausalLM

SEED = 1_000_003
"""Not a seed of the training."""


def load(folder: Path) -> tuple[Qwen3_5ForCausalLM, PreTrainedTokenizerFast]:
    """The model and the tokenizer of a checkpoint folder."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)


def held_out(rounds: int) -> list[Question]:
    """`rounds` questions of every kind, from templates that no training text is made from."""
    rng = Random(SEED)
    return [question(rng, kind, is_held_out=True) for _ in range(rounds) for kind in KINDS]


def go_on(model: Qwen3_5ForCausalLM, tokenizer: PreTrainedTokenizerFast, text: str, stop: str) -> str:
    """What the model writes after `text`, greedily, up to and without `stop` or an end of the turn."""
    inputs = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    ends = [tokenizer.convert_tokens_to_ids(stop), tokenizer.eos_token_id]
    tokens = model.generate(**inputs, max_new_tokens=200, do_sample=False, eos_token_id=ends)
    new = tokens[0, inputs["input_ids"].shape[1] :]
    return str(tokenizer.decode(new)).removesuffix(tokenizer.eos_token).removesuffix(stop)


def expression(model: Qwen3_5ForCausalLM, tokenizer: PreTrainedTokenizerFast, asked: Question) -> str:
    """The text of the call that the model makes; empty when it makes none."""
    text = go_on(model, tokenizer, prompt(asked.text), CALLED)
    return text.removeprefix(CALL) if text.startswith(CALL) else ""


def phrase(model: Qwen3_5ForCausalLM, tokenizer: PreTrainedTokenizerFast, asked: Question) -> str:
    """What the model says when the result of the right call is there."""
    said = f"{prompt(asked.text)}{CALL}{asked.expression}{CALLED}{RESULT}{asked.result}{RESULTED}"
    return go_on(model, tokenizer, said, RESULT)


def perplexity(
    model: Qwen3_5ForCausalLM, tokenizer: PreTrainedTokenizerFast, count: int = 100
) -> dict[str, float]:
    """Perplexity a token over conversations of another seed: of all tokens, and of the model's own."""
    import torch

    rng = Random(SEED)
    sums = {"all": [0.0, 0], "own": [0.0, 0]}
    for _ in range(count):
        parts = list(conversation(rng))
        encoded = tokenizer([part.text for part in parts])["input_ids"]
        numbers = torch.tensor([[n for ids in encoded for n in ids]])
        own = [part.is_own for part, ids in zip(parts, encoded, strict=True) for _ in ids][1:]
        with torch.inference_mode():
            losses = torch.nn.functional.cross_entropy(
                model(input_ids=numbers).logits[0, :-1], numbers[0, 1:], reduction="none"
            )
        for name, picked in (("all", losses), ("own", losses[torch.tensor(own)])):
            sums[name][0] += float(picked.sum())
            sums[name][1] += len(picked)
    return {name: math.exp(total / number) for name, (total, number) in sums.items()}


def is_answered(said: str, asked: Question) -> bool:
    """Whether a phrase is one of those that the kind of question has for this result."""
    kind = next(kind for kind in KINDS if kind.name == asked.kind)
    known = [text.strip().format(r=asked.result) for text in kind.answers.split(" | ")]
    return said == asked.answer if kind.is_truth else said in known


def evaluate(folder: Path, rounds: int) -> dict[str, Any]:
    """Scores of a checkpoint; each score is a pair: how many were right, of how many."""
    model, tokenizer = load(folder)
    kinds: dict[str, list[int]] = {kind.name: [0, 0] for kind in KINDS}
    misses = []
    first = phrases = 0
    for number, asked in enumerate(held_out(rounds)):
        written = expression(model, tokenizer, asked)
        is_right = written == asked.expression
        kinds[asked.kind][0] += is_right
        kinds[asked.kind][1] += 1
        if number < len(KINDS):
            first += is_right
            phrases += is_answered(phrase(model, tokenizer, asked), asked)
        if not is_right:
            misses.append({"question": asked.text, "wanted": asked.expression, "written": written})
    return {
        "expressions": [
            sum(right for right, _ in kinds.values()),
            sum(number for _, number in kinds.values()),
        ],
        "one of each kind": [first, len(KINDS)],
        "phrases": [phrases, len(KINDS)],
        "perplexity": {name: round(value, 4) for name, value in perplexity(model, tokenizer).items()},
        "kinds": kinds,
        "misses": misses,
    }


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--rounds", type=click.IntRange(min=1), default=2, show_default=True, help="Questions of each kind."
)
@click.option(
    "-o", "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write the scores here too."
)
def main(folder: Path, rounds: int, out: Path | None) -> None:
    """Score the checkpoint FOLDER on held-out templates and print the scores as JSON."""
    import torch

    torch.set_num_threads(1)
    text = json.dumps(evaluate(folder, rounds), indent=2)
    click.echo(text)
    if out is not None:
        out.write_text(text + "\n")


if __name__ == "__main__":
    main()
