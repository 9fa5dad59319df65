"""Retries after transient errors. tenacity does the timing; callers say which errors are transient."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, TypeAlias, TypeVar, cast

import anyio

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, get_logger, seconds
from stagepost.workflows import ExtraMissing

from .errors import InfrastructureError, ToolUnavailable

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, Future, RetryCallState
    from tenacity.wait import wait_base

ResultT = TypeVar("ResultT")

Passes: TypeAlias = Callable[[BaseException], bool]
"""Whether another attempt makes sense after an error."""

Note: TypeAlias = Callable[[BaseException, int, float], None]
"""Told of each attempt that another one follows: its error, its number, and the seconds until then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """When a model or a tool is called again after a transient error; other errors are not retried.

    The delay between two attempts doubles from `first` up to `most`, unless the error says how long to wait. A random
    part is added in both cases, so that clients that were refused together do not return together.

    Attributes:
        attempts: The most attempts, including the first one.
        first: Seconds before the second attempt.
        most: The longest delay in seconds.
        jitter: The most random seconds added to each delay.
        patience: The longest wait in seconds that an error may ask for; if it asks for more, there is no further
            attempt.

    Raises:
        ValueError: A number is invalid.
    """

    attempts: int = 5
    first: Duration = 1.0
    most: Duration = 30.0
    jitter: Duration = 1.0
    patience: Duration = 120.0

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise ValueError(f"Retries(attempts={self.attempts}): give at least 1")
        for name in ("first", "most", "jitter", "patience"):
            try:
                seconds(getattr(self, name))
            except ValueError as error:
                raise ValueError(f"Retries({name}=…): {error}") from None

    def has_patience_for(self, error: BaseException) -> bool:
        """Whether the wait that an error asks for is short enough."""
        return (_asked_pause(error) or 0) <= seconds(self.patience)


def is_infrastructure(error: BaseException) -> bool:
    """Whether the model may answer if it is asked again."""
    return isinstance(error, InfrastructureError)


def note_model(error: BaseException, attempt: int, pause: float) -> None:
    """Log that a model is asked again."""
    asked = cast("InfrastructureError", error)
    get_logger("agents").warning(
        "model_retried", model=asked.model, error=type(error).__name__, attempt=attempt, seconds=pause
    )


async def retried(
    attempt: Callable[[int], Awaitable[ResultT]],
    retries: Retries,
    *,
    passes: Passes = is_infrastructure,
    note: Note = note_model,
) -> ResultT:
    """Try until there is a result, or an error that is not transient. Success at once costs nothing extra.

    Args:
        attempt: The function to try; takes the attempt's number, from 1.
        retries: The retry policy.
        passes: Whether an error is transient.
        note: Called before each delay.
    """
    try:
        return await attempt(1)
    except Exception as error:  # noqa: BLE001  # raised again below, unless it passes
        first = error
    return await retried_behind(first, attempt, retries, passes=passes, note=note)


async def retried_behind(
    first: Exception,
    attempt: Callable[[int], Awaitable[ResultT]],
    retries: Retries,
    *,
    passes: Passes,
    note: Note,
) -> ResultT:
    """The same after a first attempt that failed.

    Args:
        first: Its error.
        attempt: As above, like the others.
        retries: See above.
        passes: See above.
        note: See above.
    """

    def again(error: BaseException) -> bool:
        return passes(error) and retries.has_patience_for(error)

    if retries.attempts == 1 or not again(first) or not _can_retry(first):
        raise first
    return await _retrying(retries, again, note)(_behind(first, attempt))


def check_retries() -> None:
    """Check that retries are possible.

    Raises:
        ExtraMissing: tenacity is not installed.
    """
    try:
        import tenacity  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("LiteLLM", "tenacity", "llm") from None


def _can_retry(error: BaseException) -> bool:
    """Whether tenacity is installed; if not, the log says what to install, and the error stands."""
    try:
        check_retries()
    except ExtraMissing:
        missing = ExtraMissing("Retries", "tenacity", "retry")
        get_logger("agents").warning("not_retried", error=type(error).__name__, why=str(missing))
        return False
    return True


def _behind(first: Exception, attempt: Callable[[int], Awaitable[ResultT]]) -> Callable[[], Awaitable[ResultT]]:
    """The attempts of tenacity, the first of which has been made already."""
    numbers = count(1)

    async def another() -> ResultT:
        number = next(numbers)
        if number == 1:
            raise first
        return await attempt(number)

    return another


def _retrying(retries: Retries, again: Passes, note: Note) -> "AsyncRetrying":
    from tenacity import (  # noqa: PLC0415  # an extra
        AsyncRetrying,
        retry_if_exception,
        stop_after_attempt,
        wait_exponential,
        wait_random,
    )

    def tell(state: "RetryCallState") -> None:
        note(_error(state), state.attempt_number, state.upcoming_sleep)

    jitter = wait_random(0, seconds(retries.jitter))
    doubling = wait_exponential(multiplier=seconds(retries.first), max=seconds(retries.most)) + jitter
    return AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop_after_attempt(retries.attempts),
        wait=_as_told(doubling, jitter),
        retry=retry_if_exception(again),
        before_sleep=tell,
        reraise=True,
    )


def _as_told(otherwise: "wait_base", jitter: "wait_base") -> "Callable[[RetryCallState], float]":
    def wait(state: "RetryCallState") -> float:
        told = _asked_pause(_error(state))
        return otherwise(state) if told is None else told + jitter(state)

    return wait


def _asked_pause(error: BaseException) -> float | None:
    """The seconds that an error asks for."""
    return error.retry_after if isinstance(error, InfrastructureError | ToolUnavailable) else None


def _error(state: "RetryCallState") -> BaseException:
    """The error of the last attempt."""
    outcome = cast("Future", state.outcome)
    return cast("BaseException", outcome.exception())
