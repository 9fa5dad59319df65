"""Asking a model again after errors that pass. When to ask is tenacity's business."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, cast

import anyio

from stagepost.hub import Duration, get_logger, seconds
from stagepost.workflows import ExtraMissing

from ._model import ModelResponse
from .errors import InfrastructureError, InvalidModel

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, Future, RetryCallState
    from tenacity.wait import wait_base


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When a model is asked again after an `InfrastructureError`; other errors are not retried.

    The time between two attempts doubles from `first` up to `most`. A provider that says how long to wait is obeyed
    instead. Both get a random part on top, so that many who were refused together do not come again together.

    Attributes:
        attempts: How often it is asked at most, the first time included.
        first: Seconds before the second attempt.
        most: Seconds that the doubling ends at.
        jitter: Up to so many seconds more, at random.
        patience: Seconds to wait at most because a provider says so; if it wants more, there are no more attempts.

    Raises:
        InvalidModel: A number makes no sense.
    """

    attempts: int = 5
    first: Duration = 1.0
    most: Duration = 30.0
    jitter: Duration = 1.0
    patience: Duration = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidModel("Retries", f"attempts={self.attempts}: give at least 1")
        for name in ("first", "most", "jitter", "patience"):
            try:
                seconds(getattr(self, name))
            except ValueError as error:
                raise InvalidModel("Retries", f"{name}=: {error}") from None

    def passes(self, error: BaseException) -> bool:
        """Whether another attempt makes sense."""
        return isinstance(error, InfrastructureError) and (error.retry_after or 0) <= seconds(self.patience)


async def retried(ask: Callable[[int], Awaitable[ModelResponse]], retries: Retries) -> ModelResponse:
    """Ask until there is an answer, or an error that does not pass.

    Args:
        ask: Takes the number of the attempt.
        retries: When to try again.
    """
    attempts = count(1)

    async def attempt() -> ModelResponse:
        return await ask(next(attempts))

    return await _retrying(retries)(attempt)


def check_retries() -> None:
    """See that retries are possible.

    Raises:
        ExtraMissing: tenacity is not installed.
    """
    try:
        import tenacity  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("LiteLLM", "tenacity", "llm") from None


def _retrying(retries: Retries) -> "AsyncRetrying":
    from tenacity import (  # noqa: PLC0415  # an extra
        AsyncRetrying,
        retry_if_exception,
        stop_after_attempt,
        wait_exponential,
        wait_random,
    )

    jitter = wait_random(0, seconds(retries.jitter))
    doubling = wait_exponential(multiplier=seconds(retries.first), max=seconds(retries.most)) + jitter
    return AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop_after_attempt(retries.attempts),
        wait=_as_told(doubling, jitter),
        retry=retry_if_exception(retries.passes),
        before_sleep=_log,
        reraise=True,
    )


def _as_told(otherwise: "wait_base", jitter: "wait_base") -> "Callable[[RetryCallState], float]":
    def wait(state: "RetryCallState") -> float:
        told = _error(state).retry_after
        return otherwise(state) if told is None else told + jitter(state)

    return wait


def _error(state: "RetryCallState") -> InfrastructureError:
    """What the last attempt has raised: nothing else is retried."""
    outcome = cast("Future", state.outcome)
    return cast("InfrastructureError", outcome.exception())


def _log(state: "RetryCallState") -> None:
    error = _error(state)
    get_logger("agents").warning(
        "model_retried",
        model=error.model,
        error=type(error).__name__,
        attempt=error.attempt,
        seconds=state.upcoming_sleep,
    )
