"""The processor time of one coroutine, step by step: what other tasks do while it waits does not count."""

from collections.abc import Coroutine, Generator
from time import thread_time
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Metered(Generic[T]):
    """Awaits a coroutine once, and knows what it has cost.

    Args:
        coroutine: It.

    Attributes:
        cost: Seconds of processor time.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        self.cost = 0.0

    def __await__(self) -> Generator[Any, Any, T]:
        sent: Any = None
        error: BaseException | None = None
        while True:
            begun = thread_time()
            try:
                asked = self._coroutine.send(sent) if error is None else self._coroutine.throw(error)
            except StopIteration as end:
                value: T = end.value
                return value
            finally:
                self.cost += thread_time() - begun
            try:
                sent, error = (yield asked), None
            except BaseException as thrown:  # noqa: BLE001  # cancellation, too, is the coroutine's
                error = thrown
