"""Merging into tiny bases: text unchanged, launches exact, base layers as they were, and every refusal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from qgc.backends.merge.base import Base
from qgc.backends.merge.checkpoint import GATED, Merge, build, prepare
from qgc.backends.merge.silence import guarded, normalised, taken_away
from qgc.diagnostics import QgcError
from qgc.ir.machine.config import PRESETS
from qgc.runtime import drift
from qgc.runtime.checkpoint import Checkpoint
from tests.helpers.bases import random_base, text_config
from tests.helpers.machines import contexts
from tests.helpers.programs import multi_block, sample

CASES = {"guard": 0.0, "direction": 0.05}
"""What is added to some columns of the embedding, by which means of silence that leads to."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merge")


@pytest.fixture(scope="module")
def merges(root: Path) -> dict[str, Merge]:
    found = {}
    for kind, mean in CASES.items():
        random_base(root / f"{kind}-base", layers=2, mean=mean, rows=300)
        found[kind] = prepare(Base(str(root / f"{kind}-base")), PRESETS["nano"])
        build(found[kind], root / kind)
    return found


@pytest.mark.parametrize("kind", CASES)
def test_text_is_unchanged(root: Path, merges: dict[str, Merge], kind: str) -> None:
    assert merges[kind].silence.kind == kind
    found = drift.measure(root / f"{kind}-base", root / kind, drift.text(), limit=60)
    assert found.drift.is_identical == (kind == "direction")
    assert found.drift.mean <= 1e-11
    assert found.drift.agreement == 1
    assert found.floor.mean > 0


@pytest.mark.parametrize("kind", CASES)
def test_every_gate_is_shut_on_every_text_row(root: Path, merges: dict[str, Merge], kind: str) -> None:
    """By computing all of them, in both dtypes, with the weights that are on disk."""
    merge = merges[kind]
    shards = [load_file(path) for path in sorted((root / kind).glob("*.safetensors"))]
    tensors = {name: tensor for shard in shards for name, tensor in shard.items()}
    rows = tensors["model.embed_tokens.weight"][: merge.base.rows]
    for dtype in (torch.float32, torch.bfloat16):
        x = normalised(rows.to(dtype), 1e-6).to(dtype)
        for layer in range(merge.layers - 1):
            for name in GATED:
                weight = tensors[f"model.layers.{layer}.{name}"].to(dtype)
                used = weight.any(dim=1)
                gate = x @ weight[used].T
                shut = (
                    gate.float().sigmoid()
                    if name.endswith("b.weight")
                    else torch.nn.functional.silu(gate.float())
                )
                assert not shut.any(), f"layer {layer} {name}"


@pytest.mark.parametrize("kind", CASES)
def test_base_tensors_are_the_same_bytes(root: Path, merges: dict[str, Merge], kind: str) -> None:
    merge, moved = merges[kind], 0
    other = Files(root / kind)
    for name in merge.base.names:
        if name == "model.embed_tokens.weight":
            continue
        parts = name.split(".")
        if parts[1] == "layers":
            parts[2] = str(int(parts[2]) + merge.layers)
            moved += 1
        assert torch.equal(other[".".join(parts)], merge.base.tensor(name))
    assert moved
    assert torch.equal(other["lm_head.weight"][: merge.base.rows], merge.base.embedding)


class Files:
    """The tensors of a folder."""

    def __init__(self, folder: Path) -> None:
        names = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
        shards = {file: load_file(folder / file) for file in set(names.values())}
        self._tensors = {name: shards[file][name] for name, file in names.items()}

    def __getitem__(self, name: str) -> torch.Tensor:
        return self._tensors[name]


@pytest.mark.usefixtures("merges")
@pytest.mark.parametrize("kind", ["guard", pytest.param("direction", marks=pytest.mark.slow)])
def test_launches_are_exact(root: Path, kind: str) -> None:
    """All layers in stock transformers, the compiled ones alone in the fast engine: both follow the interpreter."""
    checkpoint = Checkpoint(root / kind)
    context = contexts(PRESETS["nano"], sample(multi_block, PRESETS["nano"], 2), 60)[0]
    ids = checkpoint.ids(context.tokens)
    answers, _ = checkpoint.model.replay(ids)
    expected = {i: checkpoint.ids([token])[0] for i, token in context.expected().items()}
    assert {i: answers[i] for i in expected} == expected
    sparse = checkpoint.sparse.answers(checkpoint.sparse.new_session(), ids)
    assert {i: sparse[i] for i in expected} == expected


def test_guard_row_comes_back(merges: dict[str, Merge]) -> None:
    """What is left of a guarded row when the guard is taken away is its own value, to the last places of the guard."""
    merge = merges["guard"]
    for dtype, places in (("float32", 24), ("bfloat16", 8)):
        rows = merge.base.embedding
        stored = guarded(rows, merge.silence, 1e-6, dtype)
        place = merge.silence.coordinates[0]
        left = stored[:, place].float() - taken_away(stored, merge.silence, 1e-6, dtype)
        error = (left - rows[:, place]).abs().max()
        assert error <= merge.silence.constant * 2.0 ** (3 - places)
        others = torch.arange(rows.shape[1]) != place
        assert torch.equal(stored[:, others], rows[:, others].to(stored.dtype))


def test_tokenizer(root: Path, merges: dict[str, Merge]) -> None:
    from transformers import AutoTokenizer

    tokenizer, merge = AutoTokenizer.from_pretrained(root / "guard"), merges["guard"]
    names = merge.vocabulary.names()
    ids = tokenizer.convert_tokens_to_ids(names)
    assert ids == list(range(300, 300 + len(names)))
    assert tokenizer.encode("the of <halt> to") == [0, 1, ids[names.index("<halt>")], 3]


def refusal(base: Path | str, **options: Any) -> str:
    with pytest.raises(QgcError) as caught:
        prepare(Base(str(base)), PRESETS["nano"], **options)
    return caught.value.diagnostics[0].code


def variant(root: Path, tmp_path: Path, **config: Any) -> Path:
    copy = tmp_path / "variant"
    shutil.copytree(root / "guard-base", copy)
    content = json.loads((copy / "config.json").read_text()) | config
    (copy / "config.json").write_text(json.dumps(content))
    return copy


@pytest.mark.usefixtures("merges")
def test_refusals(root: Path, tmp_path: Path) -> None:
    assert refusal(root / "nowhere") == "base-missing"
    assert refusal(root / "guard") == "base-merged"
    assert refusal(root / "guard-base", dtype="float16") == "merge-dtype"
    assert refusal(variant(root, tmp_path, model_type="llama")) == "base-kind"
    (tmp_path / "variant/config.json").write_text("{")
    assert refusal(tmp_path / "variant") == "base-checkpoint"


@pytest.mark.usefixtures("merges")
def test_damaged_bases_are_refused(root: Path, tmp_path: Path) -> None:
    copy = variant(root, tmp_path)
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["<halt>"] = 5
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert refusal(copy) == "base-tokens"
    (copy / "tokenizer.json").unlink()
    assert refusal(copy) == "base-tokenizer"
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])
    assert refusal(copy) == "base-checkpoint"


@pytest.mark.usefixtures("merges")
def test_rows_that_are_no_numbers_are_refused(root: Path, tmp_path: Path) -> None:
    copy = variant(root, tmp_path)
    tensors = load_file(copy / "model.safetensors")
    tensors["model.embed_tokens.weight"][7, 9] = float("nan")
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    assert refusal(copy) == "merge-silence"


@pytest.mark.slow
@pytest.mark.usefixtures("merges")
def test_a_base_that_drowns_the_code_is_refused(root: Path, tmp_path: Path) -> None:
    copy = variant(root, tmp_path)
    tensors = load_file(copy / "model.safetensors")
    tensors["model.layers.0.mlp.down_proj.weight"] *= 2.0**40
    save_file(tensors, copy / "model.safetensors", metadata={"format": "pt"})
    assert refusal(copy) == "merge-margin"


def test_float16_is_stored_as_float32(root: Path, tmp_path: Path) -> None:
    base = Base(str(random_base(tmp_path / "half", layers=1, rows=100, dtype=torch.float16)))
    assert prepare(base, PRESETS["nano"]).dtype == "float32"


@pytest.mark.slow
def test_multimodal(root: Path, tmp_path: Path, merges: dict[str, Merge]) -> None:
    """The language model lies one level down; the vision tower stays; both classes load it."""
    from transformers import AutoModelForCausalLM, Qwen3_5Config, Qwen3_5ForConditionalGeneration

    text = text_config(merges["guard"].base.shape, 300, 1)
    vision = {"depth": 1, "hidden_size": 64, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 1024}
    config = Qwen3_5Config(text_config=text, vision_config=vision, tie_word_embeddings=True)
    torch.manual_seed(1)
    folder, out = tmp_path / "base", tmp_path / "merged"
    Qwen3_5ForConditionalGeneration(config).save_pretrained(folder)
    shutil.copy(root / "guard-base/tokenizer.json", folder)
    shutil.copy(root / "guard-base/tokenizer_config.json", folder)
    build(prepare(Base(str(folder)), PRESETS["nano"]), out)
    ids = torch.arange(40)[None]
    with torch.no_grad():
        whole = Qwen3_5ForConditionalGeneration.from_pretrained(folder)(ids).logits
        merged, info = Qwen3_5ForConditionalGeneration.from_pretrained(out, output_loading_info=True)
        assert not info["missing_keys"] and not info["unexpected_keys"]
        text_alone = AutoModelForCausalLM.from_pretrained(out)
        assert (merged(ids).logits[..., :300] - whole).abs().max() < 1e-4
        assert (text_alone(ids).logits[..., :300] - whole).abs().max() < 1e-4
    assert Checkpoint(out).sparse.weights.layers == merges["guard"].layers
