"""What the `tokens` stage is: the machine's vocabulary, its names, and token streams as text.

A token is a kind and a payload. The kinds, in the order of their code:

    exec   mask, block        run the block for the lanes of the mask, in the current group
    val_v  slice 0            next live-out of the block, every lane its own bits
    val_u  slice 0            next live-out of the block, one value for all lanes
    more   slice 1 to 7       of the value that the last val or mem token began
    rest   slice 8 and up     of the same value
    adr    word address       the next mem_s goes there
    adr_v  word address       the next mem_v goes there and to the words after it, one a lane
    mem_s  slice 0            a word of memory, of the ROM or of the constant bank
    mem_v  slice 0            one word a lane
    rom    slot               the next mem_s goes to this ROM slot (block * 8 + slot)
    const  index              the next mem_s goes to this row of the constant bank
    start  group, mask        the lanes of the mask begin at block 0, the others do not exist
    warp   group, key         this group is now the current one; lanes wait at the key, 0 for none
    halt                      all groups are done; fed back, it begins the next launch
    fault                     a lane touched memory out of range or not aligned

Groups run in rounds. A group that has no lane to run hands over with the smallest key at which a lane of this round waits;
the last group hands over to group 0, and lanes that wait at that key go on in the new round.

A value is sent in slices from the low end, and stops at the last slice that is not just sign: each slice stands for
itself and its sign extension. A vector slice carries `lane_bits` bits of every lane, a scalar one `payload` bits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qgc.diagnostics import QgcError, Span, fail
from qgc.ir.machine.config import MachineConfig, bits_for
from qgc.ir.machine.isa import OP_BITS, SourceTable

MORE_SLICES = 8
"""Slices from this one on are `rest` tokens: a run of one kind is counted by halving, and 2**-7 is still exact in bf16."""

ROM_SLOTS = 8
"""ROM slots of a block: one for each stage, then the live-outs, then the branch."""


WAITS = ("none", "warp", "cta", "both")
"""How the two wait bits of a key are named; no lane waits for both."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the machine: a kind and an unsigned payload."""

    kind: str
    payload: int = 0


class Vocabulary:
    """The tokens of one machine, numbered from 0: kinds in order, payloads in order within a kind."""

    def __init__(self, config: MachineConfig) -> None:
        data = config.payload
        self.config = config
        self.widths: dict[str, int] = {
            "exec": config.block_bits + config.lanes,
            "val_v": data,
            "val_u": data,
            "more": data,
            "rest": data,
            "adr": config.address_bits,
            "adr_v": config.address_bits,
            "mem_s": data,
            "mem_v": data,
            "rom": config.block_bits + 3,
            "const": config.const_bits,
            "start": config.group_bits + config.lanes,
            "warp": config.group_bits + config.key_bits - 1,
            "halt": 0,
            "fault": 0,
        }
        self.kinds = tuple(self.widths)
        self.base: dict[str, int] = {}
        total = 0
        for kind, width in self.widths.items():
            self.base[kind] = total
            total += 1 << width
        self.size = total
        self.payload_bits = max(self.widths.values())
        self.kind_bits = bits_for(len(self.kinds))

    def id(self, token: Token) -> int:
        """The number of a token."""
        return self.base[token.kind] + token.payload

    def token(self, number: int) -> Token:
        """The token of a number.

        Raises:
            QgcError: `token-range` when there is none.
        """
        for kind in reversed(self.kinds):
            if self.base[kind] <= number < self.size:
                return Token(kind, number - self.base[kind])
        raise fail("token-range", f"token number {number} is not among the machine's {self.size} tokens")

    def name(self, token: Token) -> str:
        """The readable, space-free name, unique in the vocabulary: `<exec:m0111:b3>`, `<val_v:1,-2,0,3>`."""
        return f"<{':'.join([token.kind, *self._fields(token)])}>"

    def names(self) -> list[str]:
        """All names, by number."""
        return [self.name(Token(kind, p)) for kind in self.kinds for p in range(1 << self.widths[kind])]

    def _fields(self, token: Token) -> list[str]:
        kind, payload, config = token.kind, token.payload, self.config
        if kind == "exec":
            return [f"m{payload & ((1 << config.lanes) - 1):0{config.lanes}b}", f"b{payload >> config.lanes}"]
        if kind == "start":
            return [f"w{payload & (config.groups - 1)}", f"m{payload >> config.group_bits:0{config.lanes}b}"]
        if kind in ("val_v", "mem_v"):
            return [",".join(str(_sign(v, config.lane_bits)) for v in self.lane_values(payload))]
        if kind in ("val_u", "mem_s"):
            return [str(_sign(payload, config.payload))]
        if kind in ("more", "rest"):
            return [f"{payload:0{-(-config.payload // 4)}x}"]
        if kind == "rom":
            return [f"b{payload // ROM_SLOTS}", f"s{payload % ROM_SLOTS}"]
        if kind == "warp":
            where = payload >> config.group_bits
            waits = WAITS[where >> config.block_bits]
            return [
                f"w{payload & (config.groups - 1)}",
                waits,
                f"b{where & (config.blocks - 1)}",
            ]
        return [] if self.widths[kind] == 0 else [str(payload)]

    def lane_values(self, payload: int) -> list[int]:
        """The unsigned bits of each lane in a vector slice, lane 0 first (in the low bits)."""
        bits = self.config.lane_bits
        return [payload >> (lane * bits) & ((1 << bits) - 1) for lane in range(self.config.lanes)]


def _sign(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value


def slices(value: int, bits: int, total: int = 32) -> int:
    """How many slices of `bits` bits give the signed `total`-bit value back by sign extension (at least 1)."""
    value = _sign(value & ((1 << total) - 1), total)
    count = 1
    while not -(1 << (count * bits - 1)) <= value < 1 << (count * bits - 1):
        count += 1
    return count


def slice_kind(first: str, index: int) -> str:
    """The kind of slice `index` of a value that begins with a token of kind `first`."""
    return first if index == 0 else "more" if index < MORE_SLICES else "rest"


def scalar_tokens(config: MachineConfig, kind: str, value: int, total: int = 32) -> list[Token]:
    """The tokens of one scalar value: a first slice of `kind`, then `more` and `rest`."""
    mask = (1 << config.payload) - 1
    extended = _sign(value & ((1 << total) - 1), total)
    return [
        Token(slice_kind(kind, i), extended >> (i * config.payload) & mask)
        for i in range(slices(value, config.payload, total))
    ]


def vector_tokens(config: MachineConfig, kind: str, values: Sequence[int | None]) -> list[Token]:
    """The tokens of one value a lane; a silent lane (None) sends zero bits and asks for no slices."""
    bits, mask = config.lane_bits, (1 << config.lane_bits) - 1
    count = max(slices(v, bits) for v in values if v is not None)
    out = []
    for i in range(count):
        payload = 0
        for lane, value in enumerate(values):
            if value is not None:
                payload |= (_sign(value, 32) >> (i * bits) & mask) << (lane * bits)
        out.append(Token(slice_kind(kind, i), payload))
    return out


def rom_word_bits(config: MachineConfig) -> int:
    """Bits of the widest ROM slot; all slots are stored this wide."""
    source = SourceTable(config).bits
    instr = OP_BITS + 4 * source + 1 + config.const_bits
    live = config.stages * (config.register_bits + bits_for(config.stages))
    branch = 2 * config.key_bits + source + 2
    return max(instr, live, branch)


def to_text(vocabulary: Vocabulary, tokens: Iterable[Token]) -> str:
    """One token name a line."""
    return "".join(vocabulary.name(t) + "\n" for t in tokens)


def parse(vocabulary: Vocabulary, text: str, file: str = "<tokens>") -> list[Token]:
    """Read token names, separated by white space; `#` starts a comment.

    Raises:
        QgcError: `token-unknown` for every name that is not in the vocabulary.
    """
    known = {name: number for number, name in enumerate(vocabulary.names())}
    tokens, faults = [], []
    for number, line in enumerate(text.splitlines(), 1):
        for word in line.split("#")[0].split():
            if word in known:
                tokens.append(vocabulary.token(known[word]))
            else:
                column = line.index(word) + 1
                faults.append(
                    fail(
                        "token-unknown", f"no token {word!r}", Span(file, number, column, column + len(word))
                    )
                )
    if faults:
        raise QgcError(*(d for f in faults for d in f.diagnostics))
    return tokens
