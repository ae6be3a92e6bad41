"""`qgc run`: compile a kernel, launch it on an engine, and print its arrays."""

from __future__ import annotations

import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from qgc.cli.options import (
    FRONTEND,
    KERNEL,
    LAUNCH,
    MACHINE,
    OUT,
    SHAPE,
    SOURCE,
    Name,
    dtype_option,
    read_source,
    write_output,
)
from qgc.diagnostics import QgcError, fail
from qgc.runtime.device import DEVICES
from qgc.runtime.engines import ENGINES
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.driver import Kernel
    from qgc.runtime.checkpoint import Replay
    from qgc.runtime.engines import Request, Result


@click.command()
@click.argument("source", type=SOURCE)
@click.argument("arguments", nargs=-1)
@LAUNCH
@click.option(
    "--engine",
    type=Name("engine", ENGINES),
    default="fast",
    show_default=True,
    help=f"What runs it: {', '.join(ENGINES)}.",
)
@click.option(
    "--check", is_flag=True, help="Replay the whole trace in one prefill of stock transformers, and compare."
)
@click.option("--trace", is_flag=True, help="Print the token stream in words to stderr.")
@click.option("--profile", is_flag=True, help="Print to stderr where the tokens went, and what to change.")
@click.option(
    "--profile-out",
    metavar="NAME",
    type=click.Path(path_type=Path),
    help="Write the profile to NAME.json, NAME.folded (for flame graphs) and NAME.png.",
)
@click.option(
    "--budget",
    type=click.IntRange(1),
    help="Give up after this many generated tokens (hf, fast, isa) or operations (ssa, ptx).",
)
@KERNEL
@FRONTEND
@MACHINE
@SHAPE
@dtype_option("auto", "What transformers computes in (auto: bfloat16 on cuda, else float32)")
@click.option(
    "--device",
    type=Name("device", DEVICES),
    default="auto",
    show_default=True,
    help=f"Where transformers computes (auto: the best there is): {', '.join(DEVICES)}.",
)
@click.option("--bake", is_flag=True, help="Use a checkpoint that has the program in its weights.")
@click.option(
    "--checkpoint",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Use this checkpoint folder.",
)
@OUT
@click.pass_obj
def command(sources: Sources, /, source: str, arguments: tuple[str, ...], out: str, **options: Any) -> None:
    """Run a kernel and print its arrays.

    SOURCE is a .cu, .ptx or .blocks file, or - for CUDA on stdin. ARGUMENTS are the kernel's, by name or in order:
    a=1,2,3 is an array, out=0:5 an array of five zeros, n=7 a number. Arrays are printed in the same form.

    Example: qgc run examples/dot.cu --block 3 a=1,2,3 b=4,5,6 out=0
    """
    wants_tokens = any(options[name] for name in ("check", "trace", "profile", "profile_out"))
    if wants_tokens and not ENGINES[options["engine"]].has_tokens:
        raise click.UsageError(
            f"engine {options['engine']} has no tokens to check, trace or profile; use fast, hf or isa"
        )
    if options["bake"] and options["engine"] not in ("hf", "fast"):
        raise click.UsageError("--bake is for the engines hf and fast: the others have no weights")
    if options["device"] != "auto" and options["engine"] != "hf" and not options["check"]:
        raise click.UsageError(
            "--device is for the engine hf and for --check: nothing else runs transformers"
        )
    from qgc.driver import Kernel, Settings
    from qgc.driver import source as source_of

    if (
        options["engine"] == "fast"
    ):  # numba takes a third of a cached run to import, and the CUDA compiler is waited for
        Thread(target=import_module, args=("qgc.runtime.sparse.model",), daemon=True).start()
    text, name = read_source(source, sources)
    settings = Settings(options["frontend"], options["kernel"], options["machine"])
    kernel = Kernel(source_of(text, name), settings, sources)
    result = _launch(kernel, arguments, options)
    write_output(out, "".join(f"{line}\n" for line in array_lines(kernel, result)))


def _launch(kernel: Kernel, arguments: tuple[str, ...], options: dict[str, Any]) -> Result:
    from qgc.runtime.arguments import bind, parse_argument
    from qgc.runtime.engines import Request, engine
    from qgc.runtime.engines.base import ModelChoice
    from qgc.runtime.progress import on_stderr

    args = bind(kernel.params, map(parse_argument, arguments))
    model = ModelChoice(
        options["shape"], options["dtype"], options["checkpoint"], options["bake"], options["device"]
    )
    with on_stderr() as progress:
        request = Request(
            options["grid"], options["block"], args, options["budget"], model, progress, options["shared"]
        )
        began = time.perf_counter()
        result = engine(options["engine"]).run(kernel, request)
        seconds = time.perf_counter() - began
    click.echo(f"{options['engine']}: {facts_line(result, seconds)}", err=True)
    if options["trace"]:
        for line in _trace(kernel, result):
            click.echo(line, err=True)
    if options["check"]:
        _check(kernel, request, result)
    if options["profile"] or options["profile_out"]:
        _profile(kernel, options, result)
    return result


def array_lines(kernel: Kernel, result: Result) -> list[str]:
    """The arrays in the order of the parameters, as arguments are written."""
    from qgc.runtime.arguments import value_text

    names = [param.name for param in kernel.params]
    return [
        f"{names[number]}={value_text([int(v) & 0xFFFFFFFF for v in array.ravel()])}"
        for number, array in result.arrays.items()
    ]


def facts_line(result: Result, seconds: float) -> str:
    """How much was done, in words."""
    facts = list(result.facts)
    if result.run is not None:
        generated = sum(result.run.generated)
        facts += [f"{len(result.run.tokens) - generated} prompt tokens", f"{generated} generated tokens"]
    return ", ".join([*facts, f"{seconds:.1f} s"])


def _trace(kernel: Kernel, result: Result) -> Iterator[str]:
    from qgc.runtime.trace import trace

    if result.launch is None or result.run is None:
        raise TypeError("the engine gave no tokens")
    numbers = {param.name: number for number, param in enumerate(kernel.program.params)}
    arrays = {
        kernel.params[numbers[region.name]].name if region.name in numbers else region.name[1:]: region.words
        for region in result.launch.image.regions
    }
    return trace(kernel.program, result.run, arrays)


def _profile(kernel: Kernel, options: dict[str, Any], result: Result) -> None:
    from qgc.runtime.profile import profile, table
    from qgc.runtime.profile_files import write_files
    from qgc.runtime.profile_hints import hints

    if result.run is None:
        raise TypeError("the engine gave no tokens")
    layers = result.layer_costs() if result.layer_costs is not None else ()
    found = profile(kernel.program, result.run, layers)
    advice = hints(found)
    if options["profile"]:
        click.echo(table(found, advice), err=True, nl=False)
    if options["profile_out"] is not None:
        for note in write_files(found, advice, options["profile_out"]):
            click.echo(note, err=True)


def _check(kernel: Kernel, request: Request, result: Result) -> None:
    from qgc.runtime.checkpoint import Checkpoint
    from qgc.runtime.engines.hf import check_fit, checkpoint_folder

    if result.run is None:
        raise TypeError("the engine gave no tokens")
    checkpoint = result.checkpoint
    if checkpoint is None:
        folder = checkpoint_folder(kernel.program, request.model, request.progress)
        checkpoint = Checkpoint(folder, request.model.dtype, request.model.device)
        check_fit(checkpoint, kernel.program)
    began = time.perf_counter()
    replay = checkpoint.replay(result.run)
    seconds = time.perf_counter() - began
    if not replay.is_equal:
        raise mismatch(replay)
    click.echo(
        f"check: {replay.positions} generated tokens and all of memory replayed by one prefill of stock transformers, "
        f"all equal, {seconds:.1f} s",
        err=True,
    )


def mismatch(replay: Replay) -> QgcError:
    """The error of a replay that came out otherwise."""
    message = f"{len(replay.words)} words of memory differ"
    if replay.first is not None:
        answered, expected = replay.first
        message = (
            f"{len(replay.mismatches)} of {replay.positions} generated tokens differ, the first at {replay.mismatches[0]}: "
            f"{expected} in the run, {answered} in the replay; {message}"
        )
    return fail("replay-mismatch", message, hint="the checkpoint is damaged or not exact; build it again")
