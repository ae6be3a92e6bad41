"""What went wrong in a launch, with its place: the source line, the threads, the address and the array it is near.

Everything here reads the tokens that an engine generated, so it serves all engines. The machine's reference
interpreter follows them to know which group and lanes a token is about.
"""

from __future__ import annotations

from collections.abc import Iterable

from qgc.diagnostics import QgcError, Span, fail
from qgc.ir.machine.interpreter import Machine
from qgc.ir.machine.isa import OPS, Unit
from qgc.ir.machine.program import EXIT, Program
from qgc.ir.machine.rom import encode_block
from qgc.ir.machine.text import instr_text
from qgc.ir.machine.tokens import Token
from qgc.runtime.launch import Launch

_SHOWN = 16
"""Words of an array that a message shows."""


def loaded(program: Program) -> Machine:
    """A machine whose ROM holds the program already, whether or not a prompt loads it again."""
    machine = Machine(program.config)
    for number, block in enumerate(program.blocks):
        machine.rom[number] = encode_block(program.config, block)
    return machine


class Watch:
    """Follows a launch token by token and raises when something is wrong.

    Feed it every token of the prompts and every generated one; `machine` is the reference interpreter's state.
    """

    def __init__(self, launch: Launch, machine: Machine | None = None) -> None:
        self.launch = launch
        self.machine = machine or loaded(launch.program)
        self.ctaid = 0

    def follow(self, tokens: Iterable[Token]) -> None:
        """Feed generated tokens.

        Raises:
            QgcError: as `step`.
        """
        for token in tokens:
            self.step(token)

    def prompt(self, tokens: Iterable[Token]) -> Token:
        """Feed a prompt and return the answer to its last token."""
        answer = Token("halt")
        for token in tokens:
            answer = self.machine.feed(token)
        return answer

    def step(self, token: Token) -> Token:
        """Feed one generated token and return the next one.

        Raises:
            QgcError: `run-fault` for a fault token, `run-store` for a store that hits no array.
        """
        if token.kind == "fault":
            raise self.fault()
        if token.kind in ("adr", "adr_v"):
            self.check_store(token)
        return self.machine.feed(token)

    def check_store(self, token: Token) -> None:
        """Refuse a store beside all arrays, which the machine itself would carry out."""
        image = self.launch.image
        lanes = [lane for lane, on in enumerate(self.machine.mask) if on]
        for lane in lanes:
            word = token.payload + (lane if token.kind == "adr_v" else 0)
            if image.region_of(word) is None:
                is_known = token.kind == "adr_v" or len(lanes) == 1
                who = self.threads([lane]) if is_known else f"one of {self.threads(lanes)}"
                raise fail(
                    "run-store",
                    f"{who} stores to byte address {4 * word}, {image.near(4 * word)}",
                    self.span(self.launch.program.config.store_stage),
                    f"the array is too short for what the kernel writes, or an index is wrong; {self.so_far()}",
                )

    def fault(self) -> QgcError:
        """The error of a fault token."""
        access = self.machine.fault
        if access is None:
            return fail(
                "run-fault", "the machine reports a fault that the reference interpreter does not see"
            )
        config = self.launch.program.config
        instr = self.launch.program.blocks[access.block].instrs[access.stage]
        verb = "stores to" if OPS[instr.op].unit is Unit.STORE else "loads from"
        if access.address & 3:
            what = f"{verb} byte address {access.address}, which is no multiple of 4"
        else:
            near = self.launch.image.near(access.address)
            what = f"{verb} byte address {access.address}, {near}; memory ends at {4 * config.words}"
        return fail(
            "run-fault",
            f"{self.threads([access.lane])} {what} (block {access.block} of the program, stage {access.stage}: "
            f"{instr_text(instr).split(' @')[0]})",
            instr.span,
            f"check the index and the length of the array; {self.so_far()}",
        )

    def exhausted(self, budget: int) -> QgcError:
        """The error of a launch that did not end within its budget of generated tokens."""
        machine = self.machine
        alive = [lane for lane, (block, _) in enumerate(machine.where(machine.group)) if block != EXIT]
        where = f"still going: {self.threads(alive)}, at block {machine.block} of the program"
        return fail(
            "run-budget",
            f"the kernel did not end within {budget} tokens; {where}",
            self.span(),
            f"a loop may never end; allow more tokens if it does; {self.so_far()}",
        )

    def threads(self, lanes: list[int]) -> str:
        """Threads of the current group by number, and the block of the grid when there are several."""
        base = self.machine.group * self.launch.program.config.lanes
        numbers = ", ".join(str(base + lane) for lane in lanes)
        shown = f"thread{'s' if len(lanes) != 1 else ''} {numbers}"
        if len(self.launch.prompts) == 1:
            return shown
        x, y, z = list(self.launch.geometry.blocks())[self.ctaid]
        return f"{shown} of block ({x}, {y}, {z})"

    def span(self, stage: int | None = None) -> Span | None:
        """The source of a stage of the current block, or of its first operation that has one."""
        instrs = self.launch.program.blocks[self.machine.block].instrs
        chosen = instrs if stage is None else instrs[stage : stage + 1]
        return next((instr.span for instr in chosen if instr.span is not None), None)

    def so_far(self) -> str:
        """The arrays as they are now."""
        arrays = self.launch.read(self.machine.memory)
        shown = []
        for name, array in arrays.items():
            values = [str(value) for value in array.ravel()[:_SHOWN]]
            shown.append(f"{name} = {' '.join(values)}{' ...' if array.size > _SHOWN else ''}")
        return f"so far: {'; '.join(shown)}" if shown else "there are no arrays"


class SomethingWrongError(Exception):
    """A launch went wrong; who runs it again with a `Watch` learns what and where."""


class Guard:
    """Notices what a `Watch` would raise for, at a hundredth of its cost and without knowing what it was.

    It needs no interpreter: a store names its words, and the last exec token the lanes.
    """

    def __init__(self, launch: Launch) -> None:
        config, image = launch.program.config, launch.image
        self.ctaid = 0
        self._lanes = range(config.lanes)
        self._inside = {word for word in range(config.words) if image.region_of(word) is not None}
        self._exec = 0

    def prompt(self, tokens: Iterable[Token]) -> None:
        """A prompt is the host's own."""

    def follow(self, tokens: Iterable[Token]) -> None:
        """Look at generated tokens.

        Raises:
            SomethingWrongError: a fault, or a store beside all arrays.
        """
        for token in tokens:
            kind = token.kind
            if kind == "exec":
                self._exec = token.payload
            elif kind == "adr":
                if token.payload not in self._inside:
                    raise SomethingWrongError
            elif kind == "adr_v":
                if any(self._exec >> i & 1 and token.payload + i not in self._inside for i in self._lanes):
                    raise SomethingWrongError
            elif kind == "fault":
                raise SomethingWrongError

    def exhausted(self, _budget: int) -> SomethingWrongError:
        """The budget ran out."""
        return SomethingWrongError()
