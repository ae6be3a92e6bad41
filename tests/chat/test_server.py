"""The server as the client of OpenAI sees it, over a real socket."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlunsplit

import openai
import pytest
import uvicorn

from qgc.chat.device import Device
from qgc.chat.server import Server, read_request
from qgc.chat.session import Session
from qgc.chat.talker import Sampling
from qgc.diagnostics import QgcError
from tests.helpers.talkers import Scripted

TEXTS = ("<gpu>6 * 7</gpu>", "It is 42.")


class Served:
    """A server in a thread, on a free port."""

    def __init__(self, session: Session) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self._server = uvicorn.Server(uvicorn.Config(Server(session, "tiny").app, log_level="error"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self.socket]})
        self._thread.start()
        url = urlunsplit(("http", f"127.0.0.1:{self.socket.getsockname()[1]}", "/v1", "", ""))
        self.client = openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=30)

    def close(self) -> None:
        self.client.close()
        self._server.should_exit = True
        self._thread.join()
        self.socket.close()


@pytest.fixture
def talker() -> Scripted:
    return Scripted(*TEXTS, *TEXTS, tokens=["<gpu>"])


@pytest.fixture
def client(talker: Scripted, simt4: Device) -> Iterator[openai.OpenAI]:
    served = Served(Session(talker, simt4))
    yield served.client
    served.close()


def test_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["tiny"]
    assert client.models.retrieve("tiny").owned_by == "qgc"
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("large")


def test_a_whole_answer(client: openai.OpenAI, talker: Scripted) -> None:
    answer = client.chat.completions.create(
        model="tiny",
        messages=[
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "6 times 7?"}]},
        ],
    )
    (choice,) = answer.choices
    assert (choice.message.content, choice.finish_reason) == ("It is 42.", "stop")
    (call,) = choice.message.model_extra["gpu"]  # type: ignore[index]
    assert (call["call"], call["result"]) == ("6 * 7", "42")
    assert call["launches"][0]["execs"] > 0
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    assert talker.seen[0] == "<system>Be kind.<user>6 times 7?<assistant>"


def test_a_streamed_answer(client: openai.OpenAI) -> None:
    stream = client.chat.completions.create(
        model="tiny",
        messages=[{"role": "user", "content": "6 times 7?"}],
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(stream)
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert len([text for text in texts if text]) > 1
    assert "".join(text or "" for text in texts) == "It is 42."
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "stop"
    assert chunks[-1].usage is not None
    assert len({chunk.id for chunk in chunks}) == 1


def test_requests_wait_for_each_other(client: openai.OpenAI) -> None:
    found: list[str | None] = []

    def ask() -> None:
        answer = client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "?"}])
        found.append(answer.choices[0].message.content)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == ["It is 42."] * 2


def test_a_fault_is_the_answer(simt4: Device) -> None:
    served = Served(Session(Scripted("<gpu>1 // 0</gpu>", tokens=["<gpu>"]), simt4))
    answer = served.client.chat.completions.create(model="tiny", messages=[{"role": "user", "content": "?"}])
    served.close()
    assert answer.choices[0].message.content == "error: division by zero (column 1)"


def test_refusals_are_openai_errors(client: openai.OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="messages: a list of at least one"):
        client.chat.completions.create(model="tiny", messages=[])
    with pytest.raises(openai.NotFoundError, match="no model 'large'"):
        client.chat.completions.create(model="large", messages=[{"role": "user", "content": "?"}])


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "role"),
        ({"messages": [{"role": "user", "content": 3}]}, "content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "type text only"),
        ({"messages": [{"role": "system", "content": "x"}]}, "none of the user"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"top_p": 0}, "top_p"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"n": 2}, "one answer"),
    ],
)
def test_what_a_request_must_not_say(changes: dict[str, object], fault: str) -> None:
    body = {"messages": [{"role": "user", "content": "hi"}]} | changes
    with pytest.raises(QgcError, match=fault):
        read_request(json.loads(json.dumps(body)), "tiny", Sampling())


def test_what_a_request_may_leave_out() -> None:
    defaults = Sampling(0.5, 0.9, 3, 64)
    asked = read_request({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 7}, "tiny", defaults)
    assert asked.sampling == Sampling(0.5, 0.9, 3, 7)
    assert not asked.is_streamed
