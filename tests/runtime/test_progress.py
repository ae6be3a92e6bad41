"""Progress goes to stderr: a bar on a terminal, a line in a log."""

from __future__ import annotations

import sys

import pytest

from qgc.runtime.progress import on_stderr


def test_a_log_gets_one_line_for_each_kind_of_work(capsys: pytest.CaptureFixture[str]) -> None:
    with on_stderr() as progress:
        for done in range(3):
            progress("write", done, 3)
        progress("generate", 1, 0)
    assert capsys.readouterr() == ("", "write ...\ngenerate ...\n")


def test_a_terminal_gets_a_bar(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with on_stderr() as progress:
        for done in range(4):
            progress("write", done, 3)
        progress("generate", 7, 0)
    out, err = capsys.readouterr()
    assert out == ""
    assert "write" in err
    assert "3/3" in err
