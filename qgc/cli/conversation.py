"""What `ask`, `chat`, `serve` and `eval` share: their options, and the session that these mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qgc.cli.options import Name, several
from qgc.runtime.device import DEVICES

if TYPE_CHECKING:
    from qgc.chat.session import Session

FOLDER = click.argument(
    "folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
MODE = click.option(
    "--mode",
    type=Name("mode", ("normal", "advanced")),
    default="normal",
    show_default=True,
    help="normal: the model writes expressions; advanced: it writes CUDA kernels.",
)
MODEL = several(
    click.option(
        "--engine",
        type=Name("engine", ("fast", "hf")),
        default="fast",
        show_default=True,
        help="What runs launches: fast (the same weights as sparse lists), hf (stock transformers).",
    ),
    click.option(
        "--whole",
        is_flag=True,
        help="Take text through all layers; without it the compiled ones, which are silent on text, are left out.",
    ),
    click.option(
        "--device",
        type=Name("device", DEVICES),
        default="auto",
        show_default=True,
        help=f"Where text is computed: {', '.join(DEVICES)}.",
    ),
    click.option(
        "--budget",
        type=click.IntRange(1),
        default=1_000_000,
        show_default=True,
        help="Tokens after which a launch is given up.",
    ),
)
SAMPLING = several(
    click.option("--system", default="", help="What the model is told first."),
    click.option(
        "--temperature",
        type=click.FloatRange(0, 10),
        default=0.0,
        show_default=True,
        help="0 takes the likeliest token; more takes more chances.",
    ),
    click.option(
        "--top-p",
        type=click.FloatRange(0, 1, min_open=True),
        default=1.0,
        show_default=True,
        help="Draw from the likeliest tokens that have this probability together.",
    ),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the draws."),
    click.option(
        "--max-new-tokens",
        type=click.IntRange(1),
        default=512,
        show_default=True,
        help="Tokens of text in one turn.",
    ),
)
TRACE = click.option("--show-trace", is_flag=True, help="Print all tokens of every launch to stderr.")


def open_session(folder: Path, mode: str, options: dict[str, Any]) -> Session:
    """Load the model, and say on stderr what it is.

    Raises:
        QgcError: what loading raises.
    """
    from qgc.chat.device import Device
    from qgc.chat.screen import launch_progress
    from qgc.chat.session import Session
    from qgc.chat.talker import ModelTalker, Sampling

    device = Device(folder, options["engine"], budget=options["budget"], shown=launch_progress)
    talker = ModelTalker(folder, options["whole"], device=options["device"])
    sampling = Sampling(
        options.get("temperature", 0.0),
        options.get("top_p", 1.0),
        options.get("seed", 0),
        options.get("max_new_tokens", 512),
    )
    return Session(talker, device, mode, sampling, options.get("system", ""))
