"""A profile as files: for flame graphs, for programs, and as a picture."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from qgc.diagnostics import QgcError
from qgc.files import write_text
from qgc.runtime.profile import Profile, as_json, folded
from qgc.runtime.profile_plot import check_plot, plot


def write_files(found: Profile, hints: Sequence[str], name: Path) -> list[str]:
    """Write NAME.json, NAME.folded and, where matplotlib is installed, NAME.png; a line about each.

    Raises:
        QgcError: `io-write`.
    """
    json_file, stacks, picture = (
        name.with_name(name.name + suffix) for suffix in (".json", ".folded", ".png")
    )
    write_text(json_file, json.dumps(as_json(found, hints), indent=2) + "\n")
    write_text(stacks, folded(found))
    lines = [f"wrote {json_file}", f"wrote {stacks}"]
    try:
        check_plot()
    except QgcError as err:
        return [*lines, f"no {picture}: {err.diagnostics[0].message}; {err.diagnostics[0].hint}"]
    plot(found, picture)
    return [*lines, f"wrote {picture}"]
