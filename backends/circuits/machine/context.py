"""What a token is, and what earlier tokens have left in the first layer's latches.

Every signal that the rest of the machine takes from the token stream comes from here: the token's kind and payload,
the current block, mask and group, the target of data tokens, and three counters.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.backends.circuits.gates import Function, conjunction, enable, matches, staircase
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.tokens import MORE_SLICES, ROM_SLOTS, Vocabulary, rom_word_bits
from qgc.ir.netlist.netlist import Builder, Head, Key, Signal, total

FIRST_SLICES = ("val_v", "val_u", "mem_s", "mem_v")
DATA_KINDS = (*FIRST_SLICES, "more", "rest")


@dataclass(frozen=True, slots=True)
class Context:
    """Signals of the token and of the latches. All are 0/1.

    Attributes:
        kind: one-hot, by kind name.
        payload: the token's payload bits, low first.
        block, mask: the current block's number and the mask of the last exec token (all ones after a halt).
        group, last_group: the current group's number, and that of the last group started.
        resumed: the key at which waiting lanes go on in this turn; 0 for tokens that begin no group's turn.
        waiting: the smallest key at which lanes of the groups before this one wait in this round; 0 for none.
        target: the payload of the last adr, adr_v, rom or const token, and `to[kind]` which of them it was.
        is_vector, is_val: format of the value being spelled: one slice of every lane; a live-out rather than memory.
        is_data: the token is a slice.
        slice: one-hot, the token's slice number (meaningless for other tokens).
        ordinal: one-hot, how many live-outs have begun since the last exec.
        stores: one-hot, how many adr tokens have come since the last exec.
    """

    config: MachineConfig
    kind: dict[str, Signal]
    payload: list[Signal]
    block: list[Signal]
    mask: list[Signal]
    group: list[Signal]
    last_group: list[Signal]
    resumed: list[Signal]
    waiting: list[Signal]
    target: list[Signal]
    to: dict[str, Signal]
    is_vector: Signal
    is_val: Signal
    is_data: Signal
    slice: list[Signal]
    ordinal: list[Signal]
    stores: list[Signal]

    @property
    def exec(self) -> Signal:
        """The token is an exec token."""
        return self.kind["exec"]

    @property
    def rom_slot(self) -> list[Signal]:
        """Bits of the slot that a rom token has named."""
        return self.target[: ROM_SLOTS.bit_length() - 1]

    @property
    def rom_block(self) -> list[Signal]:
        """Bits of the block that a rom token has named."""
        low = ROM_SLOTS.bit_length() - 1
        return self.target[low : low + self.config.block_bits]


def slice_count(config: MachineConfig) -> int:
    """Slices that the longest value has."""
    return max(config.vector_slices, -(-rom_word_bits(config) // config.payload))


def build_context(b: Builder, config: MachineConfig) -> Context:
    """The token's fields and the latches of the first layer."""
    vocabulary = Vocabulary(config)
    kind = {k: b.token(f"kind.{k}") for k in vocabulary.kinds}
    payload = [b.token(f"payload[{i}]") for i in range(vocabulary.payload_bits)]
    b = b.with_scope("ctx")
    lanes, group_bits = config.lanes, config.group_bits
    run = kind["exec"] + kind["halt"] + kind["fault"]
    block = b.memory("block", payload[lanes : lanes + config.block_bits], run)
    off = b.memory("off", [kind["exec"] - payload[lane] for lane in range(lanes)], run)
    group = b.memory("group", payload[:group_bits], kind["start"] + kind["warp"])
    last = b.memory("last_group", payload[:group_bits], kind["start"])
    resumed, waiting = _waits(b, config, kind["warp"], payload)
    targets = ("adr", "adr_v", "rom", "const")
    width = max(vocabulary.widths[k] for k in targets)
    named = b.memory(
        "target", [*payload[:width], *(kind[k] for k in targets)], total(kind[k] for k in targets)
    )
    is_first = total(kind[k] for k in FIRST_SLICES)
    form = b.memory("format", [kind["val_v"] + kind["mem_v"], kind["val_v"] + kind["val_u"]], is_first)
    begun = kind["val_v"] + kind["val_u"]
    return Context(
        config,
        kind,
        payload,
        block,
        [1 - x for x in off],
        group,
        last,
        resumed,
        waiting,
        named[:width],
        dict(zip(targets, named[width:], strict=True)),
        form[0],
        form[1],
        total(kind[k] for k in DATA_KINDS),
        _slices(b, config, kind, is_first),
        _count(b, "ordinal", kind["exec"], begun, config.stages),
        _count(b, "stores", kind["exec"], kind["adr"], lanes),
    )


def _waits(
    b: Builder, config: MachineConfig, warp: Signal, payload: list[Signal]
) -> tuple[list[Signal], list[Signal]]:
    """The key that a warp token carries: for group 0 who goes on in the new round, for others who waits in this one."""
    group, low = payload[: config.group_bits], config.group_bits
    carried = payload[low : low + config.key_bits - 1]
    begins = enable(warp, *matches(group, 0))
    resumed = b.memory("resumed", carried, begins, read=warp)
    later = b.bus("later", len(carried))
    for wire, bit in zip(later, carried, strict=True):
        b.add(wire, conjunction(warp), bit)
        b.add(wire, conjunction(warp, *matches(group, 0)), bit, -1)
    return resumed, b.memory("waiting", later, warp)


def _count(b: Builder, name: str, reset: Signal, event: Signal, most: int) -> list[Signal]:
    """One-hot count of `event` tokens since `reset`, up to `most`.

    One row holds `2**-n`: a reset writes 1, an event moves it half way to 0. Powers of two are exact in every dtype.
    """
    value = b.wire(f"{name}.value", high=1 << most)
    head = Head(
        f"{b.scope}{name}", 1, (reset,), reset + event * 0.5, Key(), Key(), Signal(1), scale=1 << most
    )
    b.head(head, {0: [value]})
    out = b.bus(name, most + 1)
    functions = [(wire, _equals(1 << (most - n))) for n, wire in enumerate(out)]
    staircase(b, value, [0, *(1 << i for i in range(most + 1))], functions)
    return out


def _equals(expected: int) -> Function:
    return lambda value: int(value == expected)


def _slices(b: Builder, config: MachineConfig, kind: dict[str, Signal], is_first: Signal) -> list[Signal]:
    """One-hot slice number from the counts of `more` and `rest` tokens since the first slice."""
    count = slice_count(config)
    more = _count(b, "more", is_first, kind["more"], min(count, MORE_SLICES) - 1)
    if count <= MORE_SLICES:
        return more
    rest = _count(b, "rest", is_first, kind["rest"], count - MORE_SLICES)
    return [*more[:-1], more[-1] - total(rest[1:]), *rest[1:]]
