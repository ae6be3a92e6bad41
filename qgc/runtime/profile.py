"""Where a launch's tokens go: for each block and each cause, with what they bought.

Causes: `exec` runs a block; `val` sends live-outs back to the registers; `mem` stores; `control` changes the group, ends the
launch or stops it. A token counts for the block that ran last; what comes before any block counts for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from qgc.ir.machine.program import Block, Program
from qgc.ir.machine.tokens import Token

if TYPE_CHECKING:
    from qgc.runtime.isa import Run
    from qgc.runtime.sparse.layers import LayerCost

CAUSES = ("exec", "val", "mem", "control")
_CAUSE = {
    "exec": "exec",
    "val_v": "val",
    "val_u": "val",
    "adr": "mem",
    "adr_v": "mem",
    "mem_s": "mem",
    "mem_v": "mem",
    "warp": "control",
    "halt": "control",
    "fault": "control",
}
"""Of each kind that begins something; `more` and `rest` go on with the value before them."""


@dataclass(slots=True)
class ValueCost:
    """A live-out of a block, or its stores: how often it was sent, in how many slices, and the longest of them."""

    sent: int = 0
    slices: int = 0
    longest: int = 0
    _length: int = 0

    def begin(self) -> None:
        """A value begins with its first slice."""
        self.sent += 1
        self._length = 0
        self.go_on()

    def go_on(self) -> None:
        """One more slice."""
        self.slices += 1
        self._length += 1
        self.longest = max(self.longest, self._length)


@dataclass(slots=True)
class BlockCost:
    """What one block cost.

    Attributes:
        number: of the block.
        block: the block itself.
        place: the source line of its first operation that has one.
        tokens: generated tokens by cause.
        operations: machine operations that a group executed, `nop` not counted.
        lane_operations: the same, once for each lane that took part.
        lanes: the sum of the lanes over all runs of the block.
        values: one for each live-out.
        stores: `adr` (a word at an address of its own) and `adr_v` (a word a lane, one after another).
    """

    number: int
    block: Block
    place: str
    tokens: dict[str, int] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0))
    operations: int = 0
    lane_operations: int = 0
    lanes: int = 0
    values: list[ValueCost] = field(default_factory=list)
    stores: dict[str, ValueCost] = field(default_factory=lambda: {"adr": ValueCost(), "adr_v": ValueCost()})

    @property
    def total(self) -> int:
        """All its tokens."""
        return sum(self.tokens.values())

    @property
    def useful(self) -> int:
        """Operations of one run, `nop` not counted."""
        return sum(instr.op != "nop" for instr in self.block.instrs)

    def execute(self, lanes: int) -> None:
        """One run for so many lanes; a serial block runs for the lowest of them alone."""
        at_work = 1 if self.block.serial else lanes
        self.lanes += lanes
        self.operations += self.useful
        self.lane_operations += self.useful * at_work


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """The cost of a launch.

    Attributes:
        program: what ran.
        prompt: tokens that the host fed.
        blocks: one for each block of the program.
        outside: generated tokens that no block is to blame for.
        layers: time and work of each layer, of the engine `fast`.
    """

    program: Program
    prompt: int
    blocks: tuple[BlockCost, ...]
    outside: int
    layers: tuple[LayerCost, ...] = ()

    @property
    def generated(self) -> int:
        """Tokens that the machine wrote."""
        return self.outside + sum(block.total for block in self.blocks)

    @property
    def operations(self) -> int:
        """Machine operations that groups executed."""
        return sum(block.operations for block in self.blocks)

    @property
    def lane_operations(self) -> int:
        """Machine operations that lanes executed."""
        return sum(block.lane_operations for block in self.blocks)

    def by_cause(self) -> dict[str, int]:
        """Generated tokens by cause; those outside all blocks are control."""
        totals = {cause: sum(block.tokens[cause] for block in self.blocks) for cause in CAUSES}
        totals["control"] += self.outside
        return totals


def profile(program: Program, run: Run, layers: Sequence[LayerCost] = ()) -> Profile:
    """Count the tokens of a finished launch."""
    counter = _Counter(program)
    prompt = 0
    for token, is_generated in zip(run.tokens, run.generated, strict=True):
        if is_generated:
            counter.count(token)
        else:
            counter.begin_prompt()
            prompt += 1
    return Profile(program, prompt, tuple(counter.blocks), counter.outside, tuple(layers))


class _Counter:
    """Follows a stream, token by token."""

    def __init__(self, program: Program) -> None:
        self.blocks = [
            BlockCost(number, block, _place(block), values=[ValueCost() for _ in block.live_outs])
            for number, block in enumerate(program.blocks)
        ]
        self.outside = 0
        self._lanes = program.config.lanes
        self._block: BlockCost | None = None
        self._cause = "control"
        self._value: ValueCost | None = None
        self._live_out = 0
        self._store = "adr"

    def begin_prompt(self) -> None:
        """The host speaks; no block runs."""
        self._block = None

    def count(self, token: Token) -> None:
        """Count one generated token."""
        self._cause = _CAUSE.get(token.kind, self._cause)
        if token.kind == "exec":
            self._block = self.blocks[token.payload >> self._lanes]
            self._block.execute((token.payload & ((1 << self._lanes) - 1)).bit_count())
            self._live_out = 0
        if self._block is None:
            self.outside += 1
            return
        self._block.tokens[self._cause] += 1
        self._count_slice(self._block, token.kind)

    def _count_slice(self, block: BlockCost, kind: str) -> None:
        if kind in ("more", "rest"):
            if self._value is not None:
                self._value.go_on()
            return
        self._value = None
        if kind in block.stores:
            self._store = kind
        elif kind in ("mem_s", "mem_v"):
            self._value = block.stores[self._store]
        elif kind in ("val_v", "val_u") and self._live_out < len(block.values):
            self._value = block.values[self._live_out]
            self._live_out += 1
        if self._value is not None:
            self._value.begin()


def _place(block: Block) -> str:
    span = next((instr.span for instr in block.instrs if instr.span is not None), None)
    return "" if span is None else f"{span.file}:{span.line}"


# Output --------------------------------------------------------------------------------------------------------------


def table(found: Profile, hints: Sequence[str]) -> str:
    """The profile for people: totals, a line for each block that ran, a line for each layer, what to change."""
    ratio = found.generated / found.operations if found.operations else float("inf")
    lines = [
        f"kernel {found.program.kernel}: {found.prompt} prompt tokens, {found.generated} generated tokens",
        f"{found.operations} operations, {found.lane_operations} lane-operations, {ratio:.2f} generated tokens an operation",
        "",
        *_block_table(found),
    ]
    if found.layers:
        lines += ["", *_layer_table(found.layers)]
    lines += ["", "what to change:", *(f"- {hint}" for hint in hints or ("nothing stands out",))]
    return "".join(f"{line}\n" for line in lines)


def _block_table(found: Profile) -> list[str]:
    rows = [["block", "runs", "lanes", "ops", *CAUSES, "tokens", "share", "tokens/op", "from"]]
    for block in sorted(found.blocks, key=lambda b: (-b.total, b.number)):
        if block.total:
            runs = block.tokens["exec"]
            name = f"{block.number}{' serial' if block.block.serial else ''}"
            per_op = f"{block.total / block.operations:.2f}" if block.operations else "-"
            rows.append(
                [
                    name,
                    str(runs),
                    f"{block.lanes / runs:.1f}",
                    str(block.operations),
                    *(str(block.tokens[cause]) for cause in CAUSES),
                    str(block.total),
                    f"{block.total / found.generated:.0%}",
                    per_op,
                    block.place,
                ]
            )
    if found.outside:
        rows.append(["none", *[""] * 6, str(found.outside), str(found.outside), "", "", ""])
    causes = (str(count) for count in found.by_cause().values())
    rows.append(["all", "", "", str(found.operations), *causes, str(found.generated), "100%", "", ""])
    return _columns(rows, left=(0, len(rows[0]) - 1))


def _layer_table(layers: Sequence[LayerCost]) -> list[str]:
    rows = [["layer", "us/token", "units", "heads"]]
    rows += [[str(c.layer), f"{c.micros:.2f}", f"{c.units:.1f}", f"{c.heads:.1f}"] for c in layers]
    totals = (sum(c.micros for c in layers), sum(c.units for c in layers), sum(c.heads for c in layers))
    rows.append(["all", f"{totals[0]:.2f}", f"{totals[1]:.1f}", f"{totals[2]:.1f}"])
    return ["a token, by layer: time, units looked at, heads at work", *_columns(rows, left=(0,))]


def _columns(rows: Sequence[Sequence[str]], left: Sequence[int]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if i in left else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def folded(found: Profile) -> str:
    """Folded stacks, as flame-graph tools read them: `kernel;block b;cause count`, a line each."""
    kernel = found.program.kernel
    lines = [f"{kernel};prompt {found.prompt}"]
    lines += [f"{kernel};{name};{cause} {count}" for name, cause, count in _stacks(found)]
    return "".join(f"{line}\n" for line in lines)


def _stacks(found: Profile) -> Iterable[tuple[str, str, int]]:
    for block in found.blocks:
        for cause, count in block.tokens.items():
            if count:
                yield f"block {block.number}", cause, count
    if found.outside:
        yield "no block", "control", found.outside


def as_json(found: Profile, hints: Sequence[str]) -> dict[str, Any]:
    """The profile for programs."""
    return {
        "kernel": found.program.kernel,
        "machine": found.program.config.name,
        "prompt_tokens": found.prompt,
        "generated_tokens": found.generated,
        "operations": found.operations,
        "lane_operations": found.lane_operations,
        "tokens_by_cause": found.by_cause(),
        "blocks": [
            {
                "block": block.number,
                "is_serial": block.block.serial,
                "source": block.place,
                "tokens": block.tokens,
                "operations": block.operations,
                "lane_operations": block.lane_operations,
                "lanes": block.lanes,
                "values": [
                    {"register": out.register, "sent": v.sent, "slices": v.slices, "longest": v.longest}
                    for out, v in zip(block.block.live_outs, block.values, strict=True)
                ],
                "stores": {
                    kind: {"sent": v.sent, "slices": v.slices, "longest": v.longest}
                    for kind, v in block.stores.items()
                },
            }
            for block in found.blocks
        ],
        "layers": [
            {"layer": c.layer, "us_per_token": round(c.micros, 3), "units": c.units, "heads": c.heads}
            for c in found.layers
        ],
        "hints": list(hints),
    }
