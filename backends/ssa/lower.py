"""Kernels of a PTX module to SSA functions: blocks, instructions, then phis for the registers.

Instructions are lowered block by block by the tables in arithmetic.py, moves.py and memory.py. Registers become values by
pruned SSA construction: a phi stands where definitions meet (the iterated dominance frontier) and the register is
still read. A register that is read before it is written holds 0.
"""

from __future__ import annotations

from collections.abc import Callable

from qgc.backends.ssa.arithmetic import ARITHMETIC
from qgc.backends.ssa.collective import COLLECTIVES
from qgc.backends.ssa.context import Context, type_of
from qgc.backends.ssa.memory import GUARDABLE, MEMORY
from qgc.backends.ssa.moves import MOVES
from qgc.backends.ssa.variables import layout_symbols
from qgc.diagnostics import fail
from qgc.ir.ptx import ast
from qgc.ir.ptx.ast import Instruction, Reg, Symbol
from qgc.ir.ptx.flat import FlatFunction, flatten
from qgc.ir.ptx.kernels import find_kernel, ptx_params
from qgc.ir.ssa.cfg import Cfg
from qgc.ir.ssa.function import Block, Builder, Function, Module, Op, Param, Value, const, make

LOWERINGS: dict[str, Callable[[Context], None]] = {**ARITHMETIC, **MOVES, **MEMORY, **COLLECTIVES}
_ENDS = ("bra", "ret", "exit", "brx")
_BRANCHED_AROUND = (*(opcode for opcode in MEMORY if opcode not in GUARDABLE), *COLLECTIVES)

_HINTS = {
    "call": "let the CUDA compiler inline device functions (__forceinline__)",
    "trap": "remove assert() and __trap()",
    "tex": "textures do not exist here; load from global memory",
    "fma": "the machine computes on integers",
}
_HINT = "the kernel has to do without it"


def lower_module(module: ast.Module, kernel: str | None = None) -> Module:
    """Lower all kernels of a verified module, or the one that is named.

    Raises:
        QgcError: `kernel-missing`, or `ptx-unsupported` at an instruction that has no lowering.
    """
    kernels = [find_kernel(module, kernel)] if kernel is not None else list(module.kernels)
    if not kernels:
        find_kernel(module)
    return Module([lower_kernel(module, k) for k in kernels])


def lower_kernel(module: ast.Module, kernel: ast.Function) -> Function:
    """Lower one kernel of a verified module."""
    flat = flatten(kernel)
    params = tuple(_param(kernel, layout.name, layout.offset, layout.size) for layout in ptx_params(kernel))
    symbols = layout_symbols(module, flat)
    context = Context(flat, symbols, {p.name: p for p in params}, _generic_is_global(flat))
    function = Function(kernel.name, module.file, params, tuple(dict.fromkeys(symbols.values())))
    function.blocks = _Blocks(context).build()
    _drop_unreachable(function)
    _place_phis(function, context)
    return function


def _param(kernel: ast.Function, name: str, offset: int, size: int) -> Param:
    declared = next(p for p in kernel.params if p.name == name)
    element = (
        f"{declared.type}" if not declared.dims else f"{declared.type}[{size * 8 // _bits(declared.type)}]"
    )
    return Param(name, element, offset, size, declared.pointer is not None)


def _bits(type_name: str) -> int:
    return int("".join(ch for ch in type_name if ch.isdigit()))


def _generic_is_global(flat: FlatFunction) -> bool:
    """Whether the kernel never makes a generic address of another state space."""
    return not any(
        i.opcode == "cvta" and "to" not in i.modifiers and "global" not in i.modifiers for i in flat.code
    )


class _Blocks:
    """Cuts the instructions of a kernel into blocks and lowers each."""

    def __init__(self, context: Context) -> None:
        self.context = context
        context.open = self.open
        self.code = context.flat.code
        self.starts = self._starts()
        self.names = {at: name for name, at in reversed(context.flat.labels.items())}
        self.blocks = {at: Block(self._name(at)) for at in self.starts}
        self.result: list[Block] = []

    def _starts(self) -> list[int]:
        """The places where a block begins; one past the end is the implicit return."""
        starts = {0, len(self.code), *self.context.flat.labels.values()}
        for i, instruction in enumerate(self.code):
            if instruction.opcode in _ENDS:
                starts.add(i + 1)
            elif instruction.guard is not None and instruction.opcode in _BRANCHED_AROUND:
                starts.update((i, i + 1))
        return sorted(starts)

    def _name(self, at: int) -> str:
        if at in self.names:
            return self.names[at].lstrip("$%")
        if at == 0:
            return "entry"
        span = self.code[at].span if at < len(self.code) else None
        return f"line{span.line}" if span else "end"

    def build(self) -> list[Block]:
        """Lower everything; an entry that branches reach gets an empty block before it."""
        if 0 in self.names:
            self.open(Block("entry"))
            self.end("br", blocks=[self.blocks[0]])
        for start, end in zip(self.starts, [*self.starts[1:], len(self.code)], strict=True):
            self.open(self.blocks[start])
            for at in range(start, end):
                self.instruction(at)
            if not self.context.block.ops or not self.context.block.terminator.spec.terminator:
                self.fall_through(end)
        return self.result

    def open(self, block: Block) -> None:
        """Append to `block` from here on."""
        self.result.append(block)
        self.context.block = block
        self.context.builder = Builder(block.ops, self.context.builder.span)

    def end(self, op: str, *operands: Value, blocks: list[Block] | None = None) -> None:
        self.context.builder.effect(op, *operands, blocks=blocks or [])

    def fall_through(self, end: int) -> None:
        if self.context.block is self.blocks[len(self.code)]:
            self.end("ret")
        else:
            self.end("br", blocks=[self.blocks[end]])

    def instruction(self, at: int) -> None:
        context, instruction = self.context, self.code[at]
        context.instruction = instruction
        context.builder.span = instruction.span
        context.builder.hint = _result_name(instruction)
        guard = self.guard(instruction)
        if instruction.opcode in _ENDS:
            self.control(at, guard)
        elif guard is not None and instruction.opcode in _BRANCHED_AROUND:
            inside = Block(f"{context.block.name}.then")
            self.end("cbr", guard, blocks=[inside, self.blocks[at + 1]])
            self.open(inside)
            self.lower(instruction, None)
        else:
            self.lower(instruction, guard)

    def guard(self, instruction: Instruction) -> Value | None:
        if instruction.guard is None:
            return None
        value = self.context.read_register(instruction.guard.reg.name)
        return self.context.builder.negate(value) if instruction.guard.negated else value

    def lower(self, instruction: Instruction, guard: Value | None) -> None:
        lowering = LOWERINGS.get(instruction.opcode)
        if lowering is None:
            raise self.context.unsupported(_HINTS.get(instruction.opcode, _HINT))
        self.context.guard = guard
        try:
            lowering(self.context)
        except ValueError as error:
            raise fail("ptx-operands", f"{instruction.name}: {error}", instruction.span) from error

    def control(self, at: int, guard: Value | None) -> None:
        """`bra`, `brx.idx`, `ret`, `exit`, with or without a guard."""
        instruction, following = self.code[at], self.blocks[at + 1]
        if guard is not None and instruction.opcode != "bra":
            inside = Block(f"{self.context.block.name}.then")
            self.end("cbr", guard, blocks=[inside, following])
            self.open(inside)
        if instruction.opcode == "brx":
            self.switch(instruction)
        elif instruction.opcode != "bra":
            self.end("ret")
        else:
            target = self.blocks[self.context.flat.labels[_target(instruction)]]
            if guard is None:
                self.end("br", blocks=[target])
            else:
                self.end("cbr", guard, blocks=[target, following])

    def switch(self, instruction: Instruction) -> None:
        """`brx.idx`: compare the index with each place of the table; past the end the last target is taken."""
        index, table = instruction.operands
        if not isinstance(index, Reg) or not isinstance(table, Symbol):
            raise self.context.unsupported("brx.idx takes a register and a table of labels")
        value = self.context.read_register(index.name)
        targets = [self.blocks[self.context.flat.labels[t]] for t in self.context.flat.tables[table.name]]
        first = self.context.block
        for number, target in enumerate(targets[:-1]):
            following = Block(f"{first.name}.case{number + 1}")
            self.end("cbr", self.context.emit("icmp.eq", value, number), blocks=[target, following])
            self.open(following)
        self.end("br", blocks=[targets[-1]])


def _target(instruction: Instruction) -> str:
    target = instruction.operands[0]
    if isinstance(target, Symbol):
        return target.name
    raise fail("ptx-unsupported", f"{instruction.name} to no label", instruction.span, "branch to a label")


def _result_name(instruction: Instruction) -> str:
    first = instruction.operands[0] if instruction.operands else None
    return first.name.lstrip("%") if isinstance(first, Reg) else ""


def _drop_unreachable(function: Function) -> None:
    reached = Cfg(function).index
    function.blocks = [block for block in function.blocks if block in reached]


# Registers to values


def _live_registers(function: Function, context: Context) -> dict[Block, dict[str, None]]:
    """The registers that each block, or one after it, reads before they are written."""
    cfg = Cfg(function)
    live = {block: dict.fromkeys(context.pending.get(block, {})) for block in cfg.order}
    work = list(cfg.order)
    while work:
        block = work.pop()
        for predecessor in cfg.predecessors[block]:
            new = [
                name
                for name in live[block]
                if name not in live[predecessor] and name not in context.written.get(predecessor, {})
            ]
            if new:
                live[predecessor].update(dict.fromkeys(new))
                work.append(predecessor)
    return live


def _place_phis(function: Function, context: Context) -> None:
    cfg = Cfg(function)
    live = _live_registers(function, context)
    phis: dict[Block, dict[str, Op]] = {block: {} for block in cfg.order}
    for name in _registers(context):
        work = [block for block in cfg.order if name in context.written.get(block, {})]
        for block in work:
            for join in cfg.frontiers[block]:
                if name in live[join] and name not in phis[join]:
                    ty = type_of(context.register_type(name))
                    phi = make("phi", ty=ty, hint=name.lstrip("%"), span=join.ops[0].span)
                    phis[join][name] = phi
                    work.append(join)
    _rename(function, context, cfg, phis)


def _registers(context: Context) -> list[str]:
    """Every register that is written, in the order of first writing."""
    return list(dict.fromkeys(name for written in context.written.values() for name in written))


def _rename(function: Function, context: Context, cfg: Cfg, phis: dict[Block, dict[str, Op]]) -> None:
    """Give each pending read the value that reaches its block, and each phi its operands."""
    leaving: dict[Block, dict[str, Value]] = {}
    known: dict[Value, Value] = {}
    for block in cfg.dominator_preorder:
        entering = dict(leaving[cfg.idom[block]]) if block in cfg.idom else {}
        entering |= {name: phi.result for name, phi in phis[block].items() if phi.result is not None}
        for name, pending in context.pending.get(block, {}).items():
            known[pending] = entering.get(name) or const(pending.ty, 0)
        written = context.written.get(block, {})
        leaving[block] = entering | {name: known.get(value, value) for name, value in written.items()}
    for block in cfg.order:
        for name, phi in phis[block].items():
            for predecessor in cfg.predecessors[block]:
                zero = const(type_of(context.register_type(name)), 0)
                phi.operands.append(leaving[predecessor].get(name, zero))
                phi.blocks.append(predecessor)
        block.ops[:0] = phis[block].values()
    function.replace_uses(known)
