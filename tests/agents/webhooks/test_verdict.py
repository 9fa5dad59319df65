from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from stagepost.agents._webhooks._verdict import Failed, Gone, check_answer


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_delivered(status: int) -> None:
    check_answer(status, {})


def test_410_is_gone() -> None:
    with pytest.raises(Gone):
        check_answer(410, {})


@pytest.mark.parametrize("status", [100, 300, 304, 400, 401, 404, 408, 429, 500, 503, 599])
def test_everything_else_is_a_failure_that_names_the_status(status: int) -> None:
    with pytest.raises(Failed, match=str(status)) as caught:
        check_answer(status, {})
    assert caught.value.retry_after is None


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_says_what_to_do(status: int) -> None:
    with pytest.raises(Failed, match="redirects are not followed") as caught:
        check_answer(status, {"location": "https://elsewhere.example/?key=concealed"})
    assert "elsewhere" not in caught.value.why


@pytest.mark.parametrize(
    ("text", "wanted"), [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("nan", 0.0), ("soon", None), ("", None)]
)
def test_the_pause_that_a_receiver_asks_for_is_read(text: str, wanted: float | None) -> None:
    with pytest.raises(Failed) as caught:
        check_answer(429, {"Retry-After": text})
    assert caught.value.retry_after == wanted


def test_the_pause_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    with pytest.raises(Failed) as caught:
        check_answer(503, {"retry-after": date})
    assert caught.value.retry_after is not None
    assert 3600 < caught.value.retry_after <= 7200
