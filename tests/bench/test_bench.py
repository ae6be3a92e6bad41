"""`qgc bench`: the parts on a small machine, and one whole run in the slow tier."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from rich.console import Console

from qgc.bench import report, roofline, subjects
from qgc.cli.main import cli
from qgc.driver import Kernel, Settings, source
from qgc.ir.machine.config import PRESETS
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.isa import run_isa
from qgc.runtime.launch import link
from qgc.runtime.sparse.layers import LayerCost, layer_costs

PEER = Path(__file__).parent.parent.parent / "examples/peer"
ONE = """
[[kernel]]
name = "one"
source = "one.cu"
params = { a = "int32[]" }
[[kernel.case]]
args = { a = [1, 2] }
expected = { a = [5, 2] }
"""


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    (tmp_path / "one.cu").write_text('extern "C" __global__ void one(int *a) { a[0] += 4; }')
    (tmp_path / "manifest.toml").write_text(ONE)
    return tmp_path / "manifest.toml"


def test_a_kernel_is_compiled_and_counted(manifest: Path) -> None:
    (subject,) = subjects.subjects(manifest)
    row = subjects.row(subject)
    want = run_isa(subject.launch)
    assert row["kernel"] == f"{manifest.parent.name}/one"
    assert row["generated_tokens"] == len(want.answers)
    assert row["prompt_tokens"] == len(want.tokens) - len(want.answers)
    assert row["cuda_to_ptx_s"] > 0 < row["ptx_to_blocks_s"]


def test_without_an_assembler_its_column_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    assert subjects.ptxas_seconds(".version 8.0") is None


def test_the_fit_finds_what_layers_are_made_of() -> None:
    counts = [(0, 1), (10, 0), (20, 5), (3, 3)]
    costs = [
        LayerCost(i, 0.5 + 0.01 * units + 0.1 * heads, units, heads)
        for i, (units, heads) in enumerate(counts)
    ]
    assert np.allclose(roofline._fit(costs), (0.5, 0.01, 0.1))


def test_the_roofline_is_bytes_over_bandwidth(nano: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "copy_bandwidth", lambda: 1e9)
    text = 'extern "C" __global__ void add(int *a) { a[threadIdx.x] += 3; }'
    kernel = Kernel(source(text, "k.cu"), Settings(machine=PRESETS["nano"]))
    tokens = run_isa(link(kernel.program, (1, 1, 1), (3, 1, 1), [np.arange(3, dtype=np.int32)])).tokens
    costs = layer_costs(nano.sparse, nano.ids(tokens), tokens=1)
    found = roofline.roofline(nano.sparse.weights, nano.sparse.plan, 100, 10, 50.0, costs)
    assert found["bound_tokens_per_s"] == pytest.approx(1e9 / found["bytes_per_token"], rel=1e-3)
    assert found["share"] == pytest.approx(found["bytes_per_token"] / 1e9 / 50e-6, rel=0.01)


def test_peers_are_compared_by_name() -> None:
    kernels: list[dict[str, Any]] = [
        {"kernel": "peer/collatz_lanes", "cpu_ms": 10.65},
        {"kernel": "collatz", "cpu_ms": 1.0},
        {"kernel": "peer/logic", "cpu_ms": 1.0},
    ]
    (row,) = report._against(PEER / "peers.toml", kernels)
    assert row["times_faster"] == 100.0


def test_tables_show_every_figure() -> None:
    out = io.StringIO()
    found = {
        "compile": [{"kernel": "k", "blocks": 3}],
        "small": {"layers": 2, "hf": {"x": 1.5}, "kernels": []},
    }
    report.show(found, Console(file=out, width=100))
    for text in ("k", "3", "layers", "hf.x", "1.5"):
        assert text in out.getvalue()


def test_without_kernels_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(cli, ["bench"])
    assert result.exit_code == 1
    assert "bench-manifest" in result.stderr


@pytest.mark.slow
def test_a_whole_run(manifest: Path, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    result = CliRunner().invoke(cli, ["bench", str(manifest), "--shape", "small", "-o", str(out)])
    assert result.exit_code == 0, result.stderr
    part = json.loads(out.read_text())["small"]
    assert part["fast_over_hf_step_by_step"] > 1
    assert {row["threads"] for row in part["batches"]} == {1, 2}
    assert part["cached_run_s"] > 0
