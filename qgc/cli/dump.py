"""`qgc dump`: a program or a machine as it stands at any stage."""

from __future__ import annotations

from typing import Any

import click

from qgc.cli.options import (
    FRONTEND,
    KERNEL,
    LAUNCH,
    MACHINE,
    OUT,
    PASSES,
    SHAPE,
    SOURCE,
    Name,
    pass_options,
    read_source,
    write_output,
)
from qgc.sources import Sources
from qgc.stages import STAGES


@click.command()
@click.argument("file", type=SOURCE, required=False)
@click.argument("arguments", nargs=-1)
@click.option(
    "--stage", required=True, type=Name("stage", STAGES), help=f"What to print: {', '.join(STAGES)}."
)
@click.option(
    "--from",
    "start",
    type=Name("stage", ("cuda", *STAGES)),
    help="What FILE holds; default: what its suffix says.",
)
@KERNEL
@FRONTEND
@MACHINE
@SHAPE
@LAUNCH
@OUT
@PASSES
@click.pass_obj
def command(
    sources: Sources, /, file: str | None, arguments: tuple[str, ...], stage: str, out: str, **options: Any
) -> None:
    """Print a program or a machine at any stage.

    FILE is a .cu file or a file of an earlier stage, or - for stdin; it is taken on to the wanted stage. Stages of
    the machine need no file. Stage tokens needs a launch: --grid, --block and ARGUMENTS as in `qgc run`.
    """
    if STAGES[stage].side == "machine":
        write_output(out, _machine(stage, options))
        return
    if file is None:
        raise click.UsageError(f"stage {stage} needs a FILE")
    text, name = read_source(file, sources)
    write_output(out, _program(text, name, arguments, stage, options, sources))


def _program(
    text: str, name: str, arguments: tuple[str, ...], stage: str, options: dict[str, Any], sources: Sources
) -> str:
    from qgc import driver

    passes = pass_options(**{k: options[k] for k in ("print_after", "stop_after", "dump_dir", "timings")})
    settings = driver.Settings(options["frontend"], options["kernel"], options["machine"], passes)
    source = driver.source(text, name, options["start"])
    try:
        if stage == "tokens":
            return _tokens(driver.Kernel(source, settings, sources), arguments, options)
        unit, start = driver.load(source, settings, sources)
        unit = driver.advance(unit, start, stage, settings)
    except driver.Stopped as stop:
        unit, stage = stop.module, stop.stage
    return STAGES[stage].to_text(unit)


def _tokens(kernel: Any, arguments: tuple[str, ...], options: dict[str, Any]) -> str:
    from qgc.driver import LaunchArguments, blocks_to_tokens
    from qgc.runtime.arguments import bind, parse_argument

    if kernel.start[1] == "tokens":
        return STAGES["tokens"].to_text(kernel.start[0])
    args = bind(kernel.params, map(parse_argument, arguments))
    launch = LaunchArguments(options["grid"], options["block"], args, options["shared"])
    return STAGES["tokens"].to_text(blocks_to_tokens(kernel.program, launch))


def _machine(stage: str, options: dict[str, Any]) -> str:
    from qgc.driver import machine_unit

    unit = machine_unit(stage, options["machine"], options["shape"])
    return STAGES[stage].to_text(unit)
