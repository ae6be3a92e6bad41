"""docs/ptx.md is what the table says; the table names every opcode once."""

from __future__ import annotations

from collections.abc import Callable

from qgc.ir.ptx.decode import ELSEWHERE, Form, Unknown, decode
from qgc.ir.ptx.docs import ptx_markdown
from qgc.ir.ptx.ops import GROUPS, OPS


def test_ptx_page_is_current(golden: Callable[[str, str], None]) -> None:
    golden("../docs/ptx.md", ptx_markdown())


def test_ptx_page_names_every_row() -> None:
    page = ptx_markdown()
    assert [spec.name for spec in OPS if f"| `{spec.name}" not in page] == []


def test_rows_are_distinct_and_use_known_groups() -> None:
    assert len({spec.name for spec in OPS}) == len(OPS)
    assert not {spec.opcode for spec in OPS} & set(ELSEWHERE)
    words = {word for spec in OPS for word in (*spec.name.split("."), *spec.options) if word.isupper()}
    assert words == set(GROUPS)


def test_modifiers_come_in_any_order() -> None:
    for name in ("vote.sync.ballot.b32", "vote.ballot.sync.b32", "vote.ballot.b32.sync"):
        opcode, *modifiers = name.split(".")
        form = decode(opcode, tuple(modifiers))
        assert isinstance(form, Form) and form.spec.name == "vote.sync.ballot"


def test_sub_windows_are_spaces() -> None:
    form = decode("ld", ("shared::cta", "u32"))
    assert isinstance(form, Form) and form.choice("SPACE") == "shared"


def test_a_modifier_may_not_be_given_twice() -> None:
    assert isinstance(decode("add", ("sat", "sat", "s32")), Unknown)
