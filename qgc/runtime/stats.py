"""What a program costs: blocks, registers, tokens, and tokens for each operation that a thread executes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from qgc.ir.machine.program import Program
from qgc.ir.machine.tokens import Token
from qgc.runtime.isa import Run


@dataclass(frozen=True, slots=True)
class Stats:
    """The cost of one launch.

    Attributes:
        kernel: its name.
        blocks: rows of the program ROM.
        registers: machine registers that are written.
        constants: rows of the constant bank.
        prompt: tokens that the host feeds.
        answers: tokens that the machine generates.
        executed: `exec` tokens among them.
        operations: operations that threads execute, `nop` not counted.
        issued: the same, once for all lanes of a group that execute it together.
    """

    kernel: str
    blocks: int
    registers: int
    constants: int
    prompt: int
    answers: int
    executed: int
    operations: int
    issued: int

    @property
    def tokens_per_operation(self) -> float:
        """Generated tokens for each operation of a thread."""
        return self.answers / self.operations if self.operations else float("inf")

    @property
    def tokens_per_issue(self) -> float:
        """Generated tokens for each operation of a group of lanes."""
        return self.answers / self.issued if self.issued else float("inf")


def stats(program: Program, run: Run) -> Stats:
    """Count what a finished launch took."""
    answers = run.answers
    written = {out.register for block in program.blocks for out in block.live_outs}
    executed = [token for token in answers if token.kind == "exec"]
    operations = [_operations(program, token) for token in executed]
    return Stats(
        program.kernel,
        len(program.blocks),
        len(written),
        len(program.consts),
        len(run.tokens) - len(answers),
        len(answers),
        len(executed),
        sum(count * lanes for count, lanes in operations),
        sum(count for count, _ in operations),
    )


def _operations(program: Program, token: Token) -> tuple[int, int]:
    """Operations of one EXEC token, those of its block, and how many lanes run them."""
    lanes = program.config.lanes
    block = program.blocks[token.payload >> lanes]
    active = (token.payload & ((1 << lanes) - 1)).bit_count()
    return sum(instr.op != "nop" for instr in block.instrs), 1 if block.serial else active


_COLUMNS = ("blocks", "registers", "constants", "prompt", "answers", "executed", "operations", "issued")


def table(rows: Iterable[Stats]) -> str:
    """The statistics as a text table, one launch a line."""
    heads = ("kernel", *_COLUMNS, "tokens/op", "tokens/issue")
    lines: list[tuple[str, ...]] = [heads]
    for row in rows:
        numbers = (str(getattr(row, name)) for name in _COLUMNS)
        ratios = (f"{ratio:.2f}" for ratio in (row.tokens_per_operation, row.tokens_per_issue))
        lines.append((row.kernel, *numbers, *ratios))
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    text = []
    for line in lines:
        cells = [
            line[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True)),
        ]
        text.append("  ".join(cells) + "\n")
    return "".join(text)
