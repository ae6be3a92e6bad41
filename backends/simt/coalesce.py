"""Out of SSA: every phi and its arguments share one machine register, with copies only where they must.

First each argument gets a copy at the end of its unit, which is always right. Then a copy is dropped, and its source
put into the phi's class, when the class stays free of conflicts: at most one member is live at the head and at the end
of each unit, a unit writes at most one, and all its reads of the old member can come before that write (which
`dependence_graph` then makes sure of). Inner loops are tried first, their copies run most often.
"""

from __future__ import annotations

from qgc.backends.simt.code import COPY, ZERO, Code, Node, Phi, Reg, Unit
from qgc.backends.simt.depend import dependence_graph
from qgc.backends.simt.live import Liveness, liveness


class Classes:
    """A union-find over virtual registers; the representative is the member with the smallest number."""

    def __init__(self) -> None:
        self.parent: dict[Reg, Reg] = {}

    def __call__(self, reg: Reg) -> Reg:
        """The representative of a register's class."""
        while reg in self.parent:
            reg = self.parent[reg]
        return reg

    def union(self, a: Reg, b: Reg) -> None:
        """Make one class of two."""
        a, b = self(a), self(b)
        if a is not b:
            low, high = (a, b) if a.number < b.number else (b, a)
            self.parent[high] = low


def coalesce(code: Code) -> Classes:
    """Give phis their copies and return which registers are one."""
    classes = Classes()
    _insert_copies(code, classes)
    _break_cycles(code, classes)
    depth = loop_depths(code)
    copies = [(unit, phi) for target in code.units for phi in target.phis for unit in phi.args]
    for unit, phi in sorted(copies, key=lambda c: -depth[c[0]]):
        _drop_copy(code, classes, unit, phi)
    return classes


def loop_depths(code: Code) -> dict[Unit, int]:
    """How many loops are around each unit; a loop's units stand together, from its header to its latch."""
    number = {unit: i for i, unit in enumerate(code.units)}
    depth = dict.fromkeys(code.units, 0)
    headers: dict[Unit, int] = {}
    for i, unit in enumerate(code.units):
        for target in unit.successors:
            if number[target] <= i:
                headers[target] = i
    for header, last in headers.items():
        for unit in code.units[number[header] : last + 1]:
            depth[unit] += 1
    return depth


def _insert_copies(code: Code, classes: Classes) -> None:
    """A copy for each argument, at the end of its unit. A unit before phis has one successor (`ssa-critical`)."""
    for successor in code.units:
        for phi in successor.phis:
            for unit, arg in phi.args.items():
                copy = code.reg(phi.result.name, phi.result.tokens, unit.span)
                unit.nodes.append(Node("nop" if arg == ZERO else COPY, arg, result=copy, span=unit.span))
                phi.args[unit] = copy
                classes.union(phi.result, copy)


def _break_cycles(code: Code, classes: Classes) -> None:
    """Where copies want each other's old values (a swap), one of them is read before."""
    for unit in code.units:
        for node in [n for n in unit.nodes if n.op == COPY]:
            if isinstance(node.a, Reg) and dependence_graph(unit, classes) is None:
                node.a = _save(code, unit, node.a)


def _save(code: Code, unit: Unit, reg: Reg) -> Reg:
    """A copy of a value that the unit reads at its head."""
    saved = code.reg(f"{reg.name}.old", reg.tokens, unit.span)
    unit.nodes.insert(0, Node(COPY, reg, result=saved, span=unit.span))
    return saved


def _drop_copy(code: Code, classes: Classes, unit: Unit, phi: Phi) -> None:
    """Let the argument itself be written to the phi's register, if nothing speaks against it."""
    copy = phi.args[unit]
    node = next(n for n in unit.nodes if n.result is copy)
    source = node.a
    if not isinstance(source, Reg):
        return
    index = unit.nodes.index(node)
    unit.nodes.remove(node)
    phi.args[unit] = source
    trial = Classes()
    trial.parent = dict(classes.parent)
    trial.union(phi.result, source)
    if is_free(code, trial, trial(source)):
        classes.parent = trial.parent
    else:
        unit.nodes.insert(index, node)
        phi.args[unit] = copy


def is_free(code: Code, classes: Classes, one: Reg) -> bool:
    """Whether the members of a class can share a register."""
    live = liveness(code)
    return all(_fits_unit(unit, classes, one, live) for unit in code.units)


def _fits_unit(unit: Unit, classes: Classes, one: Reg, live: Liveness) -> bool:
    head = [reg for reg in live.head[unit] if classes(reg) is one]
    head += [phi.result for phi in unit.phis if classes(phi.result) is one]
    writes = [n.result for n in unit.nodes if n.result is not None and classes(n.result) is one]
    end = {reg for reg in live.end[unit] if classes(reg) is one}
    if len(head) > 1 or len(writes) > 1 or len(end) > 1:
        return False
    if not writes:
        return True
    if end and end != set(writes):
        return False
    condition = unit.condition
    if condition is not None and classes(condition.reg) is one and condition.reg is not writes[0]:
        return False
    return dependence_graph(unit, classes) is not None
