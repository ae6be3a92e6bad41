"""Spilling: values that find no register live in memory, a word for each thread, and are loaded where they are read.

The word of thread t is at `spill slot + 4 * t`, so a spill is one store without arithmetic, and the lanes of a group write one
vector. Registers that are one (a phi and its arguments) share a slot as they share a machine register: a phi becomes
stores at the ends of the units that it comes from.
"""

from __future__ import annotations

from collections.abc import Collection

from qgc.backends.simt.address import Address
from qgc.backends.simt.allocate import TooManyValues
from qgc.backends.simt.coalesce import Classes, loop_depths
from qgc.backends.simt.code import TID, Code, Condition, Node, Operand, Reg, Row, Unit
from qgc.ir.machine.symbols import ParamSymbol, spill_slot

_LOOP_FACTOR = 8
"""How much more often the inside of a loop is taken to run."""


def spill(code: Code, numbers: Collection[int], slot: int) -> None:
    """Keep the registers of these numbers, which may be one machine register, in a slot."""
    spiller = _Spiller(code, numbers, slot)
    for unit in code.units:
        spiller.condition(unit)
    for unit in code.units:
        spiller.arguments(unit)
    for unit in code.units:
        spiller.unit(unit)


class _Spiller:
    def __init__(self, code: Code, numbers: Collection[int], slot: int) -> None:
        self.code, self.numbers = code, frozenset(numbers)
        self.row = Row(str(ParamSymbol(spill_slot(slot))))
        self.place = Address((), param=spill_slot(slot))
        self.loads: set[Node] = set()
        results = {unit: {node.result for node in unit.nodes} for unit in code.units}
        self.written = {
            unit: {reg.number for reg in regs if reg is not None} & self.numbers
            for unit, regs in results.items()
        }

    def is_spilled(self, operand: Operand | None) -> bool:
        return isinstance(operand, Reg) and operand.number in self.numbers

    def load(self, reg: Reg) -> Node:
        """A node that loads the value anew."""
        again = self.code.reg(reg.name, reg.tokens, reg.span)
        return Node("ldx", TID, self.row, result=again, span=reg.span, place=self.place)

    def store(self, value: Operand, unit: Unit) -> Node:
        """A node that keeps a value."""
        return Node("stx", TID, self.row, value, span=unit.span, place=self.place)

    def at_end(self, reg: Reg, unit: Unit) -> Reg:
        """The value at the end of a unit: the register itself when the unit writes it, else a load."""
        if reg.number in self.written[unit]:
            return reg
        node = self.load(reg)
        self.loads.add(node)
        unit.nodes.append(node)
        return node.result or reg

    def condition(self, unit: Unit) -> None:
        """What a unit branches on."""
        condition = unit.condition
        if condition is not None and self.is_spilled(condition.reg):
            unit.condition = Condition(self.at_end(condition.reg, unit), condition.negated)

    def arguments(self, unit: Unit) -> None:
        """Phis of this unit: spilled arguments are loaded at the end of where they come from; spilled phis go.

        The loads come before the stores, since phis take their arguments all at once.
        """
        for phi in unit.phis:
            if not self.is_spilled(phi.result):
                for came, argument in phi.args.items():
                    if self.is_spilled(argument) and isinstance(argument, Reg):
                        phi.args[came] = self.at_end(argument, came)
        for phi in unit.phis:
            if self.is_spilled(phi.result):
                for came, argument in phi.args.items():
                    if not self.is_spilled(argument):
                        came.nodes += self.kept(argument, came)
        unit.phis = [phi for phi in unit.phis if not self.is_spilled(phi.result)]

    def kept(self, argument: Operand, unit: Unit) -> list[Node]:
        """The nodes that keep a phi's argument; a row of the bank comes through a register."""
        if not isinstance(argument, Row):
            return [self.store(argument, unit)]
        through = self.code.reg("spilled", 1, unit.span)
        return [Node("or", argument, result=through, span=unit.span), self.store(through, unit)]

    def unit(self, unit: Unit) -> None:
        """Loads before the nodes that read, stores after those that write.

        A value that a unit writes is kept at once, or, when the unit still reads one that was in the slot before, after
        the last such read; until then the unit reads the register.
        """
        written: dict[int, int] = {}  # by register, where
        last = -1  # the last read of a value from before this unit
        for i, node in enumerate(unit.nodes):
            read = {reg.number for reg in node.reads() if self.is_spilled(reg)} - written.keys()
            last = i if read or node in self.loads else last
            if node.result is not None and self.is_spilled(node.result):
                written[node.result.number] = i
        groups = _groups(unit.nodes)
        nodes: list[Node] = []
        late: list[Node] = []
        for start, end in groups:
            for i in range(start, end):
                kept = {number for number, at in written.items() if at < i <= last}
                nodes += self.reload(unit.nodes[i], kept | self._inside(unit, start, i))
            nodes += unit.nodes[start:end]
            late += [
                self.store(node.result, unit)
                for node in unit.nodes[start:end]
                if node.result is not None and self.is_spilled(node.result)
            ]
            if end > last:
                nodes += late
                late = []
        unit.nodes = nodes

    def _inside(self, unit: Unit, start: int, end: int) -> set[int]:
        """The spilled registers that nodes of one atomic group have written before one of them."""
        results = (node.result for node in unit.nodes[start:end])
        return {reg.number for reg in results if reg is not None and self.is_spilled(reg)}

    def reload(self, node: Node, kept: set[int]) -> list[Node]:
        """Make a node read loaded values, but for those still in a register, and give the loads."""
        loads: dict[int, Node] = {}

        def again(operand: Operand) -> Operand:
            return one(operand) if isinstance(operand, Reg) else operand

        def one(reg: Reg) -> Reg:
            if not self.is_spilled(reg) or reg.number in kept:
                return reg
            if reg.number not in loads:
                loads[reg.number] = self.load(reg)
            return loads[reg.number].result or reg

        node.a, node.b = again(node.a), again(node.b)
        node.data = None if node.data is None else again(node.data)
        if node.guard is not None:
            node.guard = Condition(one(node.guard.reg), node.guard.negated)
        return list(loads.values())


def _groups(nodes: list[Node]) -> list[tuple[int, int]]:
    """The nodes in runs: an atomic group, whatever stands between its nodes, or one node."""
    last = {node.atom: i for i, node in enumerate(nodes) if node.atom}
    runs: list[tuple[int, int]] = []
    start = 0
    while start < len(nodes):
        end = i = start
        while i <= end:
            end = max(end, last.get(nodes[i].atom, i))
            i += 1
        runs.append((start, end + 1))
        start = end + 1
    return runs


def victims(err: TooManyValues, code: Code, classes: Classes, known: int) -> list[int]:
    """The numbers of the registers to spill next: of a value that is long alive and seldom used; none when there is none.

    Args:
        err: what the allocation found.
        code: what it worked on.
        classes: which registers are one.
        known: the highest number that selection gave; registers above are copies and reloads.
    """
    depth = loop_depths(code)
    cost: dict[Reg, float] = dict.fromkeys(err.live, 0.0)
    for unit in code.units:
        for node in unit.nodes:
            touched = [*node.reads(), *([node.result] if node.result is not None else [])]
            for one in {classes(reg) for reg in touched}:
                if one in cost:
                    cost[one] += _LOOP_FACTOR ** depth[unit]
    members: dict[Reg, list[int]] = {one: [] for one in err.live}
    for reg in _registers(code):
        if (one := classes(reg)) in members and reg.number <= known:
            members[one].append(reg.number)
    able = [one for one in err.live if members[one]]
    best = min(able, key=lambda one: (cost[one] / err.spans[one], one.number), default=None)
    return [] if best is None else sorted(set(members[best]))


def _registers(code: Code) -> list[Reg]:
    """Every register of the code."""
    found: dict[Reg, None] = {}
    for unit in code.units:
        for phi in unit.phis:
            found[phi.result] = None
        for node in unit.nodes:
            if node.result is not None:
                found[node.result] = None
    return list(found)
