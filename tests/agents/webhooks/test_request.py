import json
from datetime import UTC, datetime

from stagepost.agents import MessageSaid, TurnBegan, part_from_dict, verify_webhook
from stagepost.agents._webhooks._request import headers_of, letter_of
from stagepost.agents._webhooks._signing import keys_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105
AT = datetime(2026, 1, 1, tzinfo=UTC)


def said(call_id: str | None = None, text: str = "Gr\u00fc\u00dfe") -> MessageSaid:
    return MessageSaid(
        timestamp=AT, task_id="trip-42", seq=3, cursor="c3", path=("lead",), call_id=call_id, role="user", text=text
    )


def test_the_body_is_the_part_as_json_with_exactly_its_keys() -> None:
    letter = letter_of(said())
    assert letter is not None
    assert json.loads(letter.body) == said().to_dict()
    assert part_from_dict(json.loads(letter.body)) == said()


def test_a_part_without_a_number_is_not_sent() -> None:
    assert letter_of(TurnBegan(timestamp=AT, task_id="trip-42", iteration=0)) is None


def test_the_headers_name_the_part_and_sign_it() -> None:
    letter = letter_of(said())
    assert letter is not None
    headers = headers_of(letter, keys_of(SECRET), 1_700_000_000.9)
    assert headers["content-type"] == "application/json"
    assert headers["idempotency-key"] == said().idempotency_key
    assert "trip-42" in headers["idempotency-key"]
    assert headers["webhook-timestamp"] == "1700000000"
    verify_webhook(headers, letter.body, SECRET, clock=lambda: 1_700_000_000)


def test_the_id_has_no_points_and_is_the_same_for_each_attempt() -> None:
    part = said(call_id="call.1")
    letter, again = letter_of(part), letter_of(part)
    assert letter is not None
    assert again is not None
    ids = {headers_of(each, keys_of(SECRET), at)["webhook-id"] for at in (1.0, 9.0) for each in (letter, again)}
    assert len(ids) == 1
    assert "." not in ids.pop()


def test_a_long_id_of_a_call_makes_no_long_header_and_stays_one_of_its_own() -> None:
    first, second = letter_of(said(call_id="x" * 5000 + "1")), letter_of(said(call_id="x" * 5000 + "2"))
    assert first is not None
    assert second is not None
    assert first.key != second.key
    assert len(first.key) <= 255
    assert first.key.isascii()
