"""A model that needs no network: it answers as lead and as weather agent by simple rules."""

import json
import re
from collections.abc import Sequence
from typing import Any

import anyio

from stagepost.agents import ChatMessage, ModelRequest, ModelResponse, Token, ToolCall, ToolMessage, UserMessage, call

from .team import CITIES


class LocalModel:
    """Answers by rules; what it says depends on the request alone, so another process goes on with the same words.

    Args:
        pace: Seconds for each word.
    """

    def __init__(self, pace: float = 0.0) -> None:
        self._pace = pace

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Say something, or call tools."""
        names = {tool.name for tool in request.tools}
        said = lead(request.messages) if "message_agent" in names else weather(request.messages)
        if not isinstance(said, str):
            calls = [each.model_copy(update={"id": f"call-{request.answers}-{n}"}) for n, each in enumerate(said)]
            return ModelResponse(calls=calls)
        for number, word in enumerate(re.findall(r"\S+\s*", said)):
            if request.on_token is not None:
                request.on_token(Token(number, word))
            await anyio.sleep(self._pace)
        return ModelResponse(said)


def lead(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """Ask about each city, send a report if that is wanted, and say what has come of it."""
    begin = max(index for index, message in enumerate(messages) if isinstance(message, UserMessage))
    text = messages[begin].text
    results = [message for message in messages[begin:] if isinstance(message, ToolMessage)]
    reports = [_read(message) for message in results if message.tool == "message_agent"]
    sent = [message for message in results if message.tool == "send_report"]
    if not reports:
        return _asked(text, messages[:begin])
    summary = " ".join(str(report.get("response", "Nobody knows.")) for report in reports)
    person = re.search(r"\bsend\b.*\bto (\w+)", text, re.IGNORECASE)
    if person is not None and not sent:
        return [call("send_report", to=person[1], text=summary)]
    if not sent:
        return summary
    done = sent[0].text if sent[0].text.startswith("sent") else f"not sent, because {sent[0].text}"
    return f"{summary} The report was {done}."


def weather(messages: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """Look the weather up, and say it."""
    asked = [message.text for message in messages if isinstance(message, UserMessage)]
    city = next((name for text in reversed(asked) for name in CITIES if name in text), "there")
    day = "tomorrow" if "tomorrow" in asked[-1] else "today"
    last = messages[-1]
    if isinstance(last, ToolMessage):
        return f"In {city} it is {last.text} {day}." if not last.is_error else f"Nobody knows how it is in {city}."
    return [call("get_weather", city=city, day=day)]


def _asked(text: str, before: Sequence[ChatMessage]) -> str | list[ToolCall]:
    """Questions to the weather agent: in the conversation that a city has, or in a new one."""
    talks = _talks(before)
    cities = [name for name in CITIES if name in text] or list(talks)
    if not cities:
        return f"Ask me about the weather in {', '.join(CITIES)}."
    day = "tomorrow" if "tomorrow" in text else "today"
    return [
        call("message_agent", conversation_id=talks[city], message=f"And {day}?")
        if city in talks
        else call("message_agent", agent_name="weather", message=f"How is it in {city} {day}?")
        for city in cities
    ]


def _talks(messages: Sequence[ChatMessage]) -> dict[str, str]:
    """The conversations so far, by the city that they are about."""
    talks: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool == "message_agent":
            report = _read(message)
            city = next((name for name in CITIES if name in str(report.get("response"))), None)
            if city is not None and "conversation_id" in report:
                talks[city] = report["conversation_id"]
    return talks


def _read(message: ToolMessage) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(message.text)
    except ValueError:
        return {"response": message.text}
    return found
