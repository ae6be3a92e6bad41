"""`qgc check`: is this file what its stage wants?"""

from __future__ import annotations

import click

from qgc.cli.options import SOURCE, Name, read_source
from qgc.sources import Sources
from qgc.stages import STAGES, stage_of


@click.command()
@click.argument("file", type=SOURCE)
@click.option(
    "--stage", type=Name("stage", STAGES), help="The stage of the file; default: what its suffix says."
)
@click.pass_obj
def command(sources: Sources, file: str, stage: str | None) -> None:
    """Parse and verify a file of any stage.

    FILE may be - for stdin, with --stage. Every fault is printed; without any the exit code is 0.
    """
    if file == "-" and stage is None:
        raise click.UsageError("stdin has no suffix: say which stage it holds with --stage")
    text, name = read_source(file, sources)
    row = STAGES[stage] if stage is not None else stage_of(name)
    row.load(text, name)
    click.echo(f"{name}: {row.name}, no faults", err=True)
