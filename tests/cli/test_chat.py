"""`qgc ask`, `qgc chat`, `qgc serve` and `qgc eval` from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from qgc.chat.console import COMMANDS, Console
from qgc.chat.device import Device
from qgc.chat.screen import Screen
from qgc.chat.session import Session
from qgc.cli.main import cli
from qgc.ir.machine.config import PRESETS
from qgc.runtime.checkpoint import Checkpoint
from tests.helpers.talkers import Scripted

HOST = Path(__file__).parent.parent.parent / "host"


def console(*texts: str) -> Console:
    session = Session(Scripted(*texts, tokens=["<gpu>"]), Device(None, "isa", PRESETS["simt4"]))
    return Console(session, Screen())


def test_a_conversation(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    chat = console("<gpu>6 * 7</gpu>", "It is 42.", "Bye.", "Again.")
    for line in (
        "6 times 7?",
        "",
        "/trace",
        "/trace",
        "/system Be brief.",
        f"/save {tmp_path}/c.json",
        "bye",
    ):
        chat.enter(line)
    out, err = capsys.readouterr()
    assert out == "It is 42.\nBye.\n"
    assert "gpu: 6 * 7 = 42\n  multiply: " in err
    assert "EXEC" in err
    saved = json.loads((tmp_path / "c.json").read_text())
    assert saved[1] == {"role": "assistant", "content": "<gpu>6 * 7</gpu><result>42</result>It is 42."}
    chat.enter("/reset")
    assert chat.history == []
    chat.enter("again")
    assert isinstance(chat.session.talker, Scripted)
    assert chat.session.talker.seen[-1] == "<system>Be brief.<user>again<assistant>"


def test_commands(capsys: pytest.CaptureFixture[str]) -> None:
    chat = console()
    for line in (
        "/help",
        "/sistem",
        "/mode cuda",
        "/mode advanced",
        "/save",
        "/save /no/such/folder/x",
        "/exit",
    ):
        chat.enter(line)
    err = capsys.readouterr().err
    assert [name for name in COMMANDS if f"/{name}" not in err] == []
    assert "did you mean '/system'" in err
    assert "no mode 'cuda'" in err
    assert "say where" in err
    assert "cannot write" in err
    assert chat.session.protocol.name == "cuda"
    assert chat.is_over


def test_ctrl_c_stops_a_launch_and_keeps_the_chat(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = console("<gpu>6 * 7</gpu>", "Still here.")

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chat.session.device, "launch", stopped)
        chat.enter("6 times 7?")
    chat.enter("are you there?")
    out, err = capsys.readouterr()
    assert "(stopped)" in err
    assert out == "Still here.\n"
    assert [message.role for message in chat.history] == ["user", "assistant"] * 2


def test_a_fault_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    console("<gpu>1 // 0</gpu>").enter("1 by 0?")
    out, err = capsys.readouterr()
    assert out == "I cannot compute 1 // 0: division by zero (column 1).\n"
    assert "gpu: 1 // 0" in err


def test_a_machine_alone_is_refused(nano: Checkpoint, tmp_path: Path) -> None:
    for args in (["ask", str(nano.folder), "hi"], ["chat", str(nano.folder)], ["eval", str(nano.folder)]):
        done = CliRunner().invoke(cli, args)
        assert done.exit_code == 1, done.output
        assert "error[chat-text]" in done.stderr
        assert "qgc build" in done.stderr
    done = CliRunner().invoke(cli, ["ask", str(tmp_path), "hi"])
    assert "error[checkpoint-manifest]" in done.stderr
    assert CliRunner().invoke(cli, ["ask", str(nano.folder), " "]).exit_code == 2
    assert CliRunner().invoke(cli, ["ask", str(nano.folder), "hi", "--top-p", "0"]).exit_code == 2


def test_help_imports_nothing_slow() -> None:
    code = "import sys; import qgc.cli.ask, qgc.cli.chat, qgc.cli.serve, qgc.cli.eval; print(sorted({'torch', 'transformers', 'starlette', 'lark', 'numba'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_the_full_path(tmp_path: Path) -> None:
    """The host widened, put behind simt4, and asked: every number comes out of the merged model's own weights."""
    wide, merged = str(tmp_path / "wide"), str(tmp_path / "merged")
    for args in (
        ["widen", str(HOST), "-o", wide, "--shape", "small"],
        ["build", "--base", wide, "-o", merged],
    ):
        assert CliRunner().invoke(cli, args).exit_code == 0
    done = CliRunner().invoke(cli, ["ask", merged, "what is the dot product of [1, 2, 3] and [4, 5, 6]?"])
    assert done.exit_code == 0
    assert "32" in done.stdout
    assert "gpu: [1, 2, 3] @ [4, 5, 6] = 32\n  matmul: " in done.stderr
    done = CliRunner().invoke(
        cli, ["chat", merged], input="what is 6 times 7?\nthat mod 5\ndivide 1 by 0\n/exit\n"
    )
    assert "gpu: 6 * 7 = 42\n" in done.stderr
    assert "gpu: 42 % 5 = 2\n" in done.stderr
    assert "division by zero" in done.stdout
    done = CliRunner().invoke(cli, ["eval", merged, "--json"])
    found = json.loads(done.stdout)
    assert found["right"] >= 20
    assert found["launches"] >= 24
