"""The machine as parameters: how many lanes, registers, stages, blocks, words and payload bits a preset has.

Nothing else in qgc may write one of these numbers down. A preset is data; the ISA encodings, the token vocabulary, the
netlist and the layout are all derived from it.
"""

from __future__ import annotations

from dataclasses import dataclass

from qgc.diagnostics import fail

WORD_BITS = 32


def bits_for(count: int) -> int:
    """Bits of an unsigned field that holds `count` different values (at least 1)."""
    return max(1, (count - 1).bit_length())


@dataclass(frozen=True, slots=True)
class MachineConfig:
    """One SIMT machine.

    Attributes:
        name: the preset's name.
        lanes: lanes of a group (a hardware warp); a power of two.
        registers: register rows of a lane, row 0 included, which always reads zero.
        stages: operations that a block chains in one forward pass.
        blocks: rows of the program ROM.
        words: 32-bit words of global memory.
        payload: bits that one VAL or MEM token carries; a multiple of `lanes`.
        groups: groups that a launch may have; `groups * lanes` threads.
        consts: rows of the constant bank (immediates, kernel parameters, launch constants).
        multiply_stages: stages that have a multiplier.
        multiply_latency: how many stages later the product can be forwarded (1 is the next stage).
    """

    name: str
    lanes: int = 4
    registers: int = 16
    stages: int = 4
    blocks: int = 32
    words: int = 128
    payload: int = 12
    groups: int = 8
    consts: int = 64
    multiply_stages: tuple[int, ...] = (0, 1, 2)
    multiply_latency: int = 2

    def __post_init__(self) -> None:
        for field, limit in (("lanes", 2), ("registers", 2), ("stages", 1), ("blocks", 1), ("groups", 1)):
            if getattr(self, field) < limit:
                raise fail("machine-size", f"machine {self.name!r}: {field} must be at least {limit}")
        for field in ("lanes", "words", "consts", "registers", "blocks", "groups"):
            value = getattr(self, field)
            if value & (value - 1):
                raise fail(
                    "machine-size", f"machine {self.name!r}: {field} must be a power of two, not {value}"
                )
        if self.payload % self.lanes or self.payload < max(self.address_bits, 2 * self.lanes):
            raise fail(
                "machine-payload",
                f"machine {self.name!r}: payload must be a multiple of {self.lanes} lanes and at least "
                f"{max(self.address_bits, 2 * self.lanes)} bits (an address fits one token), not {self.payload}",
            )
        if self.words < self.lanes:
            raise fail("machine-size", f"machine {self.name!r}: words must be at least lanes")

    @property
    def lane_bits(self) -> int:
        """Bits of each lane that one vector slice carries."""
        return self.payload // self.lanes

    @property
    def vector_slices(self) -> int:
        """Tokens of a full-width vector value (one slice of every lane a token)."""
        return -(-WORD_BITS // self.lane_bits)

    @property
    def scalar_slices(self) -> int:
        """Tokens of a full-width scalar or uniform value."""
        return -(-WORD_BITS // self.payload)

    @property
    def block_bits(self) -> int:
        """Bits of a block number."""
        return bits_for(self.blocks)

    @property
    def key_bits(self) -> int:
        """Bits of a lane's key: its next block, what it waits for (2 bits), and whether it has ended."""
        return self.block_bits + 3

    @property
    def group_bits(self) -> int:
        """Bits of a group number."""
        return bits_for(self.groups)

    @property
    def register_bits(self) -> int:
        """Bits of a register number."""
        return bits_for(self.registers)

    @property
    def address_bits(self) -> int:
        """Bits of a word address."""
        return bits_for(self.words)

    @property
    def const_bits(self) -> int:
        """Bits of a constant-bank index."""
        return bits_for(self.consts)

    @property
    def store_stage(self) -> int:
        """The stage that has the store unit: the last one, so that no load of a block follows its store."""
        return self.stages - 1

    @property
    def threads(self) -> int:
        """Threads that one launch may have."""
        return self.groups * self.lanes


PRESETS: dict[str, MachineConfig] = {
    "simt4": MachineConfig("simt4"),
    "nano": MachineConfig(
        "nano",
        lanes=2,
        registers=4,
        stages=2,
        blocks=4,
        words=8,
        payload=4,
        groups=2,
        consts=8,
        multiply_stages=(),
    ),
}
"""`simt4` is the reference machine; `nano` is the smallest useful one, for teaching and golden files."""


def preset(name: str) -> MachineConfig:
    """The preset called `name`.

    Raises:
        QgcError: `machine-unknown`, with the names that exist.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise fail("machine-unknown", f"no machine {name!r}", hint=f"presets: {', '.join(PRESETS)}") from None
