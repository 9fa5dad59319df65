"""What the server on this machine answers: a function of the request for each example.

A function sees what a provider would see, the whole conversation, and remembers nothing. So it goes on rightly in the
process behind a crash, and what it says of the tools' results is what they have returned.
"""

import json
import re
from collections.abc import Sequence
from textwrap import shorten
from typing import Any

from stagepost.agents import ToolCall, call
from stagepost.agents.testing import ServerRequest

Answer = str | Sequence[ToolCall]


def weather(request: ServerRequest) -> Answer:
    """Looks the weather up, and says it."""
    if request.turn == 0:
        return [call("get_weather", city="Miami")]
    return f"In Miami: {request.text}."


def research(request: ServerRequest) -> Answer:
    """Three agents, told apart by what they may call."""
    names = {tool["function"]["name"] for tool in request.body.get("tools", ())}
    if "message_agent" in names:
        return _lead(request)
    return _reader(request) if "search" in names else _critic(request)


def tidy(request: ServerRequest) -> Answer:
    """Looks at a repository, adds what has changed, commits it, and tells what has come of that."""
    prompt: str = request.body["messages"][0]["content"]
    repository = prompt.partition("repository is ")[2].splitlines()[0]
    match request.turn:
        case 0:
            return [call("git_status", repo_path=repository), call("git_diff_unstaged", repo_path=repository)]
        case 1:
            return [call("git_add", repo_path=repository, files=["notes.txt"])]
        case 2:
            return [call("git_commit", repo_path=repository, message="Note when the tide comes")]
    if request.text.startswith("denied"):
        return f"I have committed nothing: {request.text}."
    return "All is committed."


def mail(request: ServerRequest) -> Answer:
    """Writes a mail, and says what has come of it."""
    if request.turn == 0:
        return [call("send_mail", to="Ann", text="The tide comes at two.")]
    return f"I have not written: {request.text}." if request.text.startswith("denied") else "I have written to Ann."


def _lead(request: ServerRequest) -> Answer:
    answers = [json.loads(result["content"]) for result in _of(request, "tool")]
    match request.turn:
        case 0:
            return [
                call("message_agent", agent_name="reader", message='Where is "SIGKILL" spoken of?'),
                call("message_agent", agent_name="reader", message='Where is "power cut" spoken of?'),
            ]
        case 1:
            return [
                call("message_agent", conversation_id=answers[0]["conversation_id"], message='And "recover"?'),
                call("message_agent", agent_name="critic", message=answers[1]["response"], end=True),
            ]
    return "What my team has found:\n" + "\n".join(f"- {answer['response']}" for answer in answers)


def _reader(request: ServerRequest) -> Answer:
    if request.body["messages"][-1]["role"] == "tool":
        found = json.loads(request.text)
        return f"In {len(found)} paragraphs or more. {shorten(found[0], 200)}" if found else "Nowhere."
    return [call("search", phrase=phrase) for phrase in re.findall('"(.+?)"', request.text)]


def _critic(request: ServerRequest) -> Answer:
    return f"It leaves open what the paragraphs behind the first one say; this has {len(request.text.split())} words."


def _of(request: ServerRequest, role: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = request.body["messages"]
    return [message for message in messages if message["role"] == role]
