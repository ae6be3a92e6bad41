"""Register allocation: a machine register for every class of virtual registers that some block leaves behind.

Two classes interfere when one is written by a block after which the other is live. The graph is coloured by taking
away nodes of small degree first (Chaitin and Briggs); nothing is spilled.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.simt.coalesce import Classes
from qgc.backends.simt.code import Node, Reg, Unit
from qgc.backends.simt.form import Draft
from qgc.diagnostics import Diagnostic, QgcError, Span
from qgc.ir.machine.config import MachineConfig


@dataclass(frozen=True, slots=True)
class Allocation:
    """The machine register of each class, and for each draft the virtual registers that it really has to write."""

    registers: dict[Reg, int]
    writes: dict[Draft, list[Reg]]


class TooManyValues(QgcError):
    """There are more live values than registers.

    Attributes:
        spans: the classes that are live where most are, and after how many drafts each of them is.
    """

    def __init__(self, diagnostic: Diagnostic, spans: dict[Reg, int]) -> None:
        super().__init__(diagnostic)
        self.spans = spans

    @property
    def live(self) -> list[Reg]:
        """The classes, in order of their numbers."""
        return sorted(self.spans, key=lambda reg: reg.number)


def allocate(drafts: list[Draft], classes: Classes, config: MachineConfig) -> Allocation:
    """Give every live class a register.

    Raises:
        TooManyValues: `simt-registers` when too many values are live at once; names the place and the values.
    """
    live = _live_after(drafts, classes)
    writes = {draft: [reg for reg in draft.writes if classes(reg) in live[draft]] for draft in drafts}
    interferes = _interference(drafts, classes, live, writes)
    registers = _colour(interferes, _colours(drafts, interferes, classes, config))
    if registers is None:
        raise _too_many(drafts, live, config)
    return Allocation(registers, writes)


def _reads(draft: Draft) -> list[Reg]:
    """The virtual registers that a draft reads from machine registers."""
    inside = {node.result for node in draft.stages}
    reads = [reg for node in draft.stages for reg in node.reads() if reg not in inside]
    condition = draft.unit.condition
    if draft.is_last and condition is not None and condition.reg not in inside:
        reads.append(condition.reg)
    return reads


def _successors(drafts: list[Draft]) -> dict[Draft, list[Draft]]:
    first: dict[Unit, Draft] = {}
    for draft in drafts:
        first.setdefault(draft.unit, draft)
    return {
        draft: [first[unit] for unit in draft.unit.successors] if draft.is_last else [following]
        for draft, following in zip(drafts, [*drafts[1:], drafts[0]], strict=True)
    }


def _live_after(drafts: list[Draft], classes: Classes) -> dict[Draft, set[Reg]]:
    """The classes that are live after each draft."""
    successors = _successors(drafts)
    reads = {draft: {classes(reg) for reg in _reads(draft)} for draft in drafts}
    kills = {draft: {classes(reg) for reg in draft.writes} for draft in drafts}
    before: dict[Draft, set[Reg]] = {draft: set() for draft in drafts}
    after: dict[Draft, set[Reg]] = {draft: set() for draft in drafts}
    changed = True
    while changed:
        changed = False
        for draft in reversed(drafts):
            after[draft] = set().union(*(before[s] for s in successors[draft]))
            new = (after[draft] - kills[draft]) | reads[draft]
            changed |= new != before[draft]
            before[draft] = new
    return after


def _interference(
    drafts: list[Draft], classes: Classes, live: dict[Draft, set[Reg]], writes: dict[Draft, list[Reg]]
) -> dict[Reg, set[Reg]]:
    graph: dict[Reg, set[Reg]] = {}
    for draft in drafts:
        for reg in writes[draft]:
            one = classes(reg)
            others = live[draft] - {one}
            graph.setdefault(one, set()).update(others)
            for other in others:
                graph.setdefault(other, set()).add(one)
    return graph


def _colours(
    drafts: list[Draft], graph: dict[Reg, set[Reg]], classes: Classes, config: MachineConfig
) -> dict[Reg, list[int]]:
    """The registers that each class may have, best first: guards only predicates, and the rest those last."""
    every = list(range(1, config.registers))
    if config.guard_rows == config.registers:
        return dict.fromkeys(graph, every)
    guards = {classes(reg) for draft in drafts for reg in _guards(draft)}
    predicates, others = every[: config.predicates], every[config.predicates :]
    return {reg: predicates if reg in guards else others + predicates for reg in graph}


def _guards(draft: Draft) -> list[Reg]:
    """The virtual registers of which a draft may read bit 0 as a guard."""
    found = [node.guard.reg for node in draft.stages if node.guard is not None]
    if draft.is_last and draft.unit.condition is not None:
        found.append(draft.unit.condition.reg)
    return found


def _colour(graph: dict[Reg, set[Reg]], colours: dict[Reg, list[int]]) -> dict[Reg, int] | None:
    """A colour of its own for each node; None when the order of simplification leaves some node without one."""
    degree = {reg: len(others) for reg, others in graph.items()}
    stack: list[Reg] = []
    left = sorted(graph, key=lambda reg: reg.number)
    while left:
        reg = next((r for r in left if degree[r] < len(colours[r])), None) or max(
            left, key=lambda r: degree[r]
        )
        left.remove(reg)
        stack.append(reg)
        for other in graph[reg]:
            degree[other] -= 1
    chosen: dict[Reg, int] = {}
    for reg in reversed(stack):
        taken = {chosen[other] for other in graph[reg] if other in chosen}
        free = next((colour for colour in colours[reg] if colour not in taken), None)
        if free is None:
            return None
        chosen[reg] = free
    return chosen


def _too_many(drafts: list[Draft], live: dict[Draft, set[Reg]], config: MachineConfig) -> TooManyValues:
    worst = max(drafts, key=lambda draft: len(live[draft]))
    names = ", ".join(reg.name or "?" for reg in sorted(live[worst], key=lambda reg: reg.number))
    spans = {reg: sum(reg in after for after in live.values()) for reg in live[worst]}
    diagnostic = Diagnostic(
        "simt-registers",
        f"too many live values: {len(live[worst])} are needed after this place ({names}); machine {config.name} has "
        f"{config.registers - 1} registers"
        + (f", {config.predicates} of them for guards" if config.predicates else ""),
        _place(worst),
        "choose a machine with more registers, or make the kernel keep fewer values at once",
    )
    return TooManyValues(diagnostic, spans)


def _place(draft: Draft) -> Span | None:
    spans = [node.span for node in _by_stage(draft) if node.span is not None]
    return spans[-1] if spans else draft.unit.span


def _by_stage(draft: Draft) -> list[Node]:
    return sorted(draft.stages, key=lambda node: draft.stages[node])
