"""ROM words hold every block exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qgc.ir.machine.config import PRESETS, preset
from qgc.ir.machine.program import EXIT, Block, Branch, Guard, Instr, LiveOut
from qgc.ir.machine.rom import branch_layout, decode_block, encode_block, instr_layout, live_layout
from qgc.ir.machine.tokens import ROM_SLOTS, rom_word_bits
from tests.helpers.programs import Case, multi_block_programs


@given(st.data())
def test_blocks_come_back(data: st.DataObject) -> None:
    config = preset(data.draw(st.sampled_from(list(PRESETS))))
    case: Case = data.draw(multi_block_programs(config))
    for block in case.program.blocks:
        words = encode_block(config, block)
        assert len(words) == config.stages + 2 <= ROM_SLOTS
        assert all(0 <= word < 1 << rom_word_bits(config) for word in words)
        assert decode_block(config, words) == block


def test_the_empty_block_is_zero_but_for_its_guard() -> None:
    config = preset("simt4")
    words = encode_block(config, Block((), (), Branch(0, 0, Guard("r0"))))
    assert words == [0] * 6


@pytest.mark.parametrize("name", PRESETS)
def test_fields_do_not_overlap(name: str) -> None:
    config = preset(name)
    for layout in (instr_layout(config), live_layout(config), branch_layout(config)):
        bits = [bit for field in layout.values() for bit in field.bits]
        assert len(set(bits)) == len(bits)
        assert max(bits) < rom_word_bits(config)


def test_every_field_reaches_its_largest_value() -> None:
    config = preset("simt4")
    last = f"r{config.registers - 1}"
    block = Block(
        (
            Instr("ldx", "tid", "k", const=config.consts - 1, guard=Guard(last, negated=True)),
            Instr("nop"),
            Instr("nop"),
            Instr("stx", "k", "tid", "f2", config.consts - 1, Guard("f2")),
        ),
        tuple(LiveOut(config.registers - 1 - i, config.stages - 1) for i in range(config.stages)),
        Branch(EXIT, config.blocks - 1, Guard("f3", negated=True)),
        serial=True,
    )
    assert decode_block(config, encode_block(config, block)) == block
