"""Where lanes go next, and which block, group or halt follows.

Each lane's key (its next block, what it waits for, whether it has ended) is a row of its own head, so that only the lanes
that run move. The lanes at the smallest key run next: that is the whole reconvergence mechanism, and barriers are part of
it, because who waits has a larger key than who can run.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.circuits.gates import all_of, any_of, conjunction, literal, matches, weighted
from qgc.backends.circuits.machine.context import Context
from qgc.backends.circuits.machine.fetch import Fetched
from qgc.backends.circuits.machine.operands import Sources, Variant, operand
from qgc.ir.machine.isa import SourceTable
from qgc.ir.machine.rom import exit_key
from qgc.ir.netlist.netlist import Builder, Key, Signal, total


@dataclass(frozen=True, slots=True)
class Next:
    """What follows when nothing is left to emit.

    Attributes:
        lane: 0/1 by lane: the lanes of the current group at the smallest key, of those that have not ended.
        leader: one-hot, the lowest of them; all 0 when every lane has ended.
        key: `[lane][bit]`, each lane's key without the exit bit.
        is_idle: no lane of the group can run in this turn.
        keep: the key that an idle group hands over is the one that it was handed, not its leader's.
        is_over: every lane of the launch has ended.
        group: the number of the group after this one; 0 after the last.
    """

    lane: list[Signal]
    leader: list[Signal]
    key: list[list[Signal]]
    is_idle: Signal
    keep: Signal
    is_over: Signal
    group: list[Signal]


def build_next(b: Builder, c: Context, f: Fetched, s: Sources, results: list[list[list[Signal]]]) -> Next:
    """Resolve the branch, latch the lanes' keys, find the smallest, and what the group hands over."""
    b = b.with_scope("next")
    moved = _branch(b, c, f, s, results)
    keys = []
    for lane, bits in enumerate(moved):
        write = b.wire(f"write{lane}")
        b.add(write, conjunction(c.exec, f.lane[lane]))
        b.add(write, conjunction(c.kind["start"]))
        group = Key(tuple(c.group))
        keys.append(b.memory(f"lane{lane}", bits, write, group, group, c.config.groups))
    lanes, leaders = _smallest(b, c, keys)
    is_last, following = _groups(b, c)
    over = all_of(b, "is_over", [is_last, *(bits[-1] for bits in keys), *(1 - bit for bit in c.waiting)])
    alive = [bits[:-1] for bits in keys]
    return Next(lanes, leaders, alive, _idle(b, c, keys), _keep(b, c, keys), over, following)


def _branch(
    b: Builder, c: Context, f: Fetched, s: Sources, results: list[list[list[Signal]]]
) -> list[list[Signal]]:
    """Each lane's next key, for exec tokens; for start tokens that of block 0, or of the exit."""
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


def _smallest(b: Builder, c: Context, keys: list[list[Signal]]) -> tuple[list[Signal], list[Signal]]:
    """The lanes at the smallest key, and the lowest of them; neither when all have ended."""
    numbers = [weighted(bits) for bits in keys]
    most = (len(numbers) - 1) * (exit_key(c.config) + 1)
    lanes, leaders = b.bus("at_min", len(keys)), b.bus("leader", len(keys))
    for i, number in enumerate(numbers):
        behind, beaten = b.wire(f"behind{i}", high=most), b.wire(f"beaten{i}", high=most)
        for j, other in enumerate(numbers):
            if i != j:
                b.add(behind, number - other)
                b.add(beaten, number - other + (1 if j < i else 0))
        alive = 1 - keys[i][-1]
        b.add(lanes[i], conjunction(alive) - 2 * behind)
        b.add(leaders[i], conjunction(alive) - 2 * beaten)
    return lanes, leaders


def _idle(b: Builder, c: Context, keys: list[list[Signal]]) -> Signal:
    """No lane can run: all wait or have ended, and none stands at the key at which lanes go on in this turn.

    No key of a group is below the resumed one, because that is the smallest of all groups: so not above means equal.
    """
    resumed = weighted(c.resumed)
    is_resuming = any_of(b, "is_resuming", c.resumed)
    runs = []
    for lane, bits in enumerate(keys):
        beyond, go = b.wire(f"beyond{lane}", high=exit_key(c.config)), b.wire(f"runs{lane}", high=2)
        b.add(beyond, weighted(bits) - resumed)
        b.add(go, conjunction(*(1 - bit for bit in bits[c.config.block_bits :])))
        b.add(go, conjunction(is_resuming) - 2 * beyond)
        runs.append(go)
    idle = b.wire("is_idle")
    b.add(idle, 1 - 2 * total(runs))
    return idle


def _keep(b: Builder, c: Context, keys: list[list[Signal]]) -> Signal:
    """Whether the group was handed a key, and none of its lanes stands at a smaller one."""
    handed = weighted(c.waiting)
    above = b.wire("handed_above", high=len(keys) * exit_key(c.config))
    for bits in keys:
        b.add(above, handed - weighted(bits))
    keep = b.wire("keep")
    b.add(keep, conjunction(any_of(b, "is_handed", c.waiting)) - 2 * above)
    return keep


def _groups(b: Builder, c: Context) -> tuple[Signal, list[Signal]]:
    """Whether the group is the last one, and the number after it; 0 after the last."""
    last = b.wire("is_last")
    for value in range(c.config.groups):
        b.add(last, conjunction(*matches(c.group, value), *matches(c.last_group, value)))
    following = b.bus("group_after", len(c.group))
    for i, (bit, wire) in enumerate(zip(c.group, following, strict=True)):
        b.add(wire, conjunction(1 - last), bit)
        b.add(wire, conjunction(1 - last, *c.group[:i]), 1 - 2 * bit)
    return last, following
