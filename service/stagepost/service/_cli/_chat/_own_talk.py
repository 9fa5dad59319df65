"""A conversation with an agent of this process."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Final

from stagepost.agents import Allow, Deny, OpenConversation, StreamPart, Tasks, TaskStream
from stagepost.checkpoint import RunStatus
from stagepost.workflows import Runner

from ..._verbs._conversing import texts
from ..._wire._conversations import Said

_SHOWN: Final = 10  # texts of before
_OPEN: Final = tuple(status for status in RunStatus if status.is_open)


class OwnTalk:
    """A conversation with an agent of this process.

    Args:
        runner: What the agent runs on.
        talk: The conversation.
        by: Who answers what calls ask.

    Attributes:
        said: The last texts that were said before it was opened.
        before: How many there are before these.
    """

    def __init__(self, runner: Runner, talk: OpenConversation[Any], by: str | None) -> None:
        whole = texts(talk.messages)
        self.said: Sequence[Said] = whole[-_SHOWN:]
        self.before = len(whole) - len(self.said)
        self._open: str | None = None
        self._runner = runner
        self._tasks = Tasks(runner)
        self._talk = talk
        self._by = by

    async def opened(self) -> "OwnTalk":
        """Look for an answer that another process has begun."""
        found = await self._runner.store.find(labels={"conversation": self._talk.id}, status=_OPEN)
        self._open = next((info.run_id for info in found.items if "." not in info.run_id), None)
        return self

    def rest(self) -> AsyncGenerator[StreamPart, None] | None:
        """The answer that is not over yet; None if each message was answered."""
        return None if self._open is None else _parts(self._tasks.stream(self._open))

    def say(self, text: str) -> AsyncGenerator[StreamPart, None]:
        """Say something; what comes of it, part by part."""
        return _parts(self._talk.stream(text))

    async def asks(self, wait_id: str) -> bool:
        """Whether something still waits for somebody."""
        return any(wait.id == wait_id for wait in await self._runner.waits(wait_id.partition("/")[0]))

    async def decide(self, wait_id: str, decision: Allow | Deny) -> None:
        """Say whether a call may be made."""
        await self._tasks.decide(wait_id, decision, by=self._by)

    async def answer(self, wait_id: str, value: object) -> None:
        """Answer a question, or refuse to."""
        await self._tasks.answer(wait_id, value, by=self._by)

    async def settle(self, wait_id: str, result: str | None) -> None:
        """Say what came of a call in doubt; None: it is made again."""
        if result is None:
            await self._tasks.settle(wait_id, retry=True)
        else:
            await self._tasks.settle(wait_id, result)


async def _parts(stream: TaskStream[Any]) -> AsyncGenerator[StreamPart, None]:
    async with stream:
        async for part in stream:
            yield part
