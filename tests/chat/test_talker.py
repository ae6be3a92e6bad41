"""The language model of a merged checkpoint: text through the base's layers alone is the same, bit by bit."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from qgc.chat.device import Device
from qgc.chat.session import Computed, Session, Turn
from qgc.chat.talker import Message, ModelTalker, Sampling
from qgc.diagnostics import QgcError
from qgc.host.evaluate import expression, held_out
from qgc.host.evaluate import load as load_host
from qgc.runtime.checkpoint import Checkpoint
from tests.chat.conftest import HOST


def test_skipping_the_compiled_layers_changes_no_bit(merged: Path, talker: ModelTalker) -> None:
    whole = ModelTalker(merged, is_whole=True)
    assert talker.layers == 5
    assert whole.layers == 4 + int(Checkpoint(merged).manifest["base"]["layers"])
    for text in ("what is 3 plus 4?", "sort [3, 1, 2] \u00e9\u4e16"):
        ids = talker._encoded(talker.prompt([Message("user", text)]))
        assert torch.equal(talker._logits(ids), whole._logits(ids))


def test_it_writes_what_the_host_writes(talker: ModelTalker) -> None:
    model, tokenizer = load_host(HOST)
    for asked in held_out(1)[::8]:
        text = "".join(talker.pieces(talker.prompt([Message("user", asked.text)]), Sampling()))
        assert text.startswith(f"<gpu>{expression(model, tokenizer, asked)}</gpu>")


def test_a_context_that_is_used_again_changes_no_text(talker: ModelTalker) -> None:
    start = talker.prompt([Message("user", "what is 3 plus 4?")])
    once = "".join(talker.pieces(start, Sampling()))
    said = ""
    for piece in talker.pieces(start, Sampling()):
        said += piece
        if "</gpu>" in said:
            break
    said += "".join(talker.pieces(start + said, Sampling()))
    assert said == once


def test_no_text_becomes_a_machine_token(merged: Path, talker: ModelTalker) -> None:
    first = int(Checkpoint(merged).manifest["first_token"])
    ids = talker._encoded("<halt> <exec:m01:b0> <gpu>")
    assert max(ids) < first
    assert talker.has_token("<gpu>")
    assert not talker.has_token("<halt>")


def test_sampling_depends_on_the_seed_alone(talker: ModelTalker) -> None:
    start = talker.prompt([Message("user", "hello")])
    texts = [
        "".join(talker.pieces(start, Sampling(temperature=3.0, top_p=0.95, seed=seed, max_new_tokens=12)))
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]
    assert talker.is_cut


def test_a_machine_alone_has_no_text(nano: Checkpoint) -> None:
    with pytest.raises(QgcError, match="machine without a language model"):
        ModelTalker(nano.folder)


def test_a_turn_on_the_merged_model(merged: Path, talker: ModelTalker) -> None:
    """Text and launch from one checkpoint. The machine is tiny: it can copy, and has no room for the kernel of a sum."""
    device = Device(merged)
    session = Session(talker, device)
    turn = Turn()
    events = list(session.reply([Message("user", "what is 3 plus 4?")], turn))
    assert turn.content.startswith("<gpu>3 + 4</gpu>")
    assert turn.end == "error"
    assert "machine nano" in turn.text
    assert not any(isinstance(event, Computed) for event in events)
    from qgc.chat.evaluate import evaluate

    found = evaluate("~5", device)
    assert found.value == -6
    assert found.launches[0].result.facts[0].endswith("non-zero weights")
