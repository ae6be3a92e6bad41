"""`qgc cu2ptx`: CUDA to PTX, by the front end of choice."""

from __future__ import annotations

import click

from qgc.cli.options import FRONTEND, OUT, SOURCE, read_source, write_output
from qgc.sources import Sources


@click.command()
@click.argument("source", type=SOURCE)
@FRONTEND
@OUT
@click.pass_obj
def command(sources: Sources, source: str, frontend: str, out: str) -> None:
    """Compile CUDA to PTX.

    SOURCE is a .cu file, or - for stdin.
    """
    from qgc.driver import Settings, cuda_to_ptx

    text, name = read_source(source, sources)
    write_output(out, cuda_to_ptx(text, name, Settings(frontend), sources).text)
