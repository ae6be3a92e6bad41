"""The commands on good input: from CUDA to arrays, every stage on the way, stdin and stdout, files whole or not at all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from qgc.cli.main import cli
from qgc.frontends import FRONTENDS
from qgc.stages import STAGES, side

ROOT = Path(__file__).parent.parent.parent
DOT = ROOT / "golden/ptx/dot.nvrtc.ptx"
NAMED = ["--block", "3", "a=1,2,3", "b=4,5,6", "out=0"]
IN_ORDER = ["--block", "3", "1,2,3", "4,5,6", "0"]
PROGRAM_STAGES = [stage.name for stage in side("program")]


def qgc(*args: str | Path, stdin: str | bytes | None = None, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [str(a) for a in args], input=stdin)
    assert result.exit_code == code, result.stderr
    return result


@pytest.fixture(params=list(FRONTENDS))
def frontend(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if not FRONTENDS[name].is_available():
        pytest.skip(f"{name} is not installed")
    return name


# Compiling


def test_cuda_to_ptx_by_each_front_end(frontend: str, tmp_path: Path) -> None:
    out = tmp_path / "dot.ptx"
    shown = qgc("cu2ptx", ROOT / "examples/dot.cu", "--frontend", frontend, "-o", out)
    assert shown.stdout == ""
    assert ".entry dot(" in out.read_text()
    assert (
        qgc("cu2ptx", "-", "--frontend", frontend, stdin=(ROOT / "examples/dot.cu").read_text()).stdout
        == out.read_text()
    )


def test_an_error_in_cuda_has_its_place(frontend: str) -> None:
    source = "__global__ void k(int *out) {\n    out[0] = undefined;\n}\n"
    result = qgc("cu2ptx", "-", "--frontend", frontend, stdin=source, code=1)
    assert re.match(r"<stdin>:2:\d+: error\[cuda-error\]: .*undefined", result.stderr)
    assert "    out[0] = undefined;" in result.stderr
    assert result.stdout == ""


def test_ptx_to_blocks(tmp_path: Path) -> None:
    out = tmp_path / "dot.blocks"
    qgc("ptx2blocks", DOT, "-o", out)
    assert "kernel dot" in out.read_text()
    assert qgc("ptx2blocks", "-", stdin=DOT.read_text()).stdout == out.read_text().replace(
        str(DOT), "<stdin>"
    )
    assert qgc("check", out).stderr == f"{out}: blocks, no faults\n"
    assert "block 0" in qgc("ptx2blocks", out).stdout


def test_an_output_folder_that_is_missing_is_one_clean_error(tmp_path: Path) -> None:
    result = qgc("ptx2blocks", DOT, "-o", tmp_path / "missing" / "dot.blocks", code=1)
    assert result.stderr.startswith("error[io-write]: cannot write ")
    assert os.listdir(tmp_path) == []


# Dumping


@pytest.mark.parametrize("stage", PROGRAM_STAGES)
def test_a_dump_of_every_stage_is_a_good_file_of_that_stage(stage: str, tmp_path: Path) -> None:
    out = tmp_path / f"dot{STAGES[stage].suffix}"
    qgc("dump", DOT, *IN_ORDER, "--stage", stage, "-o", out)
    assert qgc("check", out).stderr == f"{out}: {stage}, no faults\n"
    assert qgc("check", "-", "--stage", stage, stdin=out.read_text()).exit_code == 0
    assert qgc("dump", out, "--stage", stage, *IN_ORDER).stdout == out.read_text()


@pytest.mark.parametrize(("start", "end"), list(pairwise(PROGRAM_STAGES)))
def test_each_stage_continues_from_the_dump_of_the_one_before(start: str, end: str) -> None:
    middle = qgc("dump", DOT, *IN_ORDER, "--stage", start).stdout
    step = qgc("dump", "-", *IN_ORDER, "--from", start, "--stage", end, stdin=middle).stdout
    whole = qgc("dump", DOT, *IN_ORDER, "--stage", end).stdout
    assert _without_places(step) == _without_places(whole)


def _without_places(text: str) -> str:
    """A dump that is read again is a file of its own, and its names are made unique anew."""
    return re.sub(r' @ ?\S+|(kernel \S+ from) ".*"|(%\w+)\.\d+', r"\1\2", text)


def test_pass_options(tmp_path: Path) -> None:
    folder = tmp_path / "passes"
    result = qgc("dump", DOT, "--stage", "ir-div", "--print-after", "dce", "--timings", "--dump-dir", folder)
    assert "; ---- after dce (#" in result.stderr
    assert re.search(r"gvn +\d+\.\d+ ms", result.stderr)
    assert result.stdout.startswith("kernel dot")
    names = sorted(os.listdir(folder))
    assert names[0].startswith("00-start")
    assert names[-1] == max(names)
    assert "after-dce" in "".join(names)
    stopped = qgc("dump", DOT, "--stage", "blocks", "--stop-after", "dce").stdout
    assert stopped.startswith("kernel dot")
    assert stopped == qgc("ptx2blocks", DOT, "--stop-after", "dce").stdout


# Running


@pytest.mark.parametrize("engine", ["isa", "ssa", "ptx"])
def test_run_prints_the_arrays_and_nothing_else(engine: str) -> None:
    result = qgc("run", DOT, "--engine", engine, "--block", "3", "1,2,3", "4,5,6", "0")
    assert result.stdout == "dot_param_0=1,2,3\ndot_param_1=4,5,6\ndot_param_2=32\n"
    assert result.stderr.startswith(f"{engine}: ")


def test_run_takes_cuda_and_the_names_of_its_parameters(frontend: str) -> None:
    args = ["--engine", "isa", "--frontend", frontend, *NAMED]
    result = qgc("run", ROOT / "examples/dot.cu", *args)
    assert result.stdout == "a=1,2,3\nb=4,5,6\nout=32\n"
    assert qgc("run", "-", *args, stdin=(ROOT / "examples/dot.cu").read_text()).stdout == result.stdout


def test_what_run_prints_are_arguments(tmp_path: Path) -> None:
    args = ["run", str(DOT), "--engine", "isa", "--block", "3"]
    first = qgc(*args, "1,2,3", "dot_param_1=-4,5,6", "0").stdout.split()
    assert qgc(*args, *first).stdout.split()[2] == f"dot_param_2={2 * (-4 + 10 + 18)}"


def test_run_takes_blocks(tmp_path: Path) -> None:
    blocks = tmp_path / "dot.blocks"
    qgc("ptx2blocks", DOT, "-o", blocks)
    result = qgc("run", blocks, "--engine", "isa", "--block", "3", "1,2,3", "4,5,6", "0")
    assert result.stdout.endswith("dot_param_2=32\n")


def test_trace_in_words(golden: Callable[[str, str], None]) -> None:
    result = qgc("run", DOT, "--engine", "isa", "--trace", "--block", "7", "1:7", "1,-2,3000000,4,5,6,7", "0")
    golden("cli/trace.txt", re.sub(r", \d+\.\d s", "", result.stderr))


@pytest.mark.parametrize("stage", [stage.name for stage in side("machine")])
def test_a_dump_of_a_machine_needs_no_file(stage: str) -> None:
    text = qgc("dump", "--stage", stage, "--machine", "nano", "--shape", "tiny").stdout
    assert qgc("check", "-", "--stage", stage, stdin=text).stderr == f"<stdin>: {stage}, no faults\n"
