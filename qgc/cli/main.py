"""The `qgc` program: finds commands by name, and turns every failure into the right exit code.

Exit codes: 0 done, 1 the input was rejected, 2 wrong usage, 70 a bug in qgc, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

import click

from qgc import __version__
from qgc.diagnostics import QgcError
from qgc.names import unknown
from qgc.sources import Sources

COMMANDS: Mapping[str, str] = {
    "run": "Run a kernel and print its arrays.",
    "cu2ptx": "Compile CUDA to PTX.",
    "ptx2blocks": "Compile PTX to machine blocks.",
    "blocks2weights": "Compile a machine to a model checkpoint.",
    "build": "Put a machine in front of a Qwen3.5 model.",
    "ask": "Ask a merged model one question.",
    "chat": "Talk with a merged model.",
    "serve": "Serve a merged model to OpenAI's clients.",
    "eval": "Score a merged model's answers.",
    "certify": "Prove that a checkpoint computes exactly, or say where not.",
    "drift": "Measure what a merge changed in a model's text.",
    "dump": "Print a program or a machine at any stage.",
    "check": "Parse and verify a file of any stage.",
    "machine": "List the machine presets, or show one.",
    "widen": "Write a small model in a bigger shape, its function unchanged.",
    "bench": "Measure compilers, engines and kernels in one run.",
}
"""Every command and its line in `qgc --help`; the command itself is `qgc.cli.<name>:command`."""

BUG = 70


class Cli(click.Group):
    """A group that imports a command's module when the command is used, and reports errors like a compiler."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command; None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"qgc.cli.{cmd_name}").command
        if not isinstance(command, click.Command):
            raise TypeError(f"qgc.cli.{cmd_name}.command is no command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that `args` begin with; a near miss is named in the error."""
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(unknown("command", args[0], COMMANDS))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a reader of stdout that has left early has what it wanted."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return None
        return result

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run and exit, whatever happens; see the module for the codes."""
        sources = Sources()
        try:
            options = {"standalone_mode": False, "obj": sources, **extra}
            code = super().main(args, prog_name or "qgc", complete_var, **options) or 0
        except Exception as err:  # noqa: BLE001 (the last stop of every failure)
            code = report(err, sources)
        except KeyboardInterrupt:
            code = 130
        sys.exit(code)


def report(err: Exception, sources: Mapping[str, str]) -> int:
    """Say on stderr what went wrong; return the exit code."""
    if isinstance(err, QgcError):
        for diagnostic in err.diagnostics:
            click.echo(diagnostic.render(sources), err=True)
        for note in getattr(err, "__notes__", ()):
            click.echo(f"note: {note}", err=True)
        return err.exit_code
    if isinstance(err, click.exceptions.Exit):
        return err.exit_code
    if isinstance(err, click.Abort):
        click.echo("interrupted", err=True)
        return 130
    if isinstance(err, click.ClickException):
        err.show()
        return err.exit_code
    if _is_out_of_memory(err):
        click.echo("error[memory]: there is not enough memory for this", err=True)
        click.echo("  hint: close other programs, or use a smaller shape, bfloat16 or engine fast", err=True)
        return 1
    click.echo("".join(traceback.format_exception(err)), err=True, nl=False)
    click.echo(f"this is a bug in qgc {__version__}: please report it with the text above", err=True)
    return BUG


def _is_out_of_memory(err: Exception) -> bool:
    """Whether Python, numpy or torch could not get memory; torch says so in a RuntimeError of its own."""
    said = str(err)
    return isinstance(err, MemoryError) or (
        isinstance(err, RuntimeError) and ("can't allocate memory" in said or "out of memory" in said)
    )


@click.group("qgc", cls=Cli, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="qgc")
def cli() -> None:
    """Compile CUDA kernels to programs for a GPU that lives in the weights of a language model, and run them.

    Results go to stdout; progress, notes and errors go to stderr.
    """


def _terminate(_number: int, _frame: FrameType | None) -> None:
    sys.exit(143)  # unwinds, so that half-written outputs are removed


def main() -> None:
    """Entry point of the `qgc` script."""
    signal.signal(signal.SIGTERM, _terminate)
    cli()
