"""`qgc serve`: a merged model behind OpenAI's chat protocol."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from qgc.cli.conversation import FOLDER, MODE, MODEL, SAMPLING, open_session


@click.command()
@FOLDER
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where to listen; only this machine by default."
)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one."
)
@click.option("--name", help="The model's name for clients.  [default: the folder's name]")
@MODE
@SAMPLING
@MODEL
def command(folder: Path, host: str, port: int, name: str | None, mode: str, **options: Any) -> None:
    """Serve a merged model to OpenAI's clients.

    DIR is a checkpoint of `qgc build`. Answers POST /v1/chat/completions, streamed on demand, and GET /v1/models. Sampling options
    are what holds where a request says nothing. The address goes to stdout when the server listens; Ctrl-C ends it.
    """
    import socket
    from urllib.parse import urlunsplit

    from qgc.diagnostics import fail

    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise fail(
            "serve-missing", "starlette and uvicorn are not installed", hint="pip install 'qgc[serve]'"
        )
    import uvicorn

    from qgc.chat.server import Server

    try:
        listening = socket.create_server((host, port))
    except OSError as err:
        raise fail(
            "serve-port",
            f"cannot listen on {host}:{port}: {err.strerror or err}",
            hint="choose another --port",
        ) from err
    with listening:
        server = Server(open_session(folder, mode, options), name or folder.resolve().name)
        click.echo(urlunsplit(("http", f"{host}:{listening.getsockname()[1]}", "/v1", "", "")))
        uvicorn.Server(uvicorn.Config(server.app, log_level="warning")).run(sockets=[listening])
