"""The base's tokenizer with the machine's tokens added, as words that are never split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qgc.diagnostics import fail
from qgc.ir.machine.tokens import Vocabulary

FILLER = "<|no_token_{}|>"
"""Rows of the base's vocabulary that its tokenizer has no word for get one, because added tokens count on without a gap."""


def extended(folder: Path, rows: int, vocabulary: Vocabulary) -> dict[str, Any]:
    """The content of `tokenizer.json` with the machine's tokens from `rows` on.

    Raises:
        QgcError: `base-tokenizer` when there is none that can be read, or one of more words than the model has rows;
            `base-tokens` when it has some of the machine's tokens already.
    """
    path = folder / "tokenizer.json"
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        words = content["model"]["vocab"]
        words = set(words) if isinstance(words, dict) else {word for word, _ in words}
        added = content.setdefault("added_tokens", [])
        words |= {token["content"] for token in added}
        used = max([len(content["model"]["vocab"]), *(token["id"] + 1 for token in added)])
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise fail(
            "base-tokenizer",
            f"{path} is no tokenizer: {err}",
            hint="save it with AutoTokenizer.from_pretrained(...).save_pretrained(...)",
        ) from err
    if used > rows:
        raise fail("base-tokenizer", f"{path} has {used} words, the model has {rows} rows")
    names = vocabulary.names()
    if taken := [name for name in names if name in words]:
        raise fail(
            "base-tokens",
            f"{path} has {len(taken)} of the machine's tokens already, such as {taken[0]}",
            hint="give the model without a machine",
        )
    fillers = [FILLER.format(number) for number in range(used, rows)]
    for number, name in enumerate([*fillers, *names], used):
        flags = {
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": False,
        }
        added.append({"id": number, "content": name, **flags})
    return content
