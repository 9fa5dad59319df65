"""What an owner is told, on its way from the store to whoever listens."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Self

import anyio

from ._ownership import Change


class Feed:
    """The changes of one owner: the latest of each run, in the order in which its first one came.

    By level: what nobody has taken yet is replaced by what came later, so that it never holds more than one change for
    each run.

    Args:
        listen: Lets the changes be put here, from the first that is asked for; it gets this.
    """

    def __init__(self, listen: "Callable[[Feed], Awaitable[None]]") -> None:
        self._listen: Callable[[Feed], Awaitable[None]] | None = listen
        self._waiting: dict[str, Change] = {}
        self._come = anyio.Event()
        self._is_closed = False

    def put(self, changes: Iterable[Change]) -> None:
        """Tell of changes; once it is closed, of nothing."""
        if self._is_closed:
            return
        self._waiting.update((change.run_id, change) for change in changes)
        if self._waiting:
            self._come.set()

    def close(self, *, silently: bool = False) -> None:
        """Tell of nothing more than what was put; silently, not of that either."""
        self._is_closed = True
        if silently:
            self._waiting.clear()
        self._come.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Change:
        """The next change, as soon as there is one."""
        listen, self._listen = self._listen, None
        if listen is not None:
            await listen(self)
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            self._come = anyio.Event()
            await self._come.wait()
        return self._waiting.pop(next(iter(self._waiting)))
