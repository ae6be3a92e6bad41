"""The pass manager on a toy stage: a list of numbers."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from qgc.diagnostics import Diagnostic, VerifyError
from qgc.ir.ssa.text import parse
from qgc.passes.manager import Form, Options, PassFault, PassManager, UnknownPass
from qgc.passes.pipelines import FORMS, PIPELINE, STEPS, run_passes
from qgc.passes.ssa.narrow import Narrow
from qgc.passes.ssa.split_edges import SplitEdges
from tests.helpers.ssa import GOLDEN


def positive(unit: list[int]) -> None:
    if faults := [Diagnostic("list-negative", f"{n} is negative") for n in unit if n < 0]:
        raise VerifyError(*faults)


def sorted_(unit: list[int]) -> None:
    positive(unit)
    if unit != sorted(unit):
        raise VerifyError(Diagnostic("list-order", "not sorted"))


FORMS_OF_LISTS = (Form("raw", ".raw", str, positive), Form("sorted", ".sorted", str, sorted_))


@dataclass(frozen=True)
class Append:
    """Appends a number in place, and may lie about it."""

    number: int
    says: bool = True
    name: str = "append"
    requires: tuple[str, ...] = ("raw",)
    produces: str | None = None

    def run(self, unit: list[int]) -> bool:
        unit.append(self.number)
        return self.says


@dataclass(frozen=True)
class Sort:
    """Makes a new unit of another stage."""

    name: str = "sort"
    requires: tuple[str, ...] = ("raw",)
    produces: str | None = "sorted"

    def run(self, unit: list[int]) -> list[int]:
        return sorted(unit)


@dataclass(frozen=True)
class Nothing:
    """Leaves everything as it is."""

    name: str = "nothing"
    requires: tuple[str, ...] = ("raw", "sorted")
    produces: str | None = None

    def run(self, unit: list[int]) -> bool:
        return False


PASSES = (Append(5), Append(3), Sort(), Nothing())


def manager(**options: object) -> PassManager:
    return PassManager(PASSES, FORMS_OF_LISTS, "raw", Options(check_changed=True, **options))  # type: ignore[arg-type]


def test_passes_run_in_order_and_change_the_stage() -> None:
    outcome = manager().run([4])
    assert (outcome.unit, outcome.stage, outcome.stopped) == ([3, 4, 5], "sorted", False)


def test_a_part_of_the_pipeline() -> None:
    assert manager().run([4], 1, 2).unit == [4, 3]
    assert manager().run([9, 4], 2).unit == [4, 9]


def test_stop_after_the_first_of_that_name() -> None:
    outcome = manager(stop_after="append").run([4])
    assert (outcome.unit, outcome.stage, outcome.stopped) == ([4, 5], "raw", True)


def test_print_after_and_timings_go_to_the_log() -> None:
    log = io.StringIO()
    manager(print_after=("sort",), timings=True, log=log).run([4])
    text = log.getvalue()
    assert "; ---- after sort (#3)\n[3, 4, 5]\n" in text
    assert [line.split()[:2] for line in text.splitlines() if " ms " in line] == [
        ["1", "append"],
        ["2", "append"],
        ["3", "sort"],
        ["4", "nothing"],
    ]
    assert text.rstrip().endswith("-")


def test_dumps_are_numbered_and_say_what_changed(tmp_path: Path) -> None:
    manager(dump_dir=tmp_path / "out").run([4])
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "00-start.raw",
        "01-after-append.changed.raw",
        "02-after-append.changed.raw",
        "03-after-sort.changed.sorted",
        "04-after-nothing.sorted",
    ]
    assert (tmp_path / "out" / "02-after-append.changed.raw").read_text() == "[4, 5, 3]"


@pytest.mark.parametrize("option", [{"stop_after": "apend"}, {"print_after": ("sort", "apend")}])
def test_unknown_names_are_wrong_usage(option: dict[str, object]) -> None:
    with pytest.raises(UnknownPass, match="no pass 'apend'; did you mean 'append'") as caught:
        manager(**option)
    assert caught.value.exit_code == 2


def test_a_broken_unit_names_the_pass() -> None:
    broken = PassManager((Append(1), Append(-1)), FORMS_OF_LISTS, "raw")
    with pytest.raises(
        PassFault, match=r"error\[list-negative\]: after pass 'append' \(#2\): -1 is negative"
    ) as caught:
        broken.run([])
    assert caught.value.exit_code == 70
    unchecked = PassManager((Append(-1),), FORMS_OF_LISTS, "raw", Options(verify=False))
    assert unchecked.run([]).unit == [-1]


def test_a_broken_input_is_no_fault_of_a_pass() -> None:
    with pytest.raises(VerifyError) as caught:
        manager().run([-4])
    assert not isinstance(caught.value, PassFault)


@pytest.mark.parametrize("liar", [Append(1, says=False), Nothing(name="nothing")])
def test_a_pass_may_not_lie_about_what_it_did(liar: Append | Nothing) -> None:
    lying = replace(liar) if isinstance(liar, Append) else Boaster()
    with pytest.raises(PassFault, match="pass-changed"):
        PassManager((lying,), FORMS_OF_LISTS, "raw", Options(check_changed=True)).run([])


@dataclass(frozen=True)
class Boaster(Nothing):
    """Says that it did something."""

    def run(self, unit: list[int]) -> bool:
        return True


@pytest.mark.parametrize("order", [(Sort(), Append(1)), (Sort(), Sort())])
def test_a_pass_must_accept_the_stage_that_it_finds(order: tuple[Append | Sort, ...]) -> None:
    with pytest.raises(ValueError, match="needs stage raw, and would find sorted"):
        PassManager(order, FORMS_OF_LISTS, "raw")


# The real pipeline


def test_each_step_ends_at_its_stage() -> None:
    stages = PassManager(PIPELINE, FORMS, "ir").stages
    at = 0
    for stage, steps in STEPS.items():
        at += len(steps)
        assert stages[at] == stage


@pytest.mark.parametrize("number", range(len(PIPELINE)))
def test_no_pass_that_changes_the_stage_may_run_twice_or_late(number: int) -> None:
    step = PIPELINE[number]
    if step.produces is None:
        return
    with pytest.raises(ValueError, match="needs stage"):
        PassManager((*PIPELINE[: number + 1], step), FORMS, "ir")


def test_wrong_orders_of_real_passes_are_refused() -> None:
    with pytest.raises(ValueError, match="'split-edges' needs stage ir-pred, and would find ir-opt"):
        PassManager((Narrow(), SplitEdges()), FORMS, "ir")


def test_several_kernels_have_their_own_dumps(tmp_path: Path) -> None:
    text = (GOLDEN / "ir" / "dot.nvrtc.ir").read_text()
    module = parse(text + "\n" + text.replace("kernel dot", "kernel dot2"), "two.ir")
    assert run_passes(module, "ir", "ir-div", Options(dump_dir=tmp_path)) == ("ir-div", False)
    assert len(list((tmp_path / "dot").iterdir())) == len(PIPELINE) + 1
    assert len(list((tmp_path / "dot2").iterdir())) == len(PIPELINE) + 1


def test_steps_one_by_one_number_their_dumps_as_the_whole(tmp_path: Path) -> None:
    module = parse((GOLDEN / "ir" / "dot.nvrtc.ir").read_text(), "dot.ir")
    options = Options(dump_dir=tmp_path, stop_after="block-order")
    assert run_passes(module, "ir", "ir-opt", options) == ("ir-opt", False)
    assert run_passes(module, "ir-opt", "ir-pred", options) == ("ir-pred", False)
    assert run_passes(module, "ir-pred", "ir-div", options) == ("ir-pred", True)
    numbers = sorted(int(p.name.split("-")[0]) for p in tmp_path.iterdir())
    assert numbers == list(range(len(PIPELINE)))
