"""From an instruction's opcode and modifiers to its row in `ops.py`."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cache

from qgc.ir.ptx.ops import GROUPS, OPS, OperandSpec, OpSpec
from qgc.ir.ptx.types import TYPES

_MORE = """
alloca applypriority bmsk brkpt call clusterlaunchcontrol copysign cos cp createpolicy discard
elect ex2 fma getctarank griddepcontrol istypep ldmatrix lg2 mapa mbarrier mma movmatrix multimem
pmevent rcp rsqrt setmaxnreg sin sqrt stackrestore stacksave stmatrix suld suq sured sust
szext tanh tcgen05 tensormap testp tex tld4 txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4
vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4
wgmma wmma
"""

ELSEWHERE = tuple(_MORE.split())
"""Opcodes that PTX has and the table lacks."""


@dataclass(frozen=True, slots=True)
class Form:
    """An instruction's modifiers, understood: the row, its types in order, and the chosen member of each group."""

    spec: OpSpec
    types: tuple[str, ...]
    choices: tuple[tuple[str, str], ...]

    def choice(self, *groups: str) -> str:
        """Return the modifier that stands for one of the groups, `""` when none was written."""
        return next((word for group, word in self.choices if group in groups), "")

    def type_of(self, operand: OperandSpec) -> str:
        """Return the type of an operand in this form, `any` where there is nothing to check."""
        return resolve_type(operand.type, self.types)


def resolve_type(spelled: str, types: tuple[str, ...]) -> str:
    """Replace `t`, `u` and `2t` by the instruction's types."""
    if spelled == "t":
        return types[0]
    if spelled == "u":
        return types[1]
    if spelled == "2t":
        return f"{types[0][0]}{2 * TYPES[types[0]].bits}"
    return spelled


_BY_OPCODE: dict[str, tuple[OpSpec, ...]] = {
    opcode: tuple(spec for spec in OPS if spec.opcode == opcode)
    for opcode in dict.fromkeys(spec.opcode for spec in OPS)
}


_INTEGERS = "the supported instructions are the rows of qgc/ir/ptx/ops.py"


@dataclass(frozen=True, slots=True)
class Unknown:
    """Why modifiers match no row: `code` is that of the diagnostic."""

    code: str
    message: str
    hint: str | None = None


@cache
def decode(opcode: str, modifiers: tuple[str, ...]) -> Form | Unknown:
    """Find the row of an instruction, or say why there is none."""
    name = ".".join((opcode, *modifiers))
    specs = _BY_OPCODE.get(opcode)
    if specs is None:
        return _unknown_opcode(opcode, name)
    words = [_plain_space(word) for word in modifiers if word not in TYPES]
    types = tuple(word for word in modifiers if word in TYPES)
    named = [form for spec in specs if (form := _match(spec, words, types)) is not None]
    fitting = [form for form in named if _fits(form.spec, types)]
    if fitting:
        return fitting[0]
    if any(TYPES[t].kind == "f" for t in types):
        return Unknown("ptx-unsupported", f"{name} is not supported: it works on floats", _INTEGERS)
    if named:
        allowed = " or ".join(dict.fromkeys(_types_text(form.spec) for form in named))
        return Unknown("ptx-type", f"{name} does not exist with these types", f"{opcode} takes {allowed}")
    forms = ", ".join(spec.name for spec in specs)
    return Unknown("ptx-modifier", f"{name} is no known form of {opcode}", f"forms: {forms}")


def _plain_space(word: str) -> str:
    """Read `shared::cta` as shared and `param::entry` as param."""
    base = word.partition("::")[0]
    return base if base in GROUPS["SPACE"] else word


def _unknown_opcode(opcode: str, name: str) -> Unknown:
    if opcode in ELSEWHERE:
        return Unknown("ptx-unsupported", f"{name} is PTX, but not supported", _INTEGERS)
    close = difflib.get_close_matches(opcode, [*_BY_OPCODE, *ELSEWHERE], n=1)
    return Unknown(
        "ptx-opcode", f"unknown instruction {name}", f"did you mean {close[0]}?" if close else None
    )


def _match(spec: OpSpec, words: list[str], types: tuple[str, ...]) -> Form | None:
    """Match the modifiers that are no types: each required word and group once, each option at most once."""
    left = list(words)
    choices: list[tuple[str, str]] = []
    for required in spec.name.split(".")[1:]:
        chosen = next((word for word in left if word in GROUPS.get(required, (required,))), None)
        if chosen is None:
            return None
        left.remove(chosen)
        if required in GROUPS:
            choices.append((required, chosen))
    for option in spec.options:
        chosen = next((word for word in left if word in GROUPS[option]), None)
        if chosen is not None:
            left.remove(chosen)
            choices.append((option, chosen))
    return None if left else Form(spec, types, tuple(choices))


def _fits(spec: OpSpec, types: tuple[str, ...]) -> bool:
    return len(types) == len(spec.types) and all(
        t in allowed for t, allowed in zip(types, spec.types, strict=True)
    )


def _types_text(spec: OpSpec) -> str:
    return " and ".join(f"one of .{', .'.join(allowed)}" for allowed in spec.types) or "no type"
