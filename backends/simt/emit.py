"""The last step to a `Program`: operands by name, the constant bank, block numbers, branches."""

from __future__ import annotations

from qgc.backends.simt.allocate import Allocation
from qgc.backends.simt.coalesce import Classes
from qgc.backends.simt.code import COPY, Code, Condition, Fixed, Node, Operand, Reg, Row, Unit
from qgc.backends.simt.form import Draft
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.program import ALWAYS, EXIT, Block, Branch, Guard, Instr, LiveOut, Program, Wait


def emit(
    code: Code, drafts: list[Draft], classes: Classes, allocation: Allocation, config: MachineConfig
) -> Program:
    """Write out the blocks, numbered in the order of the drafts."""
    emitter = _Emitter(drafts, classes, allocation)
    blocks = tuple(emitter.block(number, draft) for number, draft in enumerate(drafts))
    return Program(
        config, code.kernel, code.params, tuple(emitter.rows), blocks, code.shared, code.frame, code.tables
    )


class _Emitter:
    def __init__(self, drafts: list[Draft], classes: Classes, allocation: Allocation) -> None:
        self.classes = classes
        self.allocation = allocation
        self.rows: dict[int | str, int] = {}
        self.number: dict[Unit, int] = {}
        for number, draft in enumerate(drafts):
            self.number.setdefault(draft.unit, number)

    def block(self, number: int, draft: Draft) -> Block:
        """One machine block."""
        stage_of = {node.result: stage for node, stage in draft.stages.items() if node.result is not None}
        instrs: dict[int, Instr] = {}
        for node, stage in draft.stages.items():
            if node.op != COPY or node.a not in stage_of:
                instrs[stage] = self.instr(node, stage_of)
        last = max((stage for stage, instr in instrs.items() if instr.op != "nop"), default=-1)
        row = tuple(instrs.get(stage, Instr("nop")) for stage in range(last + 1))
        outs = [
            LiveOut(self.allocation.registers[self.classes(reg)], stage_of[reg])
            for reg in self.allocation.writes[draft]
        ]
        outs.sort(key=lambda out: (out.stage, out.register))
        return Block(row, tuple(outs), self.branch(number, draft, stage_of), draft.is_serial)

    def instr(self, node: Node, stage_of: dict[Reg, int]) -> Instr:
        """One operation; a copy reads a register through `or`."""
        op = "or" if node.op == COPY else node.op
        operands = (node.a, node.b, node.data)
        const = next(
            (self.rows.setdefault(o.value, len(self.rows)) for o in operands if isinstance(o, Row)), None
        )
        data = None if node.data is None else self.source(node.data, stage_of)
        a, b = self.source(node.a, stage_of), self.source(node.b, stage_of)
        return Instr(op, a, b, data, const, self.guard(node.guard, stage_of), node.span)

    def source(self, operand: Operand, stage_of: dict[Reg, int]) -> str:
        """The source name of an operand."""
        if isinstance(operand, Fixed):
            return operand.name
        if isinstance(operand, Row):
            return "k"
        if operand in stage_of:
            return f"f{stage_of[operand]}"
        return f"r{self.allocation.registers[self.classes(operand)]}"

    def guard(self, condition: Condition | None, stage_of: dict[Reg, int]) -> Guard:
        """The guard of a condition; none is always true."""
        if condition is None:
            return ALWAYS
        return Guard(self.source(condition.reg, stage_of), condition.negated)

    def branch(self, number: int, draft: Draft, stage_of: dict[Reg, int]) -> Branch:
        """Where the block leads: on to the next one, or to the targets of its unit."""
        if not draft.is_last:
            return Branch(number + 1)
        units = draft.unit.targets
        targets = [EXIT if unit is None else self.number[unit] for unit in units]
        waits = [Wait.NONE if unit is None else unit.wait for unit in units]
        if draft.unit.condition is None or targets[0] == targets[-1]:
            return Branch(targets[0], taken_wait=waits[0])
        guard = self.guard(draft.unit.condition, stage_of)
        return Branch(targets[0], targets[1], guard, waits[0], waits[1])
