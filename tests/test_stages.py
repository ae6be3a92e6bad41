"""Every stage of the registry has its functions, its golden folder, and a text form that survives a round trip."""

from __future__ import annotations

from pathlib import Path

import pytest

from qgc.diagnostics import QgcError
from qgc.stages import STAGES, Stage, side, stage_of

GOLDEN = Path(__file__).parent.parent / "golden"
FILES = [
    pytest.param(stage, path, id=f"{stage.name}/{path.name}")
    for stage in STAGES.values()
    for path in sorted((GOLDEN / stage.name).rglob("*"))
    if path.is_file()
]


def test_the_stages_and_their_order() -> None:
    programs = ["ptx", "ast", "ir", "ir-opt", "ir-pred", "ir-div", "blocks", "tokens"]
    assert [stage.name for stage in side("program")] == programs
    assert list(STAGES) == programs + [stage.name for stage in side("machine")]


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_a_stage_has_its_functions(stage: Stage) -> None:
    assert callable(stage.evaluate)
    for broken in ("\0", "machine nowhere", "}{"):
        with pytest.raises(QgcError):
            stage.load(broken, "broken" + stage.suffix)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_a_stage_has_golden_files(stage: Stage) -> None:
    assert any(path is not None for row, path in (p.values for p in FILES) if row is stage)


@pytest.mark.parametrize(("stage", "path"), FILES)
def test_golden_files_survive_the_round_trip(stage: Stage, path: Path) -> None:
    text = path.read_text()
    unit = stage.parse(text, path.name)
    stage.verify(unit)
    assert stage.to_text(unit) == text
    assert stage.to_text(stage.load(text, path.name)) == text


@pytest.mark.parametrize(
    ("file", "name"), [("k.ptx", "ptx"), ("k.ir", "ir"), ("a.b.opt.ir", "ir-opt"), ("k.blocks", "blocks")]
)
def test_the_longest_suffix_tells_the_stage(file: str, name: str) -> None:
    assert stage_of(file).name == name


def test_an_unknown_suffix_is_refused_with_those_there_are() -> None:
    with pytest.raises(QgcError, match=r"stage-suffix.*k\.txt"):
        stage_of("k.txt")
