"""The window between a handler that streams its reply and the reader of the parts."""

from collections import deque
from collections.abc import Callable
from typing import Final

from anyio import CancelScope

from ._wake import Unawaited, Waiter

WINDOW: Final = 16
"""How many parts wait for their reader by default."""


class Streamed:
    """The reply of a handler whose parts went through a window.

    Attributes:
        parts: How many there were.
    """

    __slots__ = ("parts",)

    def __init__(self, parts: int = 0) -> None:
        self.parts = parts


class Window(Unawaited):
    """Parts that wait for their reader: a bounded number, so that a slow reader slows the handler down.

    It stands where the waiter of a request would be, and so moves along when the request is forwarded.

    Attributes:
        limit: How many parts may wait; infinity for any number.
        parts: Those that wait.
        is_over: Whether the request has its reply or an error, or is given up: nothing is added any more.
        reader: What the reader waits for, as long as it does.
        writer: What the handler waits for, as long as it does.
        scopes: What is cancelled when it is over.
    """

    __slots__ = ("_new_waiter", "_resume_at", "is_over", "limit", "parts", "reader", "scopes", "writer")

    def __init__(self, limit: float, new_waiter: Callable[[], Waiter]) -> None:
        self._new_waiter = new_waiter
        self._resume_at = limit / 2
        self.limit = limit
        self.parts: deque[object] = deque()
        self.is_over = False
        self.scopes: set[CancelScope] = set()
        self.reader: Waiter | None = None
        self.writer: Waiter | None = None

    def set_result(self, result: None, /) -> None:  # noqa: ARG002 - the signature of a future
        """There is a reply or an error, or nobody wants one."""
        self.is_over = True
        for scope in tuple(self.scopes):
            scope.cancel()
        self.wake_reader()
        self._wake_writer()

    def add(self, part: object) -> None:
        """Add a part, for which there has to be room."""
        self.parts.append(part)
        if self.reader is not None:
            self.wake_reader()

    def take(self) -> object:
        """Take the oldest part; there has to be one. The handler goes on when half of the window is free."""
        part = self.parts.popleft()
        if self.writer is not None and len(self.parts) <= self._resume_at:
            self._wake_writer()
        return part

    async def room(self) -> None:
        """Wait until there is room again, or nothing is read any more."""
        self.writer = self._new_waiter()
        try:
            await self.writer
        finally:
            self.writer = None

    async def next(self) -> None:
        """Wait until there is a part, or the end."""
        self.reader = self._new_waiter()
        try:
            await self.reader
        finally:
            self.reader = None

    def wake_reader(self) -> None:
        """Let the reader look again."""
        if self.reader is not None and not self.reader.done():
            self.reader.set_result(None)

    def _wake_writer(self) -> None:
        if self.writer is not None and not self.writer.done():
            self.writer.set_result(None)
