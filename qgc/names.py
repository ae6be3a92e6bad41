"""What to say about a name that does not exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def unknown(what: str, name: str, names: Iterable[str]) -> str:
    """Say that there is no such name, which one is near, and which there are."""
    known = list(names)
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"
    return f"no {what} {name!r}; {hint}"
