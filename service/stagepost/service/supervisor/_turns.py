"""Turns of a session, as their readers hold them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from stagepost._dataclasses import dataclass
from stagepost.agents import TaskStream

from ._events import ChatEvent
from ._progress import TurnProgress
from ._telling import Telling

Opened: TypeAlias = Callable[[], AbstractAsyncContextManager[TaskStream[Any]]]
"""Opens the stream of a turn, and starts the turn if need be."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """A turn that was found, or is about to be started: `events` starts it if need be.

    Attributes:
        session_id: The session.
        progress: What the reader was told before; None for nothing.
    """

    session_id: str
    progress: TurnProgress | None
    _opened: Opened

    async def events(self) -> AsyncGenerator[ChatEvent, None]:
        """The events that the reader was not told yet; the last one is ``done`` or ``error``.

        Leaving it early does not end the turn at once, see `TurnLimits.grace`. Close it with ``contextlib.aclosing``.
        """
        async with self._opened() as stream:
            number = int(stream.task_id.rpartition("-")[2])
            telling = Telling(self.session_id, self.progress or TurnProgress(number))
            async for part in stream:
                for event in telling.tell(part):
                    yield event
