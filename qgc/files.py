"""Outputs appear whole or not at all: everything is written under a temporary name and renamed when complete.

A failed, interrupted or killed command leaves nothing that looks finished: the temporary folder is a hidden sibling of
the target (`.NAME.*.tmp`), so that the rename stays on one file system and is atomic.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qgc.diagnostics import QgcError, fail


@contextmanager
def atomic_write(target: Path) -> Iterator[Path]:
    """Yield a path to create a file or a folder at; on success it becomes `target`, on any failure it vanishes.

    A file or folder that `target` named before is replaced only when the new one is complete.

    Raises:
        QgcError: `io-write` when the file system refuses (no space, no permission, missing folder).
    """
    staging: Path | None = None
    try:
        staging = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
        new = staging / target.name
        yield new
        if target.is_dir() and not target.is_symlink():
            target.rename(staging / "replaced")
        new.replace(target)
    except OSError as err:
        raise _refused(target, err) from err
    finally:
        if staging is not None:
            shutil.rmtree(staging, ignore_errors=True)


def write_text(target: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; a device or a pipe (`/dev/null`) is written in place.

    Raises:
        QgcError: `io-write` when the file system refuses.
    """
    if target.exists() and not target.is_file():
        try:
            target.write_text(text, encoding="utf-8")
        except OSError as err:
            raise _refused(target, err) from err
        return
    with atomic_write(target) as new:
        new.write_text(text, encoding="utf-8")


def read_text(source: Path) -> str:
    """Read a UTF-8 text file.

    Raises:
        QgcError: `io-read` when it cannot be opened, `io-encoding` when it is not UTF-8 text.
    """
    try:
        return source.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise not_text(str(source), err) from err
    except OSError as err:
        raise fail("io-read", f"cannot read {source}: {os.strerror(err.errno or 0)}") from err


def not_text(name: str, err: UnicodeDecodeError) -> QgcError:
    """The fault of an input that is not UTF-8 text."""
    return fail(
        "io-encoding",
        f"{name} is not UTF-8 text (byte {err.start} is 0x{err.object[err.start]:02x})",
        hint="give a source or text file; a checkpoint is named with --checkpoint",
    )


def _refused(target: Path, err: OSError) -> QgcError:
    return fail(
        "io-write",
        f"cannot write {target}: {os.strerror(err.errno or 0)}",
        hint="nothing was left behind; choose another place or make room, then run it again",
    )
