"""Drift: how far a merged model's text distribution is from its base's, beside the noise floor of their dtype.

Both models read the same tokens in one prefill, in stock transformers, one after the other. The distributions are over the base's
vocabulary; what the machine's tokens take of the merged model's is said apart. The noise floor is the same measure between the
base and itself with one coordinate of every input embedding changed by one unit in the last place: a change that no one who
computes in this dtype can object to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    import torch

ROWS = 64
"""Positions whose logits are compared at once."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Over positions: Kullback-Leibler divergence in nats, and how often the likeliest token is the same."""

    mean: float
    largest: float
    agreement: float
    is_identical: bool


@dataclass(frozen=True, slots=True)
class Drift:
    """What was measured.

    Attributes:
        machine_mass: the largest probability that the merged model gives to all machine tokens together.
    """

    positions: int
    dtype: str
    drift: Divergence
    floor: Divergence
    machine_mass: float


def text() -> str:
    """The text that comes with qgc: several languages, and code."""
    return (Path(__file__).parent / "drift.txt").read_text(encoding="utf-8")


def measure(
    base: Path, merged: Path, content: str, dtype: str = "auto", limit: int = 512, progress: Progress = silent
) -> Drift:
    """Compare two checkpoints on the first `limit` tokens of a text.

    Raises:
        QgcError: `drift-load` when transformers cannot load one, `drift-text` when the text has no tokens,
            `drift-vocabulary` when the merged model has fewer rows.
    """
    import torch

    progress("base", 0, 3)
    model, ids = _load(base, dtype), _tokens(base, content, limit)
    inputs = model.get_input_embeddings()(ids)
    own = _hidden(model, inputs)
    progress("noise floor", 1, 3)
    noisy = _hidden(model, one_ulp(inputs))
    table, kind = model.get_output_embeddings(), str(model.dtype).removeprefix("torch.")
    rows = int(table.weight.shape[0])
    own_logits = torch.cat([table(part) for part in _parts(own)])
    floor = compare(own_logits, torch.cat([table(part) for part in _parts(noisy)]))
    del model, table
    progress("merged", 2, 3)
    model = _load(merged, dtype)
    table = model.get_output_embeddings()
    if table.weight.shape[0] < rows:
        raise fail("drift-vocabulary", f"{merged} has fewer rows than {base}; is it made from it?")
    hidden = _hidden(model, model.get_input_embeddings()(ids))
    logits, mass = [], 0.0
    for part in _parts(hidden):
        made = table(part)
        whole, text_only = made.float().logsumexp(-1), made[:, :rows].float().logsumexp(-1)
        mass = max(mass, float((1 - (text_only - whole).exp()).max()))
        logits.append(made[:, :rows].clone())
    return Drift(len(own_logits), kind, compare(own_logits, torch.cat(logits)), floor, mass)


def compare(own: torch.Tensor, other: torch.Tensor) -> Divergence:
    """Two tables of logits, `[positions, rows]`."""
    import torch

    divergences, same = [], 0
    for a, b in zip(_parts(own), _parts(other), strict=True):
        p, q = a.double().log_softmax(-1), b.double().log_softmax(-1)
        divergences.append((p.exp() * (p - q)).sum(-1))
        same += int((a.argmax(-1) == b.argmax(-1)).sum())
    found = torch.cat(divergences)
    return Divergence(float(found.mean()), float(found.max()), same / len(own), torch.equal(own, other))


def _parts(rows: torch.Tensor) -> Iterator[torch.Tensor]:
    return (rows[first : first + ROWS] for first in range(0, len(rows), ROWS))


def one_ulp(inputs: torch.Tensor) -> torch.Tensor:
    """Embeddings with the middle coordinate of every position changed by one unit in the last place."""
    import torch

    out = inputs.clone()
    word = torch.int32 if out.dtype == torch.float32 else torch.int16
    middle = out.shape[-1] // 2
    out.view(word)[..., middle] += 1
    return out


def _hidden(model: Any, inputs: torch.Tensor) -> torch.Tensor:
    """The last hidden states of one prefill, `[positions, hidden]`."""
    hidden: torch.Tensor = model.model(inputs_embeds=inputs, use_cache=False).last_hidden_state[0]
    return hidden


def _load(folder: Path, dtype: str) -> Any:
    import torch
    from transformers import AutoModelForCausalLM
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_grad_enabled(False)
    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, local_files_only=True).eval()
    except (OSError, ValueError, RuntimeError, KeyError) as err:
        raise fail("drift-load", f"{folder} cannot be loaded: {str(err).splitlines()[0]}") from err


def _tokens(folder: Path, content: str, limit: int) -> torch.Tensor:
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError) as err:
        raise fail("drift-load", f"{folder} has no tokenizer: {str(err).splitlines()[0]}") from err
    ids: torch.Tensor = tokenizer(content, return_tensors="pt", truncation=True, max_length=limit)[
        "input_ids"
    ]
    if not ids.numel():
        raise fail("drift-text", "the text has no tokens")
    return ids
