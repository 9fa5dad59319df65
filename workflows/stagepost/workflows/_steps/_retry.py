"""Trying a step again after errors that pass. When to try is tenacity's business."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from stagepost._dataclasses import dataclass
from stagepost.hub import Duration, seconds

from .._arguments import from_one
from .._events import StepRetried
from .._pattern_errors import describe
from .._values._state import anew
from ..errors import DefinitionError, EffectNotDone, ExtraMissing, PatternError, StepTimeout, WorkflowError

if TYPE_CHECKING:
    from tenacity import AsyncRetrying, RetryCallState

    from ._context import StepContext
    from ._guards import Call

Passing: TypeAlias = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], bool]

_MAY_PASS = (StepTimeout, PatternError, EffectNotDone)  # of the engine's own errors; the others say the same again


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """When a step is tried again: ``step(fetch, retry=Retry(attempts=3, on=ConnectionError))``.

    The time between two attempts doubles from `first` up to `most`, plus a random part. Attempts are counted in memory:
    after a crash the step starts anew, with all its attempts. Cancelling the run ends them at once. Needs the extra
    ``retry`` (tenacity).

    Attributes:
        attempts: How often the step is called at most, the first time included; None for no limit.
        first: Seconds before the second attempt.
        most: Seconds that the doubling ends at.
        jitter: Up to so many seconds more, at random, so that many do not come again in step.
        on: Errors that pass by themselves: a class, several, or a function of the error that says so.

    Raises:
        DefinitionError: A number makes no sense.
        ExtraMissing: tenacity is not installed.
    """

    attempts: int | None = 5
    first: Duration = 1.0
    most: Duration = 30.0
    jitter: Duration = 1.0
    on: Passing = Exception

    def __post_init__(self) -> None:
        from_one("Retry", "attempts", self.attempts)
        if not _is_passing(self.on):
            why = "give a class of errors, a tuple of them, or a function of the error"
            raise DefinitionError("Retry", f"on={self.on!r:.80}: {why}")
        for name in ("first", "most", "jitter"):
            try:
                seconds(getattr(self, name), name)
            except ValueError as error:
                raise DefinitionError("Retry", f"{name}=: {error}") from None
        _check_tenacity()

    def passes(self, error: BaseException) -> bool:
        """Whether another attempt may end otherwise. Never so for a cancellation."""
        if not isinstance(error, Exception):
            return False
        if isinstance(error, WorkflowError) and not isinstance(error, _MAY_PASS):
            return False
        if isinstance(self.on, type | tuple):
            return isinstance(error, self.on)
        return self.on(error)


def _is_passing(on: object) -> bool:
    if isinstance(on, type | tuple):
        classes = on if isinstance(on, tuple) else (on,)
        return all(isinstance(each, type) and issubclass(each, BaseException) for each in classes)
    return callable(on)


def retried(call: "Call", retry: Retry) -> "Call":
    """Call again after errors that pass.

    Args:
        call: What may fail.
        retry: When to try again.
    """
    if not isinstance(retry, Retry):
        raise DefinitionError("retry", f"{retry!r} is no Retry: give Retry(attempts=…)")

    async def trying(value: Any, context: "StepContext") -> Any:
        def tell(state: "RetryCallState") -> None:
            context.emit(
                StepRetried,
                path=context.path,
                attempt=state.attempt_number,
                seconds=state.upcoming_sleep,
                error=_kind(state),
            )
            context.note_retry(state.attempt_number, _error(state), state.upcoming_sleep)

        async def attempt() -> Any:
            context.begin_again()
            return await call(anew(value), context)

        return await _retrying(retry, tell)(attempt)

    return trying


def _retrying(retry: Retry, tell: "Callable[[RetryCallState], None]") -> "AsyncRetrying":
    from tenacity import (  # noqa: PLC0415  # an extra
        AsyncRetrying,
        retry_if_exception,
        stop_after_attempt,
        stop_never,
        wait_exponential,
        wait_random,
    )

    doubling = wait_exponential(multiplier=seconds(retry.first), max=seconds(retry.most))
    return AsyncRetrying(
        sleep=anyio.sleep,
        stop=stop_never if retry.attempts is None else stop_after_attempt(retry.attempts),
        wait=doubling + wait_random(0, seconds(retry.jitter)),
        retry=retry_if_exception(retry.passes),
        before_sleep=tell,
        reraise=True,
    )


def _kind(state: "RetryCallState") -> str:
    error = None if state.outcome is None else state.outcome.exception()
    return type(error).__name__


def _error(state: "RetryCallState") -> str:
    error = None if state.outcome is None else state.outcome.exception()
    return "" if error is None else describe(error)


def _check_tenacity() -> None:
    try:
        import tenacity  # noqa: F401, PLC0415  # an extra
    except ImportError:
        raise ExtraMissing("Retry", "tenacity", "retry") from None
