"""How errors are read that nobody has to raise for it: of the shapes that litellm's have."""

from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import format_datetime

import pytest

from stagepost.agents import (
    AnswerCut,
    ContentRefused,
    ContextTooLong,
    InfrastructureError,
    ModelError,
    ModelRejected,
    ModelTimeout,
    ModelUnavailable,
    RateLimitReached,
    UnreadableAnswer,
)
from stagepost.agents._models._litellm._failing import Failures
from stagepost.agents.models import KeyMask, retry_after

FAILURES = Failures("openai/local", KeyMask(["sesame-open"]))


class Answered(Exception):
    """As litellm raises for what a provider has answered."""

    def __init__(self, status: int, text: str = "no", **headers: str) -> None:
        super().__init__(text)
        self.status_code = status
        self.litellm_response_headers = headers


def named(*names: str) -> Exception:
    """An error and what it was raised for, by the names of their classes."""
    made: Exception | None = None
    for name in reversed(names):
        outer: Exception = type(name, (Exception,), {})("it says")
        outer.__context__ = made
        made = outer
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, ModelRejected),
        (401, ModelRejected),
        (403, ModelRejected),
        (404, ModelRejected),
        (408, ModelTimeout),
        (409, ModelUnavailable),
        (413, ContextTooLong),
        (422, ModelRejected),
        (429, RateLimitReached),
        (500, ModelUnavailable),
        (503, ModelUnavailable),
        (529, ModelUnavailable),
    ],
)
def test_the_status_of_an_answer_decides(status: int, kind: type[ModelError]) -> None:
    error = FAILURES.read(Answered(status), 2)
    assert type(error) is kind
    assert (error.model, error.attempt) == ("openai/local", 2)
    if isinstance(error, ModelRejected):
        assert error.status == status


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        (["InternalServerError", "OpenAIError", "APIConnectionError", "ConnectError"], ModelUnavailable),
        (["InternalServerError", "OpenAIError", "APIConnectionError", "ReadError", "ClientPayloadError"], AnswerCut),
        (["MidStreamFallbackError", "ReadTimeout"], ModelTimeout),
        (["InternalServerError", "OpenAIError", "JSONDecodeError"], UnreadableAnswer),
        (["AuthenticationError"], ModelRejected),
        (["ContentPolicyViolationError"], ContentRefused),
        (["RateLimitError"], RateLimitReached),
        (["KeyError"], UnreadableAnswer),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else value.__name__,
)
def test_without_an_answer_the_causes_decide(names: list[str], kind: type[ModelError]) -> None:
    assert type(FAILURES.read(named(*names), 1)) is kind


def test_a_filter_of_the_provider_is_no_bad_request() -> None:
    error = type("ContentPolicyViolationError", (Answered,), {})(400, "filtered")
    assert type(FAILURES.read(error, 1)) is ContentRefused


def test_a_missing_key_is_nothing_to_wait_for() -> None:
    error = type("InternalServerError", (Exception,), {})("Missing credentials. Please pass an `api_key`")
    assert type(FAILURES.read(error, 1)) is ModelRejected


def test_errors_that_are_each_others_cause_are_read_once() -> None:
    one, two = named("KeyError"), named("ConnectError")
    one.__context__, two.__context__ = two, one
    assert type(FAILURES.read(one, 1)) is ModelUnavailable


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sesame-open",
        "Incorrect API key provided: sk-proj-abcdefgh",
        "Incorrect API key provided: sk-abc***xyz",
        "Authorization: Bearer abc.def.ghi is wrong",
        "key AIzaSyA1234567890 is wrong",
    ],
)
def test_keys_are_masked(text: str) -> None:
    detail = FAILURES.read(Answered(401, text), 1).detail
    assert "***" in detail
    for shown in ("sesame", "abcdefgh", "abc", "AIza"):
        assert shown not in detail


def test_short_secrets_are_not_looked_for() -> None:
    assert KeyMask(["a"]).all("a banana") == "a banana"


def test_the_text_is_one_line_of_some_length() -> None:
    detail = FAILURES.read(Answered(400, "litellm.BadRequestError: a\n  b " + "c" * 1000), 1).detail
    assert detail.startswith("status 400: BadRequestError: a b ccc")
    assert len(detail) < 600
    assert FAILURES.read(named("KeyError"), 1).detail == "it says"
    assert FAILURES.read(ValueError(), 1).detail == "ValueError"


def test_retry_after_is_read() -> None:
    error = FAILURES.read(Answered(429, **{"Retry-After": "7"}), 1)
    assert isinstance(error, InfrastructureError)
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("text", "seconds"), [("2", 2), ("0.5", 0.5), ("-1", 0), ("soon", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0)]
)
def test_retry_after_is_a_number_or_a_date(text: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": text}) == seconds


@pytest.mark.parametrize("zone", [UTC, None], ids=["zone", "no-zone"])
def test_a_date_to_come_is_waited_for(zone: tzinfo | None) -> None:
    moment = (datetime.now(UTC) + timedelta(seconds=90)).replace(tzinfo=zone)
    seconds = retry_after({"retry-after": format_datetime(moment)})
    assert seconds is not None
    assert 85 < seconds <= 90


def test_no_retry_after_is_none() -> None:
    assert retry_after({}) is None
