"""The certificate: it passes for what the compiler writes, fails for one changed number of any kind, and bounds what is measured."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from qgc.backends.certify import reads
from qgc.backends.certify.arithmetic import Matrix, Residual, grid_of, product
from qgc.backends.certify.compare import Fault
from qgc.backends.certify.noise import Analysis
from qgc.backends.circuits.machine.run import token_fields
from qgc.backends.weights.checkpoint import linear_layer
from qgc.cli.main import cli
from qgc.ir.layout.layout_evaluate import evaluator
from qgc.ir.layout.weights import STATE_LEVEL
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.tokens import Vocabulary
from qgc.ir.netlist.evaluate import Affine, Evaluator
from qgc.ir.netlist.graph import Graph, head_signals
from qgc.runtime.checkpoint import Checkpoint
from tests.helpers.bases import random_base
from tests.helpers.machines import Context, contexts
from tests.helpers.plans import planned
from tests.helpers.programs import multi_block, sample

NANO = PRESETS["nano"]


def certify(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(cli, ["certify", str(folder), *options])


@pytest.fixture
def copy(nano: Checkpoint, tmp_path: Path) -> Iterator[Path]:
    """A checkpoint that may be spoilt; files are shared until they are written again."""
    folder = tmp_path / "copy"
    shutil.copytree(nano.folder, folder, copy_function=lambda a, b: Path(b).hardlink_to(a))
    yield folder
    shutil.rmtree(folder)


def change(folder: Path, name: str, place: tuple[int, ...], value: float) -> None:
    """Write one number of one tensor."""
    from safetensors.torch import load_file, save_file

    index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    path = folder / index[name]
    tensors = load_file(path)
    tensors[name][place] = value
    path.unlink()
    save_file(tensors, path, metadata={"format": "pt"})


def places(folder: Path, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A zero of a tensor, and an entry that is not."""
    from safetensors.torch import load_file

    index = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    tensor = load_file(folder / index[name])[name]
    zero, other = (tensor == 0).nonzero(), tensor.nonzero()
    return (
        tuple(zero[len(zero) // 2].tolist()) if len(zero) else (),
        tuple(other[len(other) // 2].tolist()) if len(other) else (),
    )


def test_what_the_compiler_writes_is_certified(nano: Checkpoint) -> None:
    result = certify(nano.folder)
    assert result.exit_code == 0, result.output
    assert "float32, token by token" in result.stdout
    assert "bfloat16, token by token" in result.stdout
    assert result.stdout.endswith("\nPASS\n")


def test_json_says_the_same(nano: Checkpoint) -> None:
    result = certify(nano.folder, "--json", "--dtype", "bfloat16")
    assert result.exit_code == 0
    facts = json.loads(result.stdout)
    assert facts["passes"] and facts["differences"] == []
    (proof,) = facts["proofs"]
    assert proof["dtype"] == "bfloat16"
    assert len(proof["layers"]) == planned("nano", "tiny").layout.schedule.layers
    assert proof["logits"]["gap"] > proof["logits"]["rounding"]


LAYER = "model.layers.5."
KINDS = {
    "mlp.gate_proj.weight": "unit",
    "mlp.up_proj.weight": "unit",
    "mlp.down_proj.weight": "unit",
    "linear_attn.in_proj_qkv.weight": "head",
    "linear_attn.in_proj_z.weight": "head",
    "linear_attn.in_proj_b.weight": "head",
    "linear_attn.in_proj_a.weight": "head",
    "linear_attn.out_proj.weight": "head",
    "linear_attn.conv1d.weight": "head",
    "linear_attn.A_log": "head",
    "linear_attn.dt_bias": "head",
    "linear_attn.norm.weight": "heads",
    "input_layernorm.weight": "input_layernorm",
    "post_attention_layernorm.weight": "post_attention_layernorm",
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("is_zero", [True, False], ids=["a zero", "a number"])
def test_one_changed_number_is_found(copy: Path, name: str, is_zero: bool) -> None:
    """A zero that becomes 2**-20 of one, and a number that becomes the next one of float32."""
    zero, other = places(copy, LAYER + name)
    place = zero if is_zero else other
    if not place:
        pytest.skip("the tensor has no such entry")
    from safetensors.torch import load_file

    index = json.loads((copy / "model.safetensors.index.json").read_text())["weight_map"]
    old = np.float32(load_file(copy / index[LAYER + name])[LAYER + name][place].item())
    change(copy, LAYER + name, place, 2.0**-20 if is_zero else float(np.nextafter(old, np.float32(np.inf))))
    result = certify(copy, "--dtype", "float32")
    assert result.exit_code == 1
    where = f"layer 5 {name}: [{', '.join(map(str, place))}]"
    line = next(line for line in result.stdout.splitlines() if where in line)
    assert KINDS[name] in line
    assert result.stdout.endswith("\nFAIL\n")


@pytest.mark.parametrize("name", ["embed_tokens.weight", "norm.weight", "layers.16.mlp.down_proj.weight"])
def test_changes_outside_of_compiled_layers_are_found(copy: Path, name: str) -> None:
    zero, _ = places(copy, f"model.{name}")
    change(copy, f"model.{name}", zero, 1.0)
    result = certify(copy, "--dtype", "float32")
    assert result.exit_code == 1
    assert name.removeprefix("layers.16.") in result.stdout


@pytest.mark.parametrize(
    ("name", "factor", "expected"),
    [
        ("mlp.gate_proj.weight", 0.01, "silu is not exact"),
        ("mlp.gate_proj.weight", 1 + 2.0**-20, "its margin is used up"),
        ("linear_attn.in_proj_b.weight", 0.25, "beta is not exactly 0 or 1"),
        ("linear_attn.in_proj_z.weight", 0.01, "silu is not exact"),
        ("mlp.down_proj.weight", 1 + 2.0**-23, "sum of"),
    ],
    ids=[
        "a weak gate",
        "a gate of too many bits",
        "a beta between",
        "a weak output gate",
        "a sum of too many bits",
    ],
)
def test_the_induction_itself_refuses(name: str, factor: float, expected: str) -> None:
    """Its bounds are those of the stored weights: it refuses without the comparison, too, where a margin is gone."""
    plan = planned("nano", "tiny")
    faults: list[Fault] = []
    analysis = Analysis(plan.layout, "float32")
    for number, weights in enumerate(plan.layers()):
        tensors = linear_layer(plan.layout.shape, weights)
        if number == 6:
            fullest = int(tensors[name].count_nonzero(1).argmax())
            tensors[name][fullest, int(tensors[name][fullest].nonzero()[-1])] *= factor
        faults += analysis.layer(number, tensors.__getitem__).faults
    found = [f"{fault.where}: {fault.what}" for fault in faults if fault.layer == 6]
    assert any(expected in line for line in found), found
    assert all(fault.layer >= 6 for fault in faults)


@pytest.mark.parametrize("noise", [1e-3, 1e-20])
def test_noise_is_followed_to_where_it_decides(noise: float) -> None:
    """A memory that gives noise instead of 0: harmless when it is small, refused where a gate is no longer decided."""
    plan = planned("nano", "tiny")
    analysis = Analysis(plan.layout, "float32")
    proofs = []
    for number, weights in enumerate(plan.layers()):
        tensors = linear_layer(plan.layout.shape, weights)
        proofs.append(analysis.layer(number, tensors.__getitem__))
        if number == 3:
            analysis.residual.noise[plan.layout.coordinate[-1]] += noise
            analysis.residual.noise[sorted(plan.layout.coordinate)[-40:]] += noise
    assert bool([f for proof in proofs for f in proof.faults]) == (noise > 1e-6)
    assert max(proof.noise for proof in proofs) >= noise


# Soundness ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launches() -> Context:
    return contexts(NANO, sample(multi_block, NANO, 3, seed=90))[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_measured_deviations_are_within_the_bound(nano: Checkpoint, launches: Context, dtype: str) -> None:
    """Stock transformers, token by token: after every layer, no wire of a generated token is off at all."""
    import torch
    from transformers import AutoModelForCausalLM, DynamicCache

    layout = planned("nano", "tiny").layout
    last = layout.schedule.layers
    bound = max(
        layer["noise"]
        for layer in json.loads(certify(nano.folder, "--dtype", dtype, "--json").stdout)["proofs"][0][
            "layers"
        ]
    )
    fixed = {*layout.constants, *layout.code.values()}
    wires = [c for c in range(layout.shape.hidden) if c not in fixed]
    model = AutoModelForCausalLM.from_pretrained(nano.folder, dtype=dtype).eval()
    cache, exact, seen = DynamicCache(config=model.config), evaluator(layout), 0
    for i, token in enumerate(launches.tokens[:250]):
        with torch.no_grad():
            ids = torch.tensor([nano.ids([token])])
            hidden = model.model(ids, cache=cache, output_hidden_states=True).hidden_states[last]
        exact.step(token_fields(nano.vocabulary, token))
        if i and launches.answers[i - 1] is not None:
            got = hidden[0, 0].float().numpy()[wires]
            assert np.abs(got - exact.values[wires]).max() <= bound, f"position {i}"
            seen += 1
    assert seen > 20


@pytest.mark.parametrize("machine", ["nano", "simt4"])
def test_circuits_keep_their_promise(machine: str) -> None:
    """What ranges alone do not show: wires are whole, and the numbers of an open unit have at most 8 significant bits."""
    config = PRESETS[machine]
    netlist = planned(machine, "tiny" if machine == "nano" else "small").netlist
    gates, factors = Affine([u.gate for u in netlist.units]), Affine([u.up for u in netlist.units])
    exact, vocabulary, checked = Evaluator(netlist), Vocabulary(config), 0
    for context in contexts(config, sample(multi_block, config, 4, seed=3)):
        for i, token in enumerate(context.tokens):
            exact.step(token_fields(vocabulary, token))
            if i and context.answers[i - 1] is not None:
                gate, factor = gates(exact.values), factors(exact.values)
                opened = gate > 0
                assert np.array_equal(exact.values, np.round(exact.values))
                for number in (gate[opened], factor[opened], (gate * factor)[opened]):
                    assert (np.abs(number) <= 256 * np.minimum(grid_of(number), 1e300)).all()
                checked += 1
    assert checked > 20


@pytest.mark.parametrize("machine", ["nano", "simt4"])
def test_the_counter_that_runs_out_reaches_no_memory(machine: str) -> None:
    """Prompts have more adr tokens than `ctx.stores` counts; what it reads then is no whole number, and must not be stored."""
    netlist = planned(machine, "tiny" if machine == "nano" else "small").netlist
    graph, units = Graph(netlist), len(netlist.units)
    todo = [units + next(n for n, head in enumerate(netlist.heads) if head.name == "ctx.stores")]
    seen = set(todo)
    while todo:
        for wire in graph.writes[todo.pop()]:
            for node in set(graph.readers[wire]) - seen:
                if node >= units:
                    head = netlist.heads[node - units]
                    stored = [*head.data, head.write, *head.write_key.bits]
                    assert wire not in {w for signal in stored for w, _ in signal.terms}, head.name
                    assert head_signals(head)
                seen.add(node)
                todo.append(node)
    assert len(seen) > 10


# Parts -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_memories_are_read_exactly(dtype: str) -> None:
    assert list(reads.faults(dtype)) == []


def test_a_level_of_another_significand_is_not_read_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """1.5 was the first choice: exact when equal squares are added in pairs, and not in every order."""
    monkeypatch.setattr(reads, "STATE_LEVEL", 1.5 * 2.0**18)
    assert any("read as" in fault for fault in reads.faults("float32"))


def test_a_counter_beside_weak_bits_is_felt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reads, "COUNTER_LEVEL", STATE_LEVEL / 64)
    assert "the norm feels a counter" in list(reads.faults("float32"))


def test_grids() -> None:
    assert grid_of(np.array([12.0, 0.0, -0.375, 1.0])).tolist() == [4.0, np.inf, 0.125, 1.0]


def test_a_product_is_bounded() -> None:
    """2 x - 2 y + 1 of bits, with noise on y: between -1 and 3, odd, never 0."""
    x = Residual(np.array([8.0, 0, 0]), np.zeros(3), np.array([0.0, 1, 1]), np.array([0, 0, 1e-10]))
    matrix = Matrix(1, np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([0.125, 2, -2]))
    rows = product(matrix, x, 1.0)
    assert (rows.low[0], rows.high[0], rows.least[0]) == (-1, 3, 1)
    assert not rows.may_be_zero[0]
    assert rows.noise[0] == pytest.approx(2e-10, rel=1e-2)
    assert rows.share[0] < 0.01


# Folders that cannot be certified ----------------------------------------------------------------------------------


def test_a_folder_that_is_no_checkpoint(tmp_path: Path) -> None:
    result = certify(tmp_path)
    assert result.exit_code == 1
    assert "checkpoint-manifest" in result.stderr


def test_a_file_that_is_cut_off(copy: Path) -> None:
    path = sorted(copy.glob("*.safetensors"))[3]
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data[: len(data) // 2])
    result = certify(copy)
    assert result.exit_code == 1
    assert "cannot be read" in result.stderr


def test_another_configuration(copy: Path) -> None:
    path = copy / "config.json"
    config = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps({**config, "rms_norm_eps": 1e-5}))
    result = certify(copy, "--dtype", "float32")
    assert result.exit_code == 1
    assert "config.json rms_norm_eps: is 1e-05, must be 1e-06" in result.stdout


def test_a_manifest_that_does_not_say_how_it_was_merged(copy: Path) -> None:
    path = copy / "qgc.json"
    manifest = json.loads(path.read_text())
    path.unlink()
    path.write_text(json.dumps({**manifest, "base": {"name": "somebody"}}))
    result = certify(copy)
    assert result.exit_code == 1
    assert "does not say how it was merged" in result.stderr


@pytest.fixture(scope="module", params=[0.0, 0.05], ids=["guard", "direction"])
def merged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A machine in front of a random base."""
    from qgc.backends.merge.base import Base
    from qgc.backends.merge.checkpoint import build, prepare

    root = tmp_path_factory.mktemp("merged")
    random_base(root / "base", layers=2, mean=request.param, rows=300)
    build(prepare(Base(str(root / "base")), NANO), root / "merged")
    yield root / "merged"
    shutil.rmtree(root)


def test_a_merged_checkpoint_is_certified(merged: Path) -> None:
    result = certify(merged, "--json")
    assert result.exit_code == 0, result.output
    facts = json.loads(result.stdout)
    written = json.loads((merged / "qgc.json").read_text())["base"]["margin"]
    logits = facts["proofs"][0]["logits"]
    assert logits["gap"] == pytest.approx(min(written["machine"], written["text"]))


@pytest.mark.parametrize(
    ("name", "place", "value", "expected"),
    [
        ("model.layers.5.mlp.gate_proj.weight", (3, 3), 0.5, "layer 5 mlp.gate_proj.weight: [3, 3]"),
        ("model.layers.16.mlp.up_proj.weight", (2, 2), 0.5, "the closing layer"),
        ("lm_head.weight", (310, 5), 0.5, "lm_head.weight: [10, 5]"),
        ("model.embed_tokens.weight", (310, 5), 0.5, "embed_tokens.weight: [10, 5]"),
        ("model.layers.17.mlp.down_proj.weight", (0, 0), 1e30, "its layers add up to"),
    ],
)
def test_a_change_in_a_merged_checkpoint_is_found(
    merged: Path, tmp_path: Path, name: str, place: tuple[int, int], value: float, expected: str
) -> None:
    """In the machine, in the closing layer, in its rows, and in the base, where only size matters."""
    folder = tmp_path / "copy"
    shutil.copytree(merged, folder, copy_function=lambda a, b: Path(b).hardlink_to(a))
    change(folder, name, place, value)
    result = certify(folder, "--dtype", "float32")
    assert result.exit_code == 1
    assert expected in result.stdout
    shutil.rmtree(folder)


def test_a_program_that_is_not_in_it(nano: Checkpoint) -> None:
    blocks = Path(__file__).parents[3] / "golden/blocks/dot.nvrtc.blocks"
    result = certify(nano.folder, "--bake", str(blocks))
    assert result.exit_code == 1
    assert "certify-program" in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["small", "qwen3.5-2b"])
def test_the_reference_machine_is_certified(tmp_path: Path, shape: str) -> None:
    from qgc.backends.weights import build
    from qgc.ir.layout.shape import SHAPES

    build(PRESETS["simt4"], SHAPES[shape], "bfloat16", tmp_path / "simt4")
    result = certify(tmp_path / "simt4")
    assert result.exit_code == 0, result.stdout
    shutil.rmtree(tmp_path / "simt4")
