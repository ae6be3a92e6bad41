"""The user's cache folder, and what small files lie in it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def cache_folder() -> Path:
    """Where checkpoints and tables are kept, QGC_CACHE or the system's place; it need not exist yet."""
    if own := os.environ.get("QGC_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "qgc"


def tables_file(name: str, content: str) -> Path | None:
    """Where the tables that are made from `content` are kept; None when nothing can be written there."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    if not os.access(folder, os.W_OK):
        return None
    return folder / f"{name}-{hashlib.sha256(content.encode()).hexdigest()[:16]}.tables"
