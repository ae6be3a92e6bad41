"""Stock transformers around a checkpoint: sessions continue exactly, and a replay tells what generation told."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from qgc.diagnostics import QgcError
from qgc.runtime.model import Model, Session

STOP = (62, 63)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small model with random weights."""
    import torch
    from transformers import Qwen3_5ForCausalLM, Qwen3_5TextConfig
    from transformers.utils import logging

    logging.disable_progress_bar()
    torch.manual_seed(3)
    config = Qwen3_5TextConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=16,
        linear_value_head_dim=16,
        layer_types=["linear_attention", "linear_attention", "full_attention"],
        tie_word_embeddings=False,
        initializer_range=0.5,
    )
    path = tmp_path_factory.mktemp("model")
    Qwen3_5ForCausalLM(config).save_pretrained(path)
    return path


def test_a_session_continues_where_it_stopped(folder: Path) -> None:
    model, rng = Model(folder), random.Random(1)
    prompts = [[rng.randrange(60) for _ in range(size)] for size in (9, 1, 5)]
    session, reported = Session(), []
    parts = [model.extend(session, p, STOP, 6, lambda *step: reported.append(step)) for p in prompts]
    once = Session()
    flat = [*prompts[0], *parts[0], *prompts[1], *parts[1], *prompts[2]]
    assert model.extend(once, flat, STOP, 6) == parts[2]
    assert once.ids == session.ids == [*flat, *parts[2]]
    assert ("generate", 6, 6) in reported


def test_a_replay_answers_as_generation_did(folder: Path) -> None:
    model, session = Model(folder), Session()
    generated = model.extend(session, list(range(40)), STOP, 300)
    answers, cache = model.replay(session.ids[:-1])
    assert answers[39:] == generated
    assert len(answers) == len(session.ids) - 1
    assert len(set(generated)) > 3
    for layer in range(2):
        stepped, prefilled = (c.get_recurrent_state(layer, state_idx=0) for c in (session.cache, cache))
        assert (stepped - prefilled).abs().max() < 1e-4


def test_generation_ends_at_a_stop_token(folder: Path) -> None:
    model = Model(folder)
    generated = model.extend(Session(), [1, 2, 3], STOP, 8)
    third = generated[2]
    expected = generated[: generated.index(third) + 1]
    assert model.extend(Session(), [1, 2, 3], [third], 8) == expected


def test_without_stop_tokens_the_budget_alone_ends_it(folder: Path) -> None:
    model, session = Model(folder), Session()
    first = model.extend(session, [1, 2, 3], [], 5)
    assert model.extend(session, [], [], 4) == model.extend(Session(), [1, 2, 3, *first], [], 4)
    assert len(session.ids) == 12


@pytest.mark.parametrize("content", [None, "{}", "not json", '{"model_type": "nonsense"}'])
def test_a_foreign_folder_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    with pytest.raises(QgcError, match="checkpoint-load"):
        Model(tmp_path)
