"""docs/ptx.md, made from the instruction table, the special registers and the verifier's list of invariants."""

from __future__ import annotations

from collections.abc import Iterator

from qgc.ir.ptx import ops, verify
from qgc.ir.ptx.ops import GROUPS, OPS, OpSpec


def ptx_markdown() -> str:
    """The reference of the PTX that is accepted."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "# PTX"
    yield ""
    yield "<!-- made from ir/ptx by tests/ir/ptx/test_docs.py; `pytest --bless` rewrites it -->"
    yield ""
    yield "Every file that nvcc, NVRTC and clang write parses; the instructions below are also verified and interpreted."
    yield "A word in capitals stands for the modifiers that the last table lists. Modifiers may come in any order, except"
    yield "among types. Division by zero gives all ones, which PTX leaves open."
    for group in dict.fromkeys(spec.group for spec in OPS):
        yield ""
        yield f"## {group}"
        yield ""
        yield "| instruction | types | operands | meaning |"
        yield "|---|---|---|---|"
        for spec in OPS:
            if spec.group == group:
                yield _row(spec)
    yield ""
    yield "## Modifiers"
    yield ""
    yield "| word | modifiers |"
    yield "|---|---|"
    for word, members in GROUPS.items():
        yield f"| {word} | {', '.join(f'`.{member}`' for member in members)} |"
    for title, text in (("How operands are spelled", ops.__doc__), ("Invariants", verify.__doc__)):
        yield ""
        yield f"## {title}"
        yield ""
        yield "```"
        yield (text or "").rstrip()
        yield "```"


def _row(spec: OpSpec) -> str:
    name = spec.name + "".join(f"[.{option}]" for option in spec.options)
    types = "; ".join(" ".join(f".{t}" for t in allowed) for allowed in spec.types)
    operands = " ".join(_spelled(spec))
    cells = (f"`{name}`", types, f"`{operands}`" if operands else "", spec.doc)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _spelled(spec: OpSpec) -> Iterator[str]:
    marks = {
        "mem": "[{}]",
        "vec": "{{{}}}",
        "label": "@{}",
        "table": "@@{}",
        "imm": "#{}",
        "flag": "%{}",
        "pred": "!{}",
    }
    for operand in spec.operands:
        name = marks.get(operand.kind, "{}").format(operand.name)
        typed = "" if operand.kind in ("mem", "label", "table", "imm", "flag") else f":{operand.type}"
        tail = ("+" if operand.may_widen else "") + ("?" if operand.is_optional else "")
        yield f"{'=' if operand.is_dest else ''}{name}{typed}{tail}"
