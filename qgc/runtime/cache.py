"""The checkpoint cache: each machine, shape and dtype is built once and kept under a hash of all that it depends on.

Layout: `$QGC_CACHE`, else `$XDG_CACHE_HOME/qgc`, else `~/.cache/qgc`; in it one folder a checkpoint, named
`<machine>-<shape>-<dtype>-<hash>`, and beside it a lock file. A folder has its final name only when it is complete:
a build that was killed leaves a hidden folder, which the next build removes. Those not used for long make room.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qgc import __version__
from qgc.diagnostics import fail
from qgc.files import atomic_write
from qgc.folders import cache_folder
from qgc.ir.machine.config import MachineConfig
from qgc.ir.machine.rom import encode_block
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from qgc.ir.layout.shape import ModelShape
    from qgc.ir.machine.program import Program

ROOT = Path(__file__).parent.parent
WEIGHT_SOURCES = (
    "ir/machine",
    "ir/netlist",
    "ir/layout",
    "passes/netlist",
    "backends/circuits",
    "backends/weights",
)
"""The packages whose code decides the weights; a change in one of them makes a new checkpoint."""

STORED_DTYPE = "bfloat16"
"""Of cached checkpoints: every weight is exact in it, so one checkpoint serves all dtypes that a model runs in."""

KEEP = 4
"""Checkpoints that are kept of one machine, shape and dtype: other versions of the code, and baked programs."""

Build = Callable[["CheckpointSpec", Path, Progress], None]


@dataclass(frozen=True, slots=True)
class CheckpointSpec:
    """All that a checkpoint depends on, besides the code. `program` is baked into the weights when it is given."""

    machine: MachineConfig
    shape: ModelShape
    dtype: str
    program: Program | None = None

    @property
    def key(self) -> str:
        """The folder name: readable, and unique for this content and this code."""
        program = self.program
        content = {
            "machine": asdict(self.machine),
            "shape": asdict(self.shape),
            "dtype": self.dtype,
            "rom": program and [encode_block(self.machine, block) for block in program.blocks],
            "consts": program and program.consts,
            "version": __version__,
            "code": _code_hash(),
        }
        digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        return f"{self.machine.name}-{self.shape.name}-{self.dtype}-{digest[:16]}"


def cached(spec: CheckpointSpec, progress: Progress = silent, build: Build | None = None) -> Path:
    """The folder of a checkpoint, built now when it is not there yet; a second process waits for the first.

    Raises:
        QgcError: `io-write` when the cache cannot be written, and whatever the build raises.
    """
    from filelock import FileLock

    folder = cache_folder()
    target = folder / spec.key
    if target.is_dir():
        with suppress(OSError):  # a cache that cannot be written is as good
            os.utime(target)
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as err:
        raise fail(
            "io-write",
            f"cannot make the cache folder {folder}: {os.strerror(err.errno or 0)}",
            hint="set QGC_CACHE to a folder that can be written",
        ) from err
    with FileLock(folder / f"{spec.key}.lock"):
        if not target.is_dir():
            for stale in folder.glob(f".{spec.key}.*.tmp"):
                shutil.rmtree(stale, ignore_errors=True)
            with atomic_write(target) as new:
                (build or build_weights)(spec, new, progress)
            _drop_old(folder, spec.key.rpartition("-")[0])
    return target


def _drop_old(folder: Path, prefix: str) -> None:
    """Remove all but the `KEEP` checkpoints of one machine, shape and dtype that were used last."""
    same = [
        path
        for path in folder.glob(f"{prefix}-*")
        if path.is_dir() and path.name.rpartition("-")[0] == prefix
    ]
    for path in sorted(same, key=lambda path: path.stat().st_mtime, reverse=True)[KEEP:]:
        shutil.rmtree(path, ignore_errors=True)
        path.with_name(f"{path.name}.lock").unlink(missing_ok=True)


def build_weights(spec: CheckpointSpec, out: Path, progress: Progress) -> None:
    """Build with the weights backend."""
    from qgc.backends.weights import build

    build(spec.machine, spec.shape, spec.dtype, out, bake=spec.program, progress=progress)


def _code_hash() -> str:
    digest = hashlib.sha256()
    for path in _code_files():
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _code_files() -> Iterator[Path]:
    for package in WEIGHT_SOURCES:
        yield from sorted((ROOT / package).rglob("*.py"))
