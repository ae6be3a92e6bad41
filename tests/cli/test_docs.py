"""docs/cli.md is what the commands say."""

from __future__ import annotations

from collections.abc import Callable

from qgc.cli.docs import cli_markdown
from qgc.cli.main import COMMANDS


def test_the_page_is_current(golden: Callable[[str, str], None]) -> None:
    golden("../docs/cli.md", cli_markdown())


def test_the_page_has_every_command() -> None:
    page = cli_markdown()
    assert [name for name in COMMANDS if f"## qgc {name}\n" not in page] == []
    assert "## qgc machine show\n" in page
