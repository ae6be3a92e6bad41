"""An HTTP server that speaks OpenAI's chat protocol: `/v1/models` and `/v1/chat/completions`, whole or streamed.

One model, one turn at a time: requests wait for each other. What a launch computed is in the text, as in `qgc chat`; beside it a
message has `gpu`, the calls with their results and costs, which clients that do not know it ignore.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from qgc.chat.session import Computed, Event, Failed, Said, Session, Turn
from qgc.chat.talker import Message, Sampling
from qgc.diagnostics import QgcError, fail

if TYPE_CHECKING:
    from collections.abc import Mapping

ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
MAX_BODY = 1 << 20
"""Bytes of a request."""
FINISH = {"stop": "stop", "length": "length", "error": "stop"}
"""OpenAI's words for the end of a turn."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was read: the conversation, how to sample, and whether to stream, with the usage at the end."""

    messages: tuple[Message, ...]
    sampling: Sampling
    is_streamed: bool
    wants_usage: bool


def read_request(body: Any, model: str, defaults: Sampling) -> Asked:
    """Check a request's JSON.

    Raises:
        QgcError: `serve-request` with what is wrong; `serve-model` for another model.
    """
    if not isinstance(body, dict):
        raise fail("serve-request", "the body is no JSON object")
    if body.get("model") not in (None, model):
        raise fail("serve-model", f"there is no model {body['model']!r}; this is {model!r}")
    if body.get("n") not in (None, 1):
        raise fail("serve-request", "n: one answer is given at a time")
    given = body.get("messages")
    if not isinstance(given, list) or not given:
        raise fail("serve-request", "messages: a list of at least one message")
    messages = tuple(_message(number, message) for number, message in enumerate(given))
    if not any(message.role == "user" for message in messages):
        raise fail("serve-request", "messages: there is none of the user")
    most = body.get("max_completion_tokens", body.get("max_tokens"))
    sampling = Sampling(
        _number(body, "temperature", defaults.temperature, 0, 2),
        _number(body, "top_p", defaults.top_p, 1e-6, 1),
        int(_number(body, "seed", defaults.seed, -(2**63), 2**63 - 1)),
        defaults.max_new_tokens
        if most is None
        else int(_number({"max_tokens": most}, "max_tokens", 0, 1, 1 << 20)),
    )
    options = body.get("stream_options") or {}
    wants_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return Asked(messages, sampling, bool(body.get("stream")), wants_usage)


def _message(number: int, given: Any) -> Message:
    where = f"messages[{number}]"
    if not isinstance(given, dict) or given.get("role") not in ROLES:
        raise fail("serve-request", f"{where}.role: one of {', '.join(ROLES)}")
    content = given.get("content")
    if isinstance(content, list):
        if not all(
            isinstance(p, dict) and p.get("type") == "text" and isinstance(p.get("text"), str)
            for p in content
        ):
            raise fail("serve-request", f"{where}.content: parts of type text only")
        content = "".join(part["text"] for part in content)
    if not isinstance(content, str):
        raise fail("serve-request", f"{where}.content: a text")
    return Message(ROLES[given["role"]], content)


def _number(body: Mapping[str, Any], name: str, default: float, least: float, most: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise fail("serve-request", f"{name}: a number from {least:g} to {most:g}")
    return value


class Server:
    """Answers requests with one session.

    Attributes:
        model: the name that clients use.
        app: the ASGI application.
    """

    def __init__(self, session: Session, model: str) -> None:
        self.model = model
        self._session = session
        self._lock = Lock()
        self._began = int(time.time())
        self.app = Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/models/{name:path}", self._one_model),
                Route("/v1/chat/completions", self._completions, methods=["POST"]),
            ]
        )

    async def _models(self, _request: Request) -> Response:
        return JSONResponse({"object": "list", "data": [self._model()]})

    async def _one_model(self, request: Request) -> Response:
        if request.path_params["name"] != self.model:
            return _refusal(fail("serve-model", f"there is no model {request.path_params['name']!r}"))
        return JSONResponse(self._model())

    def _model(self) -> dict[str, Any]:
        return {"id": self.model, "object": "model", "created": self._began, "owned_by": "qgc"}

    async def _completions(self, request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > MAX_BODY:
                return _refusal(fail("serve-request", f"the body is longer than {MAX_BODY} bytes"))
        try:
            asked = read_request(json.loads(body), self.model, self._session.sampling)
        except (ValueError, RecursionError) as err:
            return _refusal(fail("serve-request", f"the body is no JSON: {err}"))
        except QgcError as err:
            return _refusal(err)
        if asked.is_streamed:
            return StreamingResponse(self._stream(asked), media_type="text/event-stream")
        return JSONResponse(await run_in_threadpool(self._whole, asked))

    def _whole(self, asked: Asked) -> dict[str, Any]:
        turn, calls = Turn(), []
        with self._lock:
            for event in self._session.reply(asked.messages, turn, asked.sampling):
                calls += _calls(event)
        message = {"role": "assistant", "content": turn.text, "gpu": calls}
        choice = {"index": 0, "message": message, "finish_reason": FINISH[turn.end], "logprobs": None}
        return self._head("chat.completion") | {"choices": [choice], "usage": self._usage(asked, turn)}

    def _stream(self, asked: Asked) -> Iterator[str]:
        """Server-sent events: the role, pieces of text and calls, why it ended, usage on demand."""
        head, turn = self._head("chat.completion.chunk"), Turn()
        yield _chunk(head, {"role": "assistant", "content": ""})
        with self._lock:
            for event in self._session.reply(asked.messages, turn, asked.sampling):
                if isinstance(event, Said):
                    yield _chunk(head, {"content": event.text})
                elif isinstance(event, Failed) and event.is_final:
                    yield _chunk(head, {"content": f"error: {event.fault}", "gpu": _calls(event)})
                else:
                    yield _chunk(head, {"gpu": _calls(event)})
            usage = self._usage(asked, turn)
        yield _chunk(head, {}, FINISH[turn.end])
        if asked.wants_usage:
            yield f"data: {json.dumps(head | {'choices': [], 'usage': usage})}\n\n"
        yield "data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        identity = f"chatcmpl-{uuid.uuid4().hex}"
        return {"id": identity, "object": kind, "created": int(time.time()), "model": self.model}

    def _usage(self, asked: Asked, turn: Turn) -> dict[str, int]:
        """Tokens of text; those of launches are in `gpu`."""
        fed = self._session.talker.count(self._session.prompt(asked.messages))
        written = self._session.talker.count(turn.content)
        return {"prompt_tokens": fed, "completion_tokens": written, "total_tokens": fed + written}


def _calls(event: Event) -> list[dict[str, Any]]:
    if isinstance(event, Computed):
        launches = [
            {
                "kernel": launched.name,
                "prompt_tokens": launched.prompt_tokens,
                "generated_tokens": launched.generated_tokens,
                "execs": launched.execs,
            }
            for launched in event.launches
        ]
        return [{"call": event.call.source, "result": event.result, "launches": launches}]
    return [{"call": event.call.source, "error": event.fault}] if isinstance(event, Failed) else []


def _chunk(head: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
    return f"data: {json.dumps(head | {'choices': [choice]})}\n\n"


def _refusal(err: QgcError) -> Response:
    """A fault as OpenAI's clients read it."""
    first = err.diagnostics[0]
    status = 404 if first.code == "serve-model" else 400
    error = {"message": first.message, "type": "invalid_request_error", "param": None, "code": first.code}
    return JSONResponse({"error": error}, status)
