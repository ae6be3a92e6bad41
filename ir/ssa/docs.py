"""docs/ssa.md, generated from the operation table."""

from __future__ import annotations

from collections.abc import Iterator

from qgc.ir.ssa.ops import ATTRS, OPS, SREGS, OpSpec, TyVar
from qgc.ir.ssa.types import MEMS, TYPES

_HEAD = """\
# The SSA form

Generated from the tables in `ir/ssa/ops.py` and `ir/ssa/types.py`; `make bless` rewrites this page.

One function is one kernel. Values are defined once, typed, and named after PTX registers; every op carries the line of
the PTX instruction that it comes from. The text form is described in `ir/ssa/text.py`, the invariants of each stage in
`ir/ssa/verify.py`. Four stages share the form: `ir` as lowered, `ir-opt` optimised and in 32-bit words, `ir-pred` in
operations of the machine, `ir-div` with blocks in the machine's order and values marked `uniform` or `varying`.
"""


def ssa_markdown() -> str:
    """The page."""
    return "\n".join([_HEAD, *_types(), *_ops(), *_attributes()]) + "\n"


def _types() -> Iterator[str]:
    names = ", ".join(f"`{ty}`" for ty in TYPES.values())
    yield "## Types\n"
    yield f"{names}. Pointers are integers, predicates are `i1`. Type variables in the table below:\n"
    variables = {p for spec in OPS.values() for p in _patterns(spec) if isinstance(p, TyVar)}
    for variable in sorted(variables, key=lambda v: v.name):
        yield f"- {variable.name}: {', '.join(map(str, variable.choices))}"
    yield ""


def _patterns(spec: OpSpec) -> list[object]:
    return [*spec.operands, spec.result]


def _ops() -> Iterator[str]:
    yield "## Operations\n"
    yield "Machine operations (last column) are what is left from `ir-pred` on. `?`: the result may be left out.\n"
    yield "| op | operands | result | meaning | properties | machine |"
    yield "|---|---|---|---|---|---|"
    for spec in OPS.values():
        operands = ", ".join(_name(p) for p in spec.operands)
        operands = f"{operands}, ..." if spec.blocks < 0 else operands
        result = _name(spec.result) + ("?" if spec.optional_result else "") if spec.result else ""
        machine = "yes" if spec.machine else ""
        yield f"| `{_spelling(spec)}` | {operands} | {result} | {_cell(spec.doc)} | {_properties(spec)} | {machine} |"
    yield ""


def _name(pattern: object) -> str:
    return pattern.name if isinstance(pattern, TyVar) else str(pattern)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _spelling(spec: OpSpec) -> str:
    names = "".join(f".{kind.upper()}" for kind in spec.attrs if kind != "offset")
    return spec.name + names + (" NUMBER" if "offset" in spec.attrs else "")


def _properties(spec: OpSpec) -> str:
    words = {
        "pure": spec.pure,
        "commutative": spec.commutative,
        "guardable": spec.guardable,
        "terminator": spec.terminator,
    }
    return ", ".join(word for word, holds in words.items() if holds)


def _attributes() -> Iterator[str]:
    yield "## Attributes\n"
    for kind, names in ATTRS.items():
        if kind in ("space", "rmw"):
            yield f"- {kind.upper()}: {', '.join(f'`{n}`' for n in names)}"
    yield "- NUMBER: a byte offset in the parameter space, or the barrier's number"
    yield "\n### MEM\n"
    yield "| name | bytes | in a register |"
    yield "|---|---|---|"
    for mem in MEMS.values():
        extension = (
            ""
            if mem.bytes * 8 == mem.ty.bits
            else (", sign extended" if mem.is_signed else ", zero extended")
        )
        yield f"| `{mem.name}` | {mem.bytes} | {mem.ty}{extension} |"
    yield "\n### SREG\n"
    yield "| name | meaning | in a warp |"
    yield "|---|---|---|"
    for name, register in SREGS.items():
        yield f"| `{name}` | {register.doc} | {'uniform' if register.uniform else 'varying'} |"
