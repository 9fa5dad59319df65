import logging
import math
import sys
from collections.abc import Callable
from time import monotonic

import pytest
from anyio import fail_after

from stagepost.agents import (
    InfrastructureError,
    ModelRejected,
    ModelResponse,
    ModelUnavailable,
    RateLimitReached,
    Retries,
    ToolUnavailable,
)
from stagepost.agents._retries import retried

FAST = Retries(first=0.001, most=0.001, jitter=0)


class Asked:
    """Fails as it is told to, and answers then."""

    def __init__(self, *errors: Callable[[int], Exception]) -> None:
        self.attempts: list[int] = []
        self._errors = list(errors)

    async def __call__(self, attempt: int) -> ModelResponse:
        self.attempts.append(attempt)
        if self._errors:
            raise self._errors.pop(0)(attempt)
        return ModelResponse("fine")


def down(attempt: int) -> Exception:
    return ModelUnavailable("m", "down", attempt=attempt)


def busy(seconds: float) -> Callable[[int], Exception]:
    return lambda attempt: RateLimitReached("m", "busy", attempt=attempt, retry_after=seconds)


async def test_it_is_asked_until_it_answers() -> None:
    asked = Asked(down, busy(0), down, down)
    with fail_after(5):
        assert (await retried(asked, FAST)).text == "fine"
    assert asked.attempts == [1, 2, 3, 4, 5]


async def test_the_last_attempt_says_what_was_wrong() -> None:
    asked = Asked(*[down] * 9)
    with fail_after(5), pytest.raises(ModelUnavailable, match=r"\(attempt 5\)"):
        await retried(asked, FAST)
    assert asked.attempts == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("error", [ModelRejected("m", "no"), ValueError("no")], ids=lambda error: type(error).__name__)
async def test_other_errors_are_not_retried(error: Exception) -> None:
    asked = Asked(lambda _: error)
    with pytest.raises(type(error)):
        await retried(asked, FAST)
    assert asked.attempts == [1]


async def test_the_provider_says_how_long_to_wait() -> None:
    began = monotonic()
    with fail_after(5):
        await retried(Asked(busy(0.2)), FAST)
    assert monotonic() - began >= 0.2
    with fail_after(5):
        await retried(Asked(busy(0.01)), Retries(first=60, most=60, jitter=0))


async def test_nobody_waits_longer_than_the_patience() -> None:
    asked = Asked(busy(3600))
    with fail_after(5), pytest.raises(InfrastructureError) as caught:
        await retried(asked, FAST)
    assert caught.value.retry_after == 3600
    assert asked.attempts == [1]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Retries(attempts=0), r"Retries\(attempts=0\): give at least 1"),
        (lambda: Retries(first=-1), r"Retries\(first=…\)"),
        (lambda: Retries(patience=math.nan), r"Retries\(patience=…\)"),
    ],
    ids=["attempts", "first", "patience"],
)
def test_numbers_that_make_no_sense_are_refused(make: Callable[[], Retries], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


async def test_what_passes_is_the_callers_business_and_each_pause_is_noted() -> None:
    noted: list[tuple[str, int, float]] = []
    asked = Asked(lambda _: KeyError("a"), lambda _: ToolUnavailable("b", retry_after=0.002), lambda _: KeyError("c"))
    with fail_after(5):
        answer = await retried(
            asked,
            FAST,
            passes=lambda error: isinstance(error, KeyError | ToolUnavailable),
            note=lambda error, attempt, pause: noted.append((type(error).__name__, attempt, pause)),
        )
    assert answer.text == "fine"
    assert noted == [("KeyError", 1, 0.001), ("ToolUnavailable", 2, 0.002), ("KeyError", 3, 0.001)]


async def test_what_succeeds_at_once_needs_no_tenacity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    assert (await retried(Asked(), FAST)).text == "fine"


async def test_without_tenacity_the_first_error_stands_and_one_warning_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    asked = Asked(*[down] * 9)
    with caplog.at_level(logging.WARNING, "stagepost"), pytest.raises(ModelUnavailable):
        await retried(asked, FAST)
    assert asked.attempts == [1]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "[retry]" in str(caplog.records[0].msg)


async def test_a_single_attempt_is_no_reason_to_warn(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    with caplog.at_level(logging.WARNING, "stagepost"), pytest.raises(ModelUnavailable):
        await retried(Asked(down), Retries(attempts=1))
    assert caplog.records == []
