"""Stores whose methods a test can hold up, let fail, or watch."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from tests.workflows._words import Store


class Clock:
    """A clock that stands still until it is set."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC).timestamp()

    def __call__(self) -> float:
        return self.now

    def pass_(self, time: timedelta) -> None:
        self.now += time.total_seconds()


class Door:
    """Stands before (or behind) one method of a store and lets a call through when a test says so.

    Args:
        store: The store; this very object is changed.
        method: Name of the method.
        behind: Hold up what the method returns instead of the call.
        when: Which calls it is about, by their arguments; the others pass.
    """

    def __init__(
        self, store: Store, method: str, *, behind: bool = False, when: Callable[..., bool] = lambda *_, **__: True
    ) -> None:
        self.reached = anyio.Event()
        self.open = anyio.Event()
        self._method = getattr(store, method)
        self._behind = behind
        self._when = when
        setattr(store, method, self._call)

    async def _call(self, *arguments: Any, **options: Any) -> Any:
        if self.open.is_set() or not self._when(*arguments, **options):
            return await self._method(*arguments, **options)
        if self._behind:
            result = await self._method(*arguments, **options)
            await self._wait()
            return result
        await self._wait()
        return await self._method(*arguments, **options)

    async def _wait(self) -> None:
        self.reached.set()
        await self.open.wait()


class Fault:
    """Lets one method of a store fail a number of times.

    Args:
        store: The store; this very object is changed.
        method: Name of the method.
        error: What it raises.
        times: How often.
    """

    def __init__(self, store: Store, method: str, error: Exception, *, times: int = 1) -> None:
        self.left = times
        self._method = getattr(store, method)
        self._error = error
        setattr(store, method, self._call)

    async def _call(self, *arguments: Any, **options: Any) -> Any:
        if self.left:
            self.left -= 1
            raise self._error
        return await self._method(*arguments, **options)
