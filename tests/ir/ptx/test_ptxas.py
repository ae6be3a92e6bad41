"""The interpreter against constants that NVIDIA's assembler folded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.ptx import results

ORACLE = Path(__file__).parents[2] / "oracle" / "ptxas.txt"
ROWS = [
    row.rpartition(" = ") for row in ORACLE.read_text(encoding="utf-8").splitlines() if row[:1] not in "#"
]


def test_the_oracle_is_there() -> None:
    assert len(ROWS) > 200


@pytest.mark.parametrize("family", sorted({re.split(r"[ .]", code)[0] for code, _, _ in ROWS}))
def test_folded_constants(family: str) -> None:
    """All fragments that start with one opcode, in one launch each."""
    for code, _, value in ROWS:
        if re.split(r"[ .]", code)[0] == family:
            target = next(name for name in re.findall(r"\b[hrdfp]0\b", code.split(";")[-1]))
            assert results(code + ";", target) == [int(value, 16)], code
