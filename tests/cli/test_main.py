"""The program itself: help without weight, exit codes, and diagnostics on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from qgc import __version__
from qgc.cli import main
from qgc.cli.main import COMMANDS, cli
from qgc.diagnostics import Diagnostic, QgcError, Span

HEAVY = ("torch", "transformers", "numpy", "lark", "rich", "networkx", "numba", "safetensors", "filelock")


def qgc(*args: str, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(cli, args, input=stdin)


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], Result]:
    """Run a function as if it were a command."""

    def run(action: Callable[[], None]) -> Result:
        monkeypatch.setattr(main.Cli, "get_command", lambda *_: click.Command("probe", callback=action))
        return qgc("run")

    return run


def test_help_imports_nothing_heavy() -> None:
    code = f"""if True:
        import sys
        from qgc.cli.main import cli
        try:
            cli(["--help"])
        except SystemExit as end:
            loaded = [name for name in {HEAVY} if name in sys.modules]
            print(end.code, loaded)"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "0 []"
    assert "Commands:" in shown


def test_help_lists_every_command() -> None:
    result = qgc("--help")
    assert result.exit_code == 0
    for name, line in COMMANDS.items():
        assert name in result.output
        assert line in result.output


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_in_the_words_of_the_list(name: str) -> None:
    result = qgc(name, "--help")
    assert result.exit_code == 0
    assert COMMANDS[name] in result.output


def test_the_version_is_the_package_version() -> None:
    assert qgc("--version").output == f"qgc, version {__version__}\n"


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["rnu"], "no command 'rnu'; did you mean 'run'?"),
        (["--bogus"], "--bogus"),
        (["machine", "show", "simt44"], "no machine 'simt44'; did you mean 'simt4'?"),
        (["machine", "show", "xyz"], "no machine 'xyz'; there are: simt4, simt4x, simt8, nano"),
        ([], "Usage:"),
    ],
)
def test_wrong_usage_is_exit_2(args: list[str], said: str) -> None:
    result = qgc(*args)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""


def test_rejected_input_is_exit_1_with_place_and_remedy(
    command: Callable[[Callable[[], None]], Result], tmp_path: Path
) -> None:
    source = tmp_path / "k.ptx"
    source.write_text("first\n  add.u32 %r1, %r2;\n")

    def action() -> None:
        raise QgcError(
            Diagnostic("ssa-arity", "too few operands", Span(str(source), 2, 3, 10), "add one"),
            Diagnostic("ssa-type", "wrong type", Span(str(source), 1, 1)),
        )

    result = command(action)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.splitlines() == [
        f"{source}:2:3: error[ssa-arity]: too few operands",
        "    add.u32 %r1, %r2;",
        "    ^^^^^^^",
        "  hint: add one",
        f"{source}:1:1: error[ssa-type]: wrong type",
        "  first",
        "  ^",
    ]


def test_notes_of_an_error_are_shown(command: Callable[[Callable[[], None]], Result]) -> None:
    def action() -> None:
        error = QgcError(Diagnostic("x", "wrong"))
        error.add_note("after pass 'dce' (#4)")
        raise error

    assert command(action).stderr == "error[x]: wrong\nnote: after pass 'dce' (#4)\n"


def test_a_bug_is_exit_70_with_a_traceback(command: Callable[[Callable[[], None]], Result]) -> None:
    def action() -> None:
        raise ZeroDivisionError("oops")

    result = command(action)
    assert result.exit_code == 70
    assert "ZeroDivisionError: oops" in result.stderr
    assert "this is a bug in qgc" in result.stderr


@pytest.mark.parametrize(
    "err",
    [
        MemoryError("Unable to allocate 9 TiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    ],
    ids=["numpy", "torch", "cuda"],
)
def test_too_little_memory_is_no_bug(command: Callable[[Callable[[], None]], Result], err: Exception) -> None:
    def action() -> None:
        raise err

    result = command(action)
    assert result.exit_code == 1
    assert result.stderr.startswith("error[memory]: there is not enough memory")
    assert "Traceback" not in result.stderr


def test_an_interrupt_is_exit_130(command: Callable[[Callable[[], None]], Result]) -> None:
    def action() -> None:
        raise KeyboardInterrupt

    assert command(action).exit_code == 130


def test_a_reader_that_leaves_is_no_error() -> None:
    shown = subprocess.run(
        f"{sys.executable} -m qgc machine show simt4 | true; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert shown.stdout == "0\n"
    assert shown.stderr == ""


def test_machine_list_and_show_agree() -> None:
    listed = json.loads(qgc("machine", "list", "--json").stdout)
    for machine in listed:
        facts = json.loads(qgc("machine", "show", machine["name"], "--json").stdout)
        assert machine.items() <= facts.items()
        assert machine["name"] in qgc("machine", "list").stdout
    assert "vocabulary" in qgc("machine", "show", "nano").stdout
