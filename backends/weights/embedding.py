"""The embedding, which is also the output table: one row a token.

A row holds the constant, the token's fields (kind one-hot, payload bits), and the token's code in +1/-1. On output the
last layer has taken the constant away and written the next token's code CODE_LEVEL strong, so the logit of a row is its
agreement with that code: the right row has all its bits, every other row at least one less.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from qgc.ir.layout.weights import CONSTANT, Ports
from qgc.ir.machine.tokens import Vocabulary


def vocabulary_rows(vocabulary: Vocabulary) -> int:
    """Rows of a stand-alone embedding: the tokens, rounded up to a multiple of 64. The rest are zero."""
    return -(-vocabulary.size // 64) * 64


def embedding(vocabulary: Vocabulary, ports: Ports) -> NDArray[np.float32]:
    """The table, `[rows, hidden]`."""
    table = np.zeros((vocabulary_rows(vocabulary), ports.shape.hidden), dtype=np.float32)
    field = ports.fields
    table[: vocabulary.size, list(ports.constants)] = CONSTANT
    for number, kind in enumerate(vocabulary.kinds):
        count = 1 << vocabulary.widths[kind]
        rows = table[vocabulary.base[kind] : vocabulary.base[kind] + count]
        payload = np.arange(count)
        if f"kind.{kind}" in field:
            rows[:, field[f"kind.{kind}"]] = 1
        for i in range(vocabulary.payload_bits):
            bit = (payload >> i & 1).astype(np.float32)
            rows[:, field[f"payload[{i}]"]] = bit
            rows[:, ports.code[f"next.payload[{i}]"]] = 2 * bit - 1
        for i in range(vocabulary.kind_bits):
            rows[:, ports.code[f"next.kind[{i}]"]] = 1 if number >> i & 1 else -1
    return table
