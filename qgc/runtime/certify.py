"""A checkpoint folder as what can be certified: its files, and the plan that its manifest names, made again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qgc.diagnostics import fail
from qgc.runtime.checkpoint import Checkpoint
from qgc.runtime.progress import Progress, silent

if TYPE_CHECKING:
    from qgc.backends.certify.certificate import Certificate
    from qgc.ir.layout.shape import ModelShape
    from qgc.ir.machine.program import Program


def certify_folder(
    folder: Path,
    dtypes: tuple[str, ...],
    program: Program | None = None,
    progress: Progress = silent,
) -> Certificate:
    """Certify a checkpoint folder; `program` is the one that is baked into it, if any.

    Raises:
        QgcError: `checkpoint-manifest` when the folder holds no machine, `certify-program` when its baked program is missing or another, `fast-checkpoint` when a file cannot be read.
    """
    from qgc.backends.certify.certificate import Stored, certify
    from qgc.backends.weights.plan import plan
    from qgc.runtime.sparse.files import Files

    checkpoint = Checkpoint(folder)
    manifest = checkpoint.manifest
    if checkpoint.baked != (program and program.kernel):
        held = f"the program {checkpoint.baked}" if checkpoint.baked else "no program"
        given = f"the program {program.kernel}" if program else "none"
        raise fail(
            "certify-program",
            f"{folder} has {held} in its weights, and {given} was given",
            hint="--bake takes the .blocks file that the checkpoint was made with",
        )
    shape = _shape(folder, manifest)
    files = Files(folder)
    progress("plan", 0, 1)
    merged = None
    if "base" in manifest:
        from qgc.backends.certify.merged import MergedPart

        merged = MergedPart(folder, manifest)
    made = plan(checkpoint.machine, shape, program, lambda _: merged.coordinates if merged else ())
    stored = Stored(files.config, manifest, frozenset(files.names), files.tensor, files.close)
    return certify(stored, made, dtypes, progress, merged)


def _shape(folder: Path, manifest: dict[str, Any]) -> ModelShape:
    from qgc.ir.layout.shape import SHAPES, ModelShape

    try:
        found = ModelShape(**manifest["shape"])
    except (KeyError, TypeError) as err:
        raise fail("checkpoint-manifest", f"{folder}: qgc.json names no shape: {err}") from err
    known = SHAPES.get(found.name)
    return known if known is not None and replace(known) == found else found
