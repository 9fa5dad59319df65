"""Further attempts after one that has failed. tenacity says when."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias, cast

import anyio

from stagepost.checkpoint import StoreClosed, StoreError, StoreFailed
from stagepost.hub import seconds
from stagepost.workflows import ExtraMissing

from .._retries import Retries
from ._verdict import Failed

if TYPE_CHECKING:
    from tenacity import Future, RetryCallState

Note: TypeAlias = Callable[[Failed, int, float], Awaitable[None]]
"""Told of each attempt that another one follows: how it failed, its number, and the seconds until then."""


def check_tenacity() -> None:
    """See that there can be further attempts.

    Raises:
        ExtraMissing: tenacity is not installed.
    """
    try:
        import tenacity  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("Webhooks", "tenacity", "webhooks") from None


async def tried_again(first: Failed, attempt: Callable[[], Awaitable[None]], retries: Retries, note: Note) -> None:
    """Make further attempts until one succeeds.

    Args:
        first: How the first one has failed.
        attempt: Makes one.
        retries: How many, and when.
        note: Called before each pause.

    Raises:
        Failed: The last attempt has failed, or the receiver wants to be left alone for too long.
    """
    from tenacity import (  # noqa: PLC0415  # an extra
        AsyncRetrying,
        retry_if_exception,
        stop_after_attempt,
        wait_exponential,
        wait_random,
    )

    jitter = wait_random(0, seconds(retries.jitter))
    doubling = wait_exponential(multiplier=seconds(retries.first), max=seconds(retries.most)) + jitter
    known: list[Failed] = [first]

    async def attempt_or_first() -> None:
        if known:
            raise known.pop()
        await attempt()

    def wait(state: "RetryCallState") -> float:
        asked = _failure(state).retry_after
        return doubling(state) if asked is None else asked + jitter(state)

    async def tell(state: "RetryCallState") -> None:
        await note(_failure(state), state.attempt_number, state.upcoming_sleep)

    def passes(error: BaseException) -> bool:
        return isinstance(error, Failed) and (error.retry_after or 0) <= seconds(retries.patience)

    await AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop_after_attempt(retries.attempts),
        wait=wait,
        retry=retry_if_exception(passes),
        before_sleep=tell,
        reraise=True,
    )(attempt_or_first)


async def saved(save: Callable[[], Awaitable[None]]) -> None:
    """Try again for as long as the store refuses: a full disk passes, and what was delivered must not be sent again.

    Raises:
        StoreFailed: It refuses for good.
        StoreClosed: Likewise.
    """
    try:
        await save()
    except StoreError as error:
        if not _may_pass(error):
            raise
    else:
        return
    from tenacity import AsyncRetrying, retry_if_exception, wait_exponential  # noqa: PLC0415  # an extra

    again = AsyncRetrying(sleep=anyio.sleep, wait=wait_exponential(max=30), retry=retry_if_exception(_may_pass))
    await again(save)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, StoreError) and not isinstance(error, StoreFailed | StoreClosed)


def _failure(state: "RetryCallState") -> Failed:
    outcome = cast("Future", state.outcome)
    return cast("Failed", outcome.exception())
