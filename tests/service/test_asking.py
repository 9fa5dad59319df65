"""What calls ask people, with answers that were typed before: without a runner."""

from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from typing import Any, cast

import pytest
from tests._needs import need

need("typer", "rich")

from stagepost.agents import DoubtRaised, QuestionAsked, StreamPart  # noqa: E402  # after the check
from stagepost.checkpoint import AlreadyAnswered  # noqa: E402
from stagepost.service._cli._chat._asking import Asking, Nobody  # noqa: E402
from stagepost.service._cli._chat._keyboard import Keyboard  # noqa: E402
from stagepost.service._cli._chat._showing import Transcript  # noqa: E402
from stagepost.service._cli._chat._talk import Talk  # noqa: E402
from stagepost.service._cli._screen import Screen  # noqa: E402

WHERE: dict[str, Any] = {"timestamp": datetime(2026, 11, 23, tzinfo=UTC), "task_id": "t", "path": ("a",)}
DOUBT = DoubtRaised(doubt_id="d", tool="pay", arguments={"sum": 3}, **WHERE)
LINK = QuestionAsked(question_id="q", tool="sign", arguments={}, schema={}, url="https://here", **WHERE)
NAME = QuestionAsked(question_id="q", tool="who", arguments={}, schema={"type": "string"}, message="Who?", **WHERE)


class Typed(Keyboard):
    """Lines that somebody has typed."""

    def __init__(self, *lines: str) -> None:
        self._lines: Iterator[str] = iter(lines)

    async def line(self, prompt: str) -> str | None:  # noqa: ARG002  # it is not shown
        return next(self._lines, None)


class Desk:
    """Takes answers as a `Talk` does, and writes them down."""

    def __init__(self, *, is_late: bool = False) -> None:
        self.taken: list[Any] = []
        self._is_late = is_late

    async def asks(self, wait_id: str) -> bool:
        return wait_id in ("d", "q")

    async def settle(self, wait_id: str, result: str | None) -> None:
        self.taken.append((wait_id, result))

    async def answer(self, wait_id: str, value: object) -> None:
        if self._is_late:
            raise AlreadyAnswered("t", "q", "answered")
        self.taken.append((wait_id, value))


async def asked(desk: Desk, part: StreamPart, *lines: str) -> str:
    out = StringIO()
    transcript = Transcript(Screen(as_json=False, out=out))
    await Asking(cast("Talk", desk), Typed(*lines), transcript).about(part)
    return out.getvalue()


async def test_a_person_says_what_came_of_a_call_in_doubt() -> None:
    desk = Desk()
    assert "a process has ended while pay was called" in await asked(desk, DOUBT, "it was paid")
    await asked(desk, DOUBT, "")
    assert desk.taken == [("d", "it was paid"), ("d", None)]


async def test_who_is_sent_somewhere_says_when_that_is_done() -> None:
    desk = Desk()
    assert "go to https://here" in await asked(desk, LINK, "")
    assert desk.taken == [("q", None)]


async def test_a_text_needs_no_quotes() -> None:
    desk = Desk()
    assert "? who asks: Who?" in await asked(desk, NAME, "Grace")
    await asked(desk, NAME, '"Grace"')
    assert [value for _, value in desk.taken] == ["Grace", "Grace"]


async def test_what_somebody_else_has_answered_is_told() -> None:
    assert "it was answered meanwhile" in await asked(Desk(is_late=True), NAME, "Grace")


async def test_nobody_answers_once_the_input_has_ended() -> None:
    with pytest.raises(Nobody):
        await asked(Desk(), NAME)
