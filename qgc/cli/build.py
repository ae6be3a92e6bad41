"""`qgc build`: a machine in front of a Qwen3.5 model."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from qgc.cli.options import MACHINE, Name
from qgc.ir.machine.config import MachineConfig

if TYPE_CHECKING:
    from qgc.backends.merge.checkpoint import Merge


@click.command()
@click.option("--base", required=True, metavar="MODEL", help="A checkpoint folder, or a hub id OWNER/NAME.")
@click.option(
    "-o", "--out", type=click.Path(file_okay=False, path_type=Path), help="Folder to write; must not exist."
)
@MACHINE
@click.option(
    "--dtype",
    type=Name("dtype", ("auto", "float32", "bfloat16", "float16")),
    default="auto",
    show_default=True,
    help="Stored weights: auto is the base's (float32 for a float16 base), float32, bfloat16.",
)
@click.option("--dry-run", is_flag=True, help="Decide and check everything, print it, and write nothing.")
def command(base: str, out: Path | None, machine: MachineConfig, dtype: str, dry_run: bool) -> None:
    """Put a machine in front of a Qwen3.5 model.

    The model's own layers do not change. Prints the folder: a standard checkpoint of the base's class, with the machine's tokens in its tokenizer. Every row of the
    base's vocabulary is checked: the machine is silent on text, or nothing is built.
    """
    from qgc.backends.merge.base import Base
    from qgc.backends.merge.checkpoint import build, prepare, target_dtype
    from qgc.diagnostics import fail
    from qgc.files import atomic_write
    from qgc.runtime.progress import on_stderr

    if out is None and not dry_run:
        raise click.UsageError("say where to write with -o DIR, or --dry-run")
    if out is not None and out.exists() and not dry_run:
        raise fail("merge-exists", f"{out} exists", hint="name a new folder, or remove that one")
    began = time.perf_counter()
    opened = Base(base)
    target_dtype(opened, dtype)
    with on_stderr() as progress:
        merge = prepare(opened, machine, dtype, progress)
        for line in summary(merge, time.perf_counter() - began):
            click.echo(line, err=not dry_run)
        if dry_run or out is None:
            return
        free = shutil.disk_usage(out.absolute().parent).free if out.absolute().parent.is_dir() else 0
        if out.absolute().parent.is_dir() and free < merge.bytes:
            raise fail(
                "io-space",
                f"{out} needs {merge.bytes / 1e9:.1f} GB, {free / 1e9:.1f} GB are free",
                hint="nothing was written",
            )
        with atomic_write(out) as new:
            build(merge, new, progress)
    click.echo(out)


WRITE_SPEED = 1.5e8
"""Bytes a second that a build writes at least on the machines it was measured on."""


def summary(merge: Merge, seconds: float) -> list[str]:
    """What is built, in lines."""
    base, silence, margin = merge.base, merge.silence, merge.margin
    if silence.kind == "direction":
        how = f"a direction over {len(silence.coordinates)} coordinates; text rows and text logits stay bit-identical"
    else:
        how = f"a guard of {silence.constant:g} on coordinate {silence.coordinates[0]}, taken away by the closing layer"
    size = merge.bytes
    return [
        f"base      {base.name}: {base.layers} layers, hidden {base.shape.hidden}, {base.rows:,} rows, {base.dtype}",
        f"machine   {merge.plan.machine.name}: {merge.layers} compiled layers in front, {merge.layers + base.layers} in all",
        f"tokens    {merge.vocabulary.size:,} of the machine from {base.rows:,} on, {merge.rows:,} rows",
        f"silence   {how}; checked for all {base.rows:,} rows, least {silence.least:.3g}",
        f"margin    of a right logit of {margin.right:.3g}: {margin.machine:.3g} over the machine's, {margin.text:.3g} over text",
        f"          the base adds at most {margin.added:.3g} to a code of {margin.level:.3g}",
        f"output    {merge.dtype}, {size / 1e9:.2f} GB on disk, of which the compiled layers are {merge.compiled_bytes / 1e9:.2f} GB",
        f"time      checked in {seconds:.0f} s; writing takes about {size / WRITE_SPEED:.0f} s and less than 2 GB of memory",
    ]
