"""docs/isa.md, made from the operation table and the verifier's list of invariants."""

from __future__ import annotations

from collections.abc import Iterator

from qgc.ir.machine import text, tokens, verify
from qgc.ir.machine.config import PRESETS
from qgc.ir.machine.isa import OPCODES, OPS, Unit
from qgc.ir.machine.symbols import SYMBOLS
from qgc.ir.machine.tokens import Vocabulary

_UNITS = {
    Unit.ALU: "any stage",
    Unit.MULTIPLY: "multiply stages",
    Unit.LOAD: "any stage",
    Unit.STORE: "last stage",
    Unit.REVERSE: "first stage",
}


def isa_markdown() -> str:
    """The reference of the machine's instruction set."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# The instruction set"
    yield ""
    yield "<!-- made from ir/machine by tests/ir/machine/test_docs.py; `pytest --bless` rewrites it -->"
    yield ""
    yield "Every operation reads the 32-bit operands A and B of a lane and perhaps a guard bit G, and gives one 32-bit"
    yield "result. An operand is a register `r0` to `rN` (`r0` is always zero), the result `f0` to `fS` of an earlier stage"
    yield "of the same block, a row `k0` to `kC` of the constant bank (one for each operation), or `tid`, the thread's linear"
    yield "index in its block. A guard is bit 0 of a register or of a result, perhaps inverted."
    yield ""
    yield "## Operations"
    yield ""
    yield "| code | operation | result | stands in | guard |"
    yield "|---|---|---|---|---|"
    for name, spec in OPS.items():
        meaning = spec.doc.replace("|", "\\|")
        guard = "yes" if spec.guarded else ""
        yield f"| {OPCODES[name]} | `{name}` | {meaning} | {_UNITS[spec.unit]} | {guard} |"
    yield ""
    yield "Shift amounts of 32 and more clamp, as in PTX. A load or store whose guard does not hold touches no memory."
    yield ""
    yield "## Symbols of the constant bank"
    yield ""
    yield "A row holds a 32-bit word or what the launch puts there: `param NAME`, `param NAME + BYTES`, "
    yield ", ".join(f"`{name}`" for name in SYMBOLS) + "."
    yield ""
    yield "## Machines"
    yield ""
    yield "| machine | lanes | registers | stages | blocks | words | constants | threads | tokens |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for name, c in PRESETS.items():
        numbers = (c.lanes, c.registers, c.stages, c.blocks, c.words, c.consts, c.threads, Vocabulary(c).size)
        yield f"| `{name}` | {' | '.join(map(str, numbers))} |"
    for title, module in (("Text form", text), ("Invariants", verify), ("Tokens", tokens)):
        yield ""
        yield f"## {title}"
        yield ""
        yield "```text"
        yield (module.__doc__ or "").strip()
        yield "```"
