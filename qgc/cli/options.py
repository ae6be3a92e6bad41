"""What several commands share: inputs from files or stdin, outputs to files or stdout, names with suggestions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from qgc import files
from qgc.ir.layout.shape import SHAPES, ModelShape, parse_shape
from qgc.ir.machine.config import PRESETS, MachineConfig, machine_of
from qgc.names import unknown
from qgc.sources import Sources

if TYPE_CHECKING:
    from qgc.passes.manager import Options

Command = TypeVar("Command", bound=Callable[..., Any])

DTYPES = ("float32", "bfloat16")
"""What weights are stored in; `qgc run --dtype` takes `auto` as well."""


class Name(click.ParamType[str]):
    """A name out of a fixed list; the error lists them and suggests the nearest."""

    name = "name"

    def __init__(self, what: str, names: Iterable[str]) -> None:
        self.what = what
        self.names = tuple(names)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name itself, or fail as a usage error."""
        if value not in self.names:
            self.fail(unknown(self.what, value, self.names), param, ctx)
        return str(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show what kind of name the option takes."""
        return self.what.upper()


SOURCE = click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=str)
"""An input file, or `-` for stdin."""

OUTPUT = click.Path(allow_dash=True, path_type=str)
"""An output file, or `-` for stdout."""


OUT = click.option("-o", "--out", type=OUTPUT, default="-", help="Where the result goes; - is stdout.")
FRONTEND = click.option(
    "--frontend",
    type=Name("front end", ("auto", "clang", "nvrtc")),
    default="auto",
    show_default=True,
    help="CUDA compiler: auto, clang or nvrtc.",
)
KERNEL = click.option("--kernel", help="The kernel, where a file has several.")


class Machine(click.ParamType[MachineConfig]):
    """A machine: the name of a preset, or a TOML file."""

    name = "machine"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> MachineConfig:
        """Return the machine; an unknown name is a usage error, a file that is no machine a QgcError."""
        if isinstance(value, MachineConfig):
            return value
        if not value.endswith(".toml"):
            Name("machine", PRESETS).convert(value, param, ctx)
        return machine_of(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show what is taken."""
        return "MACHINE"


class Shape(click.ParamType[ModelShape]):
    """A model shape: the name of a preset, `hidden=N,intermediate=N,...`, or a TOML file."""

    name = "shape"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> ModelShape:
        """Return the shape; an unknown name is a usage error, any other mistake a QgcError."""
        if isinstance(value, ModelShape):
            return value
        if "=" not in value and not value.endswith(".toml"):
            Name("shape", SHAPES).convert(value, param, ctx)
        return parse_shape(value)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show what is taken."""
        return "SHAPE"


MACHINE = click.option(
    "--machine",
    type=Machine(),
    default="simt4",
    show_default=True,
    help=f"Machine: {', '.join(PRESETS)}, or a .toml file.",
)


def read_source(path: str, sources: Sources) -> tuple[str, str]:
    """The text of a file or of stdin (`-`), and the name that diagnostics give it.

    Raises:
        QgcError: `io-read` or `io-encoding`.
    """
    if path != "-":
        text = files.read_text(Path(path))
        sources.remember(path, text)
        return text, path
    try:
        text = sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as err:
        raise files.not_text("<stdin>", err) from err
    sources.remember("<stdin>", text)
    return text, "<stdin>"


def write_output(path: str, text: str) -> None:
    """Write a result to a file, atomically, or to stdout (`-`).

    Raises:
        QgcError: `io-write`.
    """
    if path == "-":
        click.echo(text, nl=False)
    else:
        files.write_text(Path(path), text)


class Size(click.ParamType[tuple[int, int, int]]):
    """A grid or block: `X`, `X,Y` or `X,Y,Z`; `x` may stand for the comma."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int, int]:
        """Return sizes in x, y and z, or fail as a usage error."""
        if isinstance(value, tuple):
            return value
        parts = value.replace("x", ",").split(",")
        if len(parts) > 3 or not all(p.isascii() and p.isdigit() and len(p) < 10 and int(p) for p in parts):
            self.fail(f"{value!r} is no size; write X, X,Y or X,Y,Z with numbers from 1", param, ctx)
        x, y, z = (*map(int, parts), 1, 1)[:3]
        return x, y, z

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Show the form."""
        return "X[,Y[,Z]]"


class PassName(click.ParamType[str]):
    """The name of a pass of the pipeline."""

    name = "pass"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name, or fail as a usage error."""
        from qgc.passes.pipelines import PIPELINE

        return Name("pass", dict.fromkeys(step.name for step in PIPELINE)).convert(value, param, ctx)


def several(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Apply several option decorators, in the order in which help shows them."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


PASSES = several(
    click.option(
        "--print-after", multiple=True, type=PassName(), help="Print the IR after this pass to stderr."
    ),
    click.option("--stop-after", type=PassName(), help="Stop after this pass."),
    click.option(
        "--dump-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Write a numbered file for each pass.",
    ),
    click.option("--timings", is_flag=True, help="Print the time of each pass to stderr."),
)
LAUNCH = several(
    click.option("--grid", type=Size(), default=(1, 1, 1), help="Blocks of the grid.  [default: 1]"),
    click.option("--block", type=Size(), default=(1, 1, 1), help="Threads of a block.  [default: 1]"),
    click.option(
        "--shared", type=click.IntRange(0), default=0, help="Bytes of extern __shared__ arrays.  [default: 0]"
    ),
)
SHAPE = click.option(
    "--shape",
    type=Shape(),
    default="small",
    show_default=True,
    help=f"Model shape: {', '.join(SHAPES)}, hidden=N,intermediate=N, or a .toml file.",
)


def dtype_option(default: str, what: str) -> Callable[[Command], Command]:
    """`--dtype`, with what it means for a command. An unknown one is a usage error."""
    dtypes = tuple(dict.fromkeys((default, *DTYPES)))
    return click.option(
        "--dtype",
        type=Name("dtype", dtypes),
        default=default,
        show_default=True,
        help=f"{what}: {', '.join(dtypes)}.",
    )


def pass_options(
    print_after: Sequence[str], stop_after: str | None, dump_dir: Path | None, timings: bool
) -> Options:
    """What `PASSES` asks of the pass manager."""
    from qgc.passes.manager import Options

    return Options(print_after=tuple(print_after), stop_after=stop_after, dump_dir=dump_dir, timings=timings)
