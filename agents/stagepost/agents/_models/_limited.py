"""A model with a request limit."""

from collections import deque
from typing import Final

import anyio

from ..errors import InvalidModel
from ._around import Around
from ._model import Model, ModelRequest, ModelResponse

_MINUTE: Final = 60.0  # seconds


class Pace:
    """Computes when the next request may start, so that no minute, wherever it begins, has more starts than allowed.

    Args:
        per_minute: How many.
    """

    def __init__(self, per_minute: int) -> None:
        self._starts: deque[float] = deque(maxlen=per_minute)  # the latest ones; the oldest of them makes room

    def next(self, now: float) -> float:
        """The time from which on the next request may start. Times never go back."""
        full = len(self._starts) == self._starts.maxlen
        start = max(now, self._starts[0] + _MINUTE) if full else now
        self._starts.append(start)
        return start


class RateLimited(Around):
    """A model with a request limit; requests above it wait in order.

    The limits apply to this object: share it among the agents that share a key. A request counts once, even if the
    model retries it.

    Args:
        model: The model, or its name.
        per_minute: How many requests may start within any minute; None for no limit.
        at_once: How many may be open at once; None for no limit.

    Raises:
        InvalidModel: It is no model, or a limit is below 1.
    """

    def __init__(self, model: Model | str, *, per_minute: int | None = None, at_once: int | None = None) -> None:
        for name, limit in (("per_minute", per_minute), ("at_once", at_once)):
            if limit is not None and limit < 1:
                raise InvalidModel("RateLimited", f"{name}={limit}: give at least 1, or None for no limit")
        super().__init__([model])
        self._pace = None if per_minute is None else Pace(per_minute)
        self._open = None if at_once is None else anyio.Semaphore(at_once)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """The model's answer, once it may be asked."""
        if self._open is None:
            return await self._in_time(request)
        async with self._open:
            return await self._in_time(request)

    async def _in_time(self, request: ModelRequest) -> ModelResponse:
        if self._pace is not None:
            await anyio.sleep_until(self._pace.next(anyio.current_time()))
        return await self._inside[0].answer(request)
