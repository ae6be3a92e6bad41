"""Where lanes go next, and which block, group or halt follows.

Each lane's next block is a row of its own head, so that only the lanes that run move. The lanes at the smallest block
number run next: that is the whole reconvergence mechanism. An exit bit above the block number sorts ended lanes last.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.circuits.gates import all_of, conjunction, literal, matches, weighted
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.fetch import Fetched
from qgc.backends.circuits.machine.operands import Sources, Variant, operand
from qgc.ir.machine.isa import SourceTable
from qgc.ir.netlist.netlist import Builder, Key, Signal


@dataclass(frozen=True, slots=True)
class Next:
    """What follows when nothing is left to emit.

    Attributes:
        lane: 0/1 by lane: the lanes of the current group at the smallest block.
        leader: one-hot, the lowest of them; all 0 when every lane has ended.
        block: `[lane][bit]`, each lane's next block.
        is_done: every lane of the group has ended.
        is_last: the group is the last one of the launch.
        group: the next group's number.
    """

    lane: list[Signal]
    leader: list[Signal]
    block: list[list[Signal]]
    is_done: Signal
    is_last: Signal
    group: list[Signal]


def build_next(b: Builder, c: Context, f: Fetched, s: Sources, results: list[list[list[Signal]]]) -> Next:
    """Resolve the branch, latch the lanes' next blocks, find the smallest."""
    b = b.with_scope("next")
    moved = _branch(b, c, f, s, results)
    blocks = []
    for lane, bits in enumerate(moved):
        write = b.wire(f"write{lane}")
        b.add(write, conjunction(c.exec, f.lane[lane]))
        b.add(write, conjunction(c.kind["start"]))
        key = Key(tuple(c.group))
        blocks.append(b.memory(f"lane{lane}", bits, write, key, key, c.config.groups))
    numbers = [weighted(bits) for bits in blocks]
    lanes, leaders = [], []
    for i, number in enumerate(numbers):
        most = len(numbers) << (c.config.block_bits + 1)
        behind, beaten = b.wire(f"behind{i}", high=most), b.wire(f"beaten{i}", high=most)
        for j, other in enumerate(numbers):
            if i != j:
                b.add(behind, number - other)
                b.add(beaten, number - other + (1 if j < i else 0))
        alive = 1 - blocks[i][-1]
        lanes.append(b.wire(f"at_min{i}"))
        leaders.append(b.wire(f"leader{i}"))
        b.add(lanes[i], conjunction(alive) - 2 * behind)
        b.add(leaders[i], conjunction(alive) - 2 * beaten)
    done = all_of(b, "is_done", [bits[-1] for bits in blocks])
    last, group = _groups(b, c)
    return Next(lanes, leaders, [bits[:-1] for bits in blocks], done, last, group)


def _branch(
    b: Builder, c: Context, f: Fetched, s: Sources, results: list[list[list[Signal]]]
) -> list[list[Signal]]:
    """Each lane's next block with its exit bit, for exec tokens; for start tokens block 0, or exit."""
    taken, other, negated = f.branch["taken"], f.branch["other"], f.branch["negated"][0]
    ports = operand(
        b,
        "guard",
        f.branch["guard"],
        Sources(c, s.values, s.write, [], []),
        [Variant(c.exec)],
        width=1,
        rows=c.config.guard_rows,
    )
    table = SourceTable(c.config)
    out = []
    for lane in range(c.config.lanes):
        bits = b.bus(f"to{lane}", len(taken))
        for wire, t, o in zip(bits, taken, other, strict=True):
            b.add(wire, conjunction(c.exec), o)
            for stage in range(c.config.stages):
                named = matches(f.branch["guard"], table.numbers[f"f{stage}"])
                for value in (0, 1):
                    holds = literal(results[stage][lane][0], value)
                    b.add(wire, conjunction(c.exec, *named, holds, literal(negated, 1 - value)), t - o)
            is_register = [1 - bit for bit in f.branch["guard"][c.config.register_bits :]]
            for value in (0, 1):
                holds = literal(ports[lane][0], value)
                b.add(wire, conjunction(c.exec, *is_register, holds, literal(negated, 1 - value)), t - o)
        b.add(bits[-1], conjunction(c.kind["start"]), 1 - c.payload[c.config.group_bits + lane])
        out.append(bits)
    return out


def _groups(b: Builder, c: Context) -> tuple[Signal, list[Signal]]:
    """Whether the group is the last one, and the number after it."""
    last = b.wire("is_last")
    for value in range(c.config.groups):
        b.add(last, conjunction(*matches(c.group, value), *matches(c.last_group, value)))
    following = []
    for i, bit in enumerate(c.group):
        flip = b.wire(f"group_flip{i}", low=-1)
        b.add(flip, conjunction(*c.group[:i]), 1 - 2 * bit)
        following.append(flip + bit)
    return last, following
