"""The machine as parameters: how many lanes, registers, stages, blocks, words and payload bits a preset has.

Nothing else in qgc may write one of these numbers down. A preset is data; the ISA encodings, the token vocabulary, the
netlist and the layout are all derived from it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from typing import Any

from qgc.diagnostics import QgcError, fail
from qgc.files import read_text
from qgc.names import unknown

WORD_BITS = 32

_RANGES = {
    "lanes": (2, 8),
    "registers": (2, 64),
    "stages": (1, 6),
    "blocks": (1, 1024),
    "words": (2, 4096),
    "payload": (1, 16),
    "groups": (1, 64),
    "consts": (1, 1024),
    "multiply_latency": (1, 6),
    "predicates": (0, 63),
}
"""From and to: a token has at most 16 payload bits (65,536 rows of the embedding a kind), and a block 8 ROM slots."""


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
        predicates: a guard may name registers 0 to `predicates`; 0 lets it name every register. A predicate is bit 0
            of a register, so this says how many values can be guards at once, not how many more values there are.
        load_stages: stages that have a load unit; () stands for all.
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
    predicates: int = 0
    load_stages: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self._check_sizes()
        self._check_payload()
        self._check_stages()

    def _check_sizes(self) -> None:
        for field, (low, high) in _RANGES.items():
            value = getattr(self, field)
            if not low <= value <= high:
                raise self._fail("size", f"{field} must be from {low} to {high}, not {value}")
        for field in ("lanes", "words", "consts", "registers", "blocks", "groups"):
            value = getattr(self, field)
            if value & (value - 1):
                near = 1 << value.bit_length()
                raise self._fail(
                    "size", f"{field} must be a power of two, not {value}", f"{near // 2} and {near} are"
                )
        if self.words < self.lanes:
            raise self._fail("size", "words must be at least lanes: a lane has a bank of memory")
        count = self.predicates + 1
        if self.predicates and (count & (count - 1) or count > self.registers):
            raise self._fail(
                "predicates",
                f"predicates must be 0, or one less than a power of two up to {self.registers}, not {self.predicates}",
                "0 lets guards read every register",
            )

    def _check_payload(self) -> None:
        low = max(self.address_bits, 2 * self.lanes)
        if self.payload % self.lanes or self.payload < low:
            raise self._fail(
                "payload",
                f"payload must be a multiple of {self.lanes} lanes and at least {low} bits (an address fits one token), "
                f"not {self.payload}",
                f"write payload = {-(-low // self.lanes) * self.lanes}, or fewer words",
            )

    def _check_stages(self) -> None:
        for field in ("load_stages", "multiply_stages"):
            stages = getattr(self, field)
            if stages and max(stages) >= self.stages and field == "load_stages":
                raise self._fail("stages", f"{field} names stage {max(stages)} of 0 to {self.stages - 1}")
            if list(stages) != sorted(set(stages)) or (stages and stages[0] < 0):
                raise self._fail(
                    "stages", f"{field} must name stages in order, each once, not {list(stages)}"
                )

    def _fail(self, code: str, message: str, hint: str | None = None) -> QgcError:
        return fail(f"machine-{code}", f"machine {self.name!r}: {message}", hint=hint)

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
    def loads(self) -> tuple[int, ...]:
        """The stages that have a load unit."""
        return self.load_stages or tuple(range(self.stages))

    @property
    def guard_rows(self) -> int:
        """Registers that a guard may name, row 0 included."""
        return self.predicates + 1 if self.predicates else self.registers

    @property
    def threads(self) -> int:
        """Threads that one launch may have."""
        return self.groups * self.lanes


def parse_machine_file(text: str, file: str, name: str) -> MachineConfig:
    """A machine from TOML: the fields of `MachineConfig` but its name, lists for the stages; all but `lanes` may be left out.

    Raises:
        QgcError: `machine-toml` when it is no TOML, or a field is unknown or of the wrong type; `machine-size`,
            `machine-payload`, `machine-predicates`, `machine-stages` for what no machine can be.
    """
    try:
        values: dict[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as err:
        raise fail("machine-toml", f"{file}: no TOML: {err}") from err
    known = {f.name: f for f in fields(MachineConfig) if f.name != "name"}
    for key, value in values.items():
        if key not in known:
            raise fail("machine-toml", f"{file}: {unknown('field', key, known)}")
        if not _is_stages(value) if key.endswith("_stages") else type(value) is not int:
            what = "a list of stage numbers" if key.endswith("_stages") else "a whole number"
            raise fail("machine-toml", f"{file}: {key} must be {what}, not {value!r}")
    values |= {key: tuple(value) for key, value in values.items() if isinstance(value, list)}
    if "lanes" not in values:
        raise fail("machine-toml", f"{file}: the machine has no lanes", hint="begin with: lanes = 4")
    return MachineConfig(name, **values)


def _is_stages(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int for item in value)


def read_machine_file(path: Path) -> MachineConfig:
    """The machine of a TOML file; it is called like the file.

    Raises:
        QgcError: `io-read`, `io-encoding`, and what `parse_machine_file` raises; `machine-toml` for a file that is
            called like a preset, or not by one word.
    """
    name = path.stem
    if name in PRESETS or not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
        raise fail(
            "machine-toml",
            f"{path}: a machine cannot be called {name!r}",
            hint="rename the file: its name is the machine's",
        )
    return parse_machine_file(read_text(path), str(path), name)


def machine_of(text: str) -> MachineConfig:
    """The machine that users name: a preset, or a `.toml` file.

    Raises:
        QgcError: `machine-unknown`, and what `read_machine_file` raises.
    """
    return read_machine_file(Path(text)) if text.endswith(".toml") else preset(text)


def _presets() -> dict[str, MachineConfig]:
    folder = files("qgc.ir.machine") / "presets"
    texts = {name: (folder / f"{name}.toml").read_text(encoding="utf-8") for name in _PRESET_NAMES}
    return {name: parse_machine_file(text, f"{name}.toml", name) for name, text in texts.items()}


_PRESET_NAMES = ("simt4", "simt4x", "simt8", "nano")

PRESETS: dict[str, MachineConfig] = _presets()
"""`simt4` is the reference machine, `simt4x` a bigger one, `simt8` a wider one; `nano` is the smallest useful one."""


def preset(name: str) -> MachineConfig:
    """The preset called `name`.

    Raises:
        QgcError: `machine-unknown`, with the names that exist.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise fail("machine-unknown", f"no machine {name!r}", hint=f"presets: {', '.join(PRESETS)}") from None
