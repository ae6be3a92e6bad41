"""What holds for every `Program` that a launch accepts. Each line is one stable code.

    blocks-name       kernel and parameters have PTX names, and no two parameters the same
    blocks-empty      there is a block 0
    blocks-rom        the blocks fit the program ROM
    blocks-bank       the constants fit the constant bank
    blocks-const      a row of the bank holds a 32-bit word, a launch constant, or a declared parameter with an addend
    blocks-stages     a block has at most `stages` operations, and the last one is not `nop`
    blocks-op         every operation is in the table
    blocks-unit       an operation stands in a stage that has its unit: stores in the store stage alone, products in the
                      multiply stages, reversals in the first one
    blocks-operand    operands are sources of the machine (registers in range)
    blocks-forward    a forwarded result comes from an earlier stage
    blocks-latency    a product is forwarded no sooner than `multiply_latency` stages later
    blocks-const-row  `k` is read exactly where a row is named, and the program fills that row
    blocks-data       stores have data, and nothing else has
    blocks-guard      guards read registers or forwarded results, and only guarded operations have one
    blocks-live-out   at most `stages` live-outs, of stages that exist, to different registers that exist, never r0
    blocks-target     branches lead to blocks of the program, or to exit
    blocks-wait       lanes wait neither before exit nor before a serial block, which would let them go one by one

Everything is checked, and all faults are reported in program order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qgc.diagnostics import Diagnostic, Span, VerifyError
from qgc.ir.machine.isa import OPS, SourceTable, Unit, unit_stages
from qgc.ir.machine.program import ALWAYS, EXIT, Block, Guard, Instr, Program, Wait
from qgc.ir.machine.symbols import NAME, SYMBOLS, is_hidden, param_symbol
from qgc.ir.machine.text import parse_with_places


def verify(program: Program, places: Mapping[str, Span] | None = None) -> None:
    """Check every invariant of this module.

    Args:
        program: the program.
        places: where its parts stand in a text (`text.parse_with_places`); without it, an operation's own source
            location is the place.

    Raises:
        VerifyError: all faults.
    """
    faults = list(_Checker(program, places or {}).faults())
    if faults:
        raise VerifyError(*faults)


def load(text: str, file: str = "<blocks>") -> Program:
    """Parse a program and verify it, with faults placed in the text.

    Raises:
        QgcError: what `text.parse` and `verify` raise.
    """
    program, places = parse_with_places(text, file)
    verify(program, places)
    return program


@dataclass(frozen=True, slots=True)
class _Use:
    """One source that an operation (or a branch, which comes after the last stage) reads."""

    role: str
    source: str
    stage: int


class _Checker:
    def __init__(self, program: Program, places: Mapping[str, Span]) -> None:
        self.program = program
        self.config = program.config
        self.places = places
        self.sources = SourceTable(program.config)

    def _fault(
        self, code: str, place: str, message: str, hint: str | None = None, span: Span | None = None
    ) -> Diagnostic:
        return Diagnostic(f"blocks-{code}", f"{place}: {message}", self.places.get(place, span), hint)

    def faults(self) -> Iterator[Diagnostic]:
        """Every fault, in program order."""
        yield from self._names()
        yield from self._sizes()
        yield from self._bank()
        for number, block in enumerate(self.program.blocks):
            yield from self._block(number, block)

    def _names(self) -> Iterator[Diagnostic]:
        if not NAME.fullmatch(self.program.kernel):
            yield self._fault("name", "kernel", f"{self.program.kernel!r} is not a name")
        seen: list[str] = []
        for i, param in enumerate(self.program.params):
            if not NAME.fullmatch(param.name):
                yield self._fault("name", f"param {i}", f"{param.name!r} is not a name")
            if param.name in seen:
                yield self._fault("name", f"param {i}", f"a second parameter is called {param.name!r}")
            seen.append(param.name)

    def _sizes(self) -> Iterator[Diagnostic]:
        program, config = self.program, self.config
        blocks, consts = len(program.blocks), len(program.consts)
        if not blocks:
            yield self._fault("empty", "kernel", "the program has no block")
        if blocks > config.blocks:
            yield self._fault(
                "rom",
                "kernel",
                f"program too large: {program.kernel} needs {blocks} blocks, the ROM of {config.name} has "
                f"{config.blocks}",
                "choose a machine with more blocks, or split the kernel",
            )
        if consts > config.consts:
            yield self._fault(
                "bank",
                "kernel",
                f"program too large: {program.kernel} needs {consts} constants, the bank of {config.name} has "
                f"{config.consts}",
                "choose a machine with more constants, or load constants from an array",
            )

    def _bank(self) -> Iterator[Diagnostic]:
        declared = [param.name for param in self.program.params]
        for row, value in enumerate(self.program.consts):
            place = f"const {row}"
            if isinstance(value, int):
                if not 0 <= value < 1 << 32:
                    yield self._fault("const", place, f"{value} is not an unsigned 32-bit word")
            elif (symbol := param_symbol(value)) is not None:
                if symbol.name not in declared and not is_hidden(symbol.name):
                    hint = f"parameters: {', '.join(declared) or 'none'}"
                    yield self._fault("const", place, f"no parameter {symbol.name!r}", hint)
            elif value not in SYMBOLS:
                hint = f"symbols: param NAME, {', '.join(SYMBOLS)}"
                yield self._fault("const", place, f"unknown symbol {value!r}", hint)

    def _block(self, number: int, block: Block) -> Iterator[Diagnostic]:
        name, stages = f"block {number}", self.config.stages
        if len(block.instrs) > stages:
            yield self._fault("stages", name, f"{len(block.instrs)} operations; a block has {stages} stages")
        if block.instrs and block.instrs[-1].op == "nop":
            yield self._fault("stages", name, "the last operation is nop; leave it out")
        for stage, instr in enumerate(block.instrs):
            yield from self._instr(block, f"{name} stage {stage}", stage, instr)
        yield from self._live_outs(name, block)
        yield from self._branch(f"{name} branch", block)

    def _instr(self, block: Block, place: str, stage: int, instr: Instr) -> Iterator[Diagnostic]:
        spec = OPS.get(instr.op)
        if spec is None:
            hint = f"operations: {', '.join(OPS)}"
            yield self._fault("op", place, f"unknown operation {instr.op!r}", hint, instr.span)
            return
        config = self.config
        allowed = unit_stages(config, spec.unit)
        if stage not in allowed and stage < config.stages:
            where = ", ".join(map(str, allowed)) or "none"
            message = f"{instr.op} in stage {stage}; stages with a {spec.unit.value} unit: {where}"
            yield self._fault("unit", place, message, span=instr.span)
        if (instr.data is not None) != (spec.unit is Unit.STORE):
            message = f"{instr.op} stores nothing" if instr.data else f"{instr.op} has no data to store"
            yield self._fault("data", place, message, span=instr.span)
        if instr.guard != ALWAYS and not spec.guarded:
            message = f"{instr.op} takes no guard"
            hint = f"guarded operations: {', '.join(n for n, s in OPS.items() if s.guarded)}"
            yield self._fault("guard", place, message, hint, instr.span)
        operands = [_Use("operand A", instr.a, stage), _Use("operand B", instr.b, stage)]
        if instr.data is not None:
            operands.append(_Use("data", instr.data, stage))
        yield from self._const_row(place, instr, operands)
        for use in operands:
            yield from self._use(block, place, use, instr.span)
        yield from self._guard(block, place, instr.guard, stage, instr.span)

    def _const_row(self, place: str, instr: Instr, operands: list[_Use]) -> Iterator[Diagnostic]:
        is_read = any(use.source == "k" for use in operands)
        rows = len(self.program.consts)
        if is_read and (instr.const is None or not 0 <= instr.const < rows):
            row = "no row" if instr.const is None else f"row {instr.const}"
            message = f"k names {row} of the constant bank; the program fills {rows}"
            yield self._fault("const-row", place, message, span=instr.span)
        if not is_read and instr.const is not None:
            message = f"row {instr.const} is named but no operand is k"
            yield self._fault("const-row", place, message, span=instr.span)

    def _guard(
        self, block: Block, place: str, guard: Guard, stage: int, span: Span | None
    ) -> Iterator[Diagnostic]:
        if guard.source in ("k", "tid"):
            message = f"the guard reads {guard.source}"
            hint = "a guard reads bit 0 of a register or of a forwarded result"
            yield self._fault("guard", place, message, hint, span)
            return
        yield from self._use(block, place, _Use("guard", guard.source, stage), span)
        number = self.sources.numbers.get(guard.source, 0)
        if self.config.guard_rows <= number < self.config.registers:
            message = f"the guard reads {guard.source}; guards of {self.config.name} read r0 to r{self.config.predicates}"
            yield self._fault("guard", place, message, span=span)

    def _use(self, block: Block, place: str, use: _Use, span: Span | None) -> Iterator[Diagnostic]:
        config = self.config
        if use.source not in self.sources.numbers:
            message = f"{use.role} {use.source!r} is no source of {config.name}"
            hint = f"sources: r0 to r{config.registers - 1}, f0 to f{config.stages - 1}, k, tid"
            yield self._fault("operand", place, message, hint, span)
            return
        origin = self.sources.stage(use.source)
        if origin is None:
            return
        if origin >= use.stage:
            message = f"{use.role} {use.source} is not the result of an earlier stage"
            yield self._fault("forward", place, message, span=span)
            return
        spec = OPS.get(block.instrs[origin].op) if origin < len(block.instrs) else None
        if spec and spec.unit is Unit.MULTIPLY and use.stage - origin < config.multiply_latency:
            message = (
                f"{use.role} {use.source} is a product of stage {origin}, read in stage {use.stage}; "
                f"it can be forwarded {config.multiply_latency} stages later"
            )
            yield self._fault("latency", place, message, span=span)

    def _live_outs(self, name: str, block: Block) -> Iterator[Diagnostic]:
        config, seen = self.config, list[int]()
        if len(block.live_outs) > config.stages:
            message = f"{len(block.live_outs)} live-outs; a block has at most {config.stages}"
            yield self._fault("live-out", name, message)
        for i, out in enumerate(block.live_outs):
            place = f"{name} live-out {i}"
            if not 1 <= out.register < config.registers:
                message = f"r{out.register} cannot be written"
                hint = f"registers: r1 to r{config.registers - 1}; r0 is always zero"
                yield self._fault("live-out", place, message, hint)
            if out.register in seen:
                yield self._fault("live-out", place, f"r{out.register} is written twice")
            if not 0 <= out.stage < config.stages:
                yield self._fault("live-out", place, f"there is no stage {out.stage}")
            seen.append(out.register)

    def _branch(self, place: str, block: Block) -> Iterator[Diagnostic]:
        branch, count = block.branch, len(self.program.blocks)
        for target in (branch.taken, branch.other):
            if target != EXIT and not 0 <= target < count:
                message = f"no block {target}; the program has {count}"
                yield self._fault("target", place, message)
        waits = ((branch.taken, branch.taken_wait), (branch.other, branch.other_wait))
        yield from (fault for target, wait in waits if wait for fault in self._wait(place, target, wait))
        yield from self._guard(block, place, branch.guard, self.config.stages, None)

    def _wait(self, place: str, target: int, wait: Wait) -> Iterator[Diagnostic]:
        blocks = self.program.blocks
        name = wait.name.lower()
        if target == EXIT:
            yield self._fault("wait", place, f"lanes wait for their {name} and then only end")
        elif 0 <= target < len(blocks) and blocks[target].serial:
            hint = "put a block without operations between the two"
            yield self._fault(
                "wait", place, f"lanes wait for their {name} before serial block {target}", hint
            )
