"""`qgc ptx2blocks`: a program, from PTX or any later stage, to machine blocks."""

from __future__ import annotations

from pathlib import Path

import click

from qgc.cli.options import KERNEL, MACHINE, OUT, PASSES, SOURCE, pass_options, read_source, write_output
from qgc.ir.machine.config import MachineConfig
from qgc.sources import Sources


@click.command()
@click.argument("source", type=SOURCE)
@KERNEL
@MACHINE
@OUT
@PASSES
@click.pass_obj
def command(
    sources: Sources,
    source: str,
    kernel: str | None,
    machine: MachineConfig,
    out: str,
    print_after: tuple[str, ...],
    stop_after: str | None,
    dump_dir: Path | None,
    timings: bool,
) -> None:
    """Compile PTX to machine blocks.

    SOURCE is a .ptx file, a dump of a later stage, or - for PTX on stdin. With --stop-after the IR at that point is
    the result.
    """
    from qgc import driver
    from qgc.stages import STAGES

    text, name = read_source(source, sources)
    options = pass_options(print_after, stop_after, dump_dir, timings)
    settings = driver.Settings("auto", kernel, machine, options)
    given = driver.source(text, name, "ptx" if source == "-" else None)
    unit, stage = driver.load(given, settings, sources)
    try:
        unit, stage = driver.advance(unit, stage, "blocks", settings), "blocks"
    except driver.Stopped as stop:
        unit, stage = stop.module, stop.stage
    write_output(out, STAGES[stage].to_text(unit))
