"""What a chat needs of a conversation, wherever its agent runs."""

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from stagepost.agents import Allow, Deny, StreamPart

from ..._wire._conversations import Said


class Talk(Protocol):
    """A conversation with an agent: of this process, or of a service."""

    @property
    def said(self) -> Sequence[Said]:
        """The last texts that were said before it was opened."""
        ...

    @property
    def before(self) -> int:
        """How many there are before these."""
        ...

    def rest(self) -> AsyncGenerator[StreamPart, None] | None:
        """The answer that is not over yet; None if each message was answered."""
        ...

    def say(self, text: str) -> AsyncGenerator[StreamPart, None]:
        """Say something; what comes of it, part by part."""
        ...

    async def asks(self, wait_id: str) -> bool:
        """Whether something still waits for somebody."""
        ...

    async def decide(self, wait_id: str, decision: Allow | Deny) -> None:
        """Say whether a call may be made."""
        ...

    async def answer(self, wait_id: str, value: object) -> None:
        """Answer a question; with `stagepost.agents.Refuse`, refuse to."""
        ...

    async def settle(self, wait_id: str, result: str | None) -> None:
        """Say what came of a call in doubt; None: it is made again."""
        ...
