"""An answer that one task waits for and another gives."""

from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Answer(Generic[T]):
    """Given once: a value, or an error. An error that comes later does not count."""

    def __init__(self) -> None:
        self._given = anyio.Event()
        self._values: list[T] = []
        self._error: BaseException | None = None

    def give(self, value: T) -> None:
        """This is it."""
        self._values.append(value)
        self._given.set()

    def fail(self, error: BaseException) -> None:
        """There is none, and why."""
        if not self._given.is_set():
            self._error = error
            self._given.set()

    async def get(self) -> T:
        """Wait for it."""
        await self._given.wait()
        if self._error is not None:
            raise self._error
        return self._values[0]
