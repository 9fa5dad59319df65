"""A model of one's own: an API of chat completions, asked with nothing but the standard library, on any event loop.

``python own_model.py`` has an agent ask a provider on this machine, which is too busy at first.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from socket import SHUT_RDWR
from typing import Any
from urllib.parse import urlsplit

import anyio
from anyio import from_thread, to_thread
from pydantic_core import from_json, to_json

from stagepost.agents import (
    Agent,
    AnswerCut,
    AssistantMessage,
    ChatMessage,
    ModelRequest,
    ModelResponse,
    ToolCall,
    ToolMessage,
    Usage,
    call,
    tool,
)
from stagepost.agents.models import Attempt, ModelAdapter
from stagepost.agents.testing import LocalServer, ServerEntry, Status

Json = dict[str, Any]


class ChatModel(ModelAdapter):
    """A model behind an API of chat completions. Its answers are always streamed.

    Args:
        name: The model, as the provider calls it.
        url: Where the API is.
        key: The key, if it needs one.
        options: `settings`, `timeout` and `retries`, as for every model.
    """

    def __init__(self, name: str, url: str, *, key: str = "", **options: Any) -> None:
        super().__init__(name, secrets=[key], **options)
        self._url = urlsplit(url)
        self._key = key

    async def ask(self, request: ModelRequest, attempt: Attempt) -> ModelResponse:
        """Ask once, in a thread that is left alone when nobody waits for it any more."""
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        connection = kind(self._url.netloc)
        try:
            return await to_thread.run_sync(self._ask, connection, request, attempt, abandon_on_cancel=True)
        finally:  # if nobody waits for it any more, the thread hears of it by this
            if connection.sock is not None:
                with suppress(OSError):
                    connection.sock.shutdown(SHUT_RDWR)

    def _ask(self, connection: HTTPConnection, request: ModelRequest, attempt: Attempt) -> ModelResponse:
        headers = {"content-type": "application/json", "authorization": f"Bearer {self._key}"}
        told = {"model": self.name, "stream": True, "stream_options": {"include_usage": True}, **_told(request)}
        with closing(connection):
            connection.request("POST", f"{self._url.path}/chat/completions", to_json(told), headers)
            with connection.getresponse() as answer:
                if answer.status != HTTPStatus.OK:
                    raise attempt.status(answer.status, dict(answer.headers), answer.read().decode(errors="replace"))
                return _gathered(answer, attempt)


def _told(request: ModelRequest) -> Json:
    settings = request.settings
    told: Json = {"messages": [_message(message) for message in request.messages], **settings.extra}
    if settings.temperature is not None:
        told["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        told["max_tokens"] = settings.max_tokens
    if request.tools:
        told["tools"] = [{"type": "function", "function": asdict(each)} for each in request.tools]
    return told


def _message(message: ChatMessage) -> Json:
    match message:
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.call_id, "content": message.text}
        case AssistantMessage() if message.calls:
            return {"role": "assistant", "content": message.text or None, "tool_calls": _calls(message.calls)}
        case _:
            return {"role": message.role, "content": message.text}


def _calls(calls: Sequence[ToolCall]) -> list[Json]:
    functions = [(each.id, {"name": each.name, "arguments": each.arguments}) for each in calls]
    return [{"id": call_id, "type": "function", "function": function} for call_id, function in functions]


def _gathered(answer: HTTPResponse, attempt: Attempt) -> ModelResponse:
    """The answer of a stream of events, whose pieces are handed on as they come."""
    text, calls, usage, ended = "", dict[int, Json](), Usage(), False
    for event in _events(answer, attempt):
        if event.get("usage"):
            counted = event["usage"]
            usage = Usage(input_tokens=counted["prompt_tokens"], output_tokens=counted["completion_tokens"])
        for choice in event["choices"]:
            delta = choice["delta"]
            ended = ended or choice.get("finish_reason") is not None
            text += delta.get("content") or ""
            from_thread.run_sync(attempt.token, delta.get("content") or "")
            for piece in delta.get("tool_calls") or ():
                found = calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                found["id"] = piece.get("id") or found["id"]
                found["name"] += piece["function"].get("name") or ""
                written = piece["function"].get("arguments") or ""
                found["arguments"] += written
                from_thread.run_sync(attempt.token, written, "arguments", found["name"], piece["index"])
    if not ended:
        raise attempt.error(AnswerCut, f"the stream ended after {len(text)} characters without its end mark")
    return ModelResponse(text, [ToolCall(**calls[index]) for index in sorted(calls)], usage)


def _events(answer: HTTPResponse, attempt: Attempt) -> Iterator[Json]:
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        raise ValueError(f"it is {answer.headers.get('content-type')}, and no stream of events")
    try:
        for line in answer:
            if line.startswith(b"data: {"):
                yield from_json(line[len(b"data: ") :])
    except (OSError, ValueError) as error:
        raise attempt.error(AnswerCut, f"the stream broke off: {error}") from None


@tool
def look(place: str) -> str:
    """Look what is at a place."""
    return f"two boats at {place}"


async def main() -> None:
    """Ask a provider on this machine, which does as it is told."""
    script: list[ServerEntry] = [
        Status(429, retry_after=0),
        call("look", place="Bergen"),
        "There are two boats at Bergen.",
    ]
    async with LocalServer(script) as server:
        model = ChatModel("local", server.url, key="key-of-nobody")
        agent = Agent("watch", "Say what is there.", model=model, tools=[look])
        result = await agent.run("What is at Bergen?")
    print(result.output)
    print(f"asked {len(server.requests)} times, turns: {result.turns}")


if __name__ == "__main__":
    anyio.run(main)
