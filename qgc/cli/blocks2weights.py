"""`qgc blocks2weights`: a machine, perhaps with a program baked in, to a model checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from qgc.cli.options import MACHINE, SHAPE, SOURCE, dtype_option, read_source
from qgc.ir.layout.shape import ModelShape
from qgc.ir.machine.config import MachineConfig
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.ir.machine.program import Program


@click.command()
@MACHINE
@SHAPE
@dtype_option("bfloat16", "Stored weights (all of them are exact in both)")
@click.option(
    "--bake", metavar="PROGRAM", type=SOURCE, help="Put this program into the weights: a .blocks file."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder to write; default: the cache.",
)
@click.pass_obj
def command(
    sources: Sources,
    machine: MachineConfig,
    shape: ModelShape,
    dtype: str,
    bake: str | None,
    out: Path | None,
) -> None:
    """Compile a machine to a model checkpoint.

    Prints the folder: config.json, safetensors and a tokenizer, which stock transformers loads with from_pretrained.
    """
    from qgc.files import atomic_write
    from qgc.runtime.cache import CheckpointSpec, build_weights, cached
    from qgc.runtime.progress import on_stderr

    program = None if bake is None else _program(bake, sources)
    config = machine if program is None else program.config
    spec = CheckpointSpec(config, shape, dtype, program)
    with on_stderr() as progress:
        if out is None:
            folder = cached(spec, progress)
        else:
            folder = out
            with atomic_write(out) as new:
                build_weights(spec, new, progress)
    click.echo(folder)


def _program(path: str, sources: Sources) -> Program:
    from qgc.ir.machine.verify import load

    text, name = read_source(path, sources)
    return load(text, name)
