"""How the parts of an answer are shown, one by one."""

from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from tests._needs import need

need("typer", "rich")

from stagepost.agents import (  # noqa: E402  # after the check of what they need
    AgentStarted,
    HandedOver,
    MessageSaid,
    StreamPart,
    TaskCancelled,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    TurnBegan,
)
from stagepost.service._cli._chat._showing import Transcript  # noqa: E402
from stagepost.service._cli._screen import Screen  # noqa: E402
from stagepost.service._wire._conversations import Said  # noqa: E402

WHERE: dict[str, Any] = {"timestamp": datetime(2026, 11, 23, tzinfo=UTC), "task_id": "t", "path": ("lead",)}
BELOW: dict[str, Any] = {**WHERE, "path": ("lead", "mate")}


def seen(*parts: StreamPart) -> str:
    out = StringIO()
    transcript = Transcript(Screen(as_json=False, out=out))
    for part in parts:
        transcript.part(part)
    return out.getvalue()


def token(text: str, index: int, **where: Any) -> TokenArrived:
    return TokenArrived(token=text, index=index, **(where or WHERE))


def said(text: str, **where: Any) -> MessageSaid:
    return MessageSaid(role="assistant", text=text, **(where or WHERE))


def test_an_answer_is_shown_once_however_it_comes() -> None:
    assert seen(said("all at once")) == "all at once\n"
    assert seen(token("by ", 0), token("token", 1), said("by token")) == "by token\n"
    assert seen(token("the be", 0), said("the beginning was seen")) == "the beginning was seen\n"
    assert seen(token("other", 0), said("masked ***")) == "other\nmasked ***\n"


def test_a_model_that_is_asked_again_begins_a_new_line() -> None:
    assert seen(token("half", 0), token("whole", 0), said("whole")) == "half\n(the model is asked again)\nwhole\n"


def test_of_agents_below_only_what_they_do_is_shown() -> None:
    call = ToolCalled(name="look", arguments="no json", phrase="", tool_call_id="1", **BELOW)
    assert seen(token("x", 0, **BELOW), said("x", **BELOW), call) == "  → look  no json\n"


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (AgentStarted(agent="mate", **WHERE), "↳ mate  is asked\n"),
        (HandedOver(agent="mate", by="lead", **WHERE), "↳ mate  takes over from lead\n"),
        (TaskFailed(error="no \x1b key", **WHERE), "failed: no \\x1b key\n"),
        (TaskCancelled(**WHERE), "cancelled\n"),
        (TurnBegan(iteration=0, **WHERE), ""),
        (said(""), ""),
    ],
    ids=["asked", "handed over", "failed", "cancelled", "turn", "nothing said"],
)
def test_each_part_is_shown(part: StreamPart, text: str) -> None:
    assert seen(part) == text


def test_only_the_last_messages_of_a_conversation_are_shown_again() -> None:
    out = StringIO()
    messages = [
        each for n in range(2) for each in (Said(role="user", text=f"q{n}"), Said(role="assistant", text=f"a{n}"))
    ]
    Transcript(Screen(as_json=False, out=out)).before(messages, 6)
    assert out.getvalue().splitlines()[:3] == ["… 6 messages before", "> q0", "a0"]
