import base64
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Mapping
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook as OtherMaker

from stagepost.agents import InvalidWebhook, WebhookNotVerified, verify_webhook
from stagepost.agents._webhooks._signing import keys_of, signed

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105  # of the standard's own tests
OTHER = "whsec_" + base64.b64encode(bytes(range(32))).decode()
BODY = b'{"type":"completed","seq":null}'
NOW = 1_700_000_000


def headers(body: bytes = BODY, secret: str = SECRET, at: float = NOW) -> dict[str, str]:
    return dict(signed(keys_of(secret), "msg_1", int(at), body))


def by_the_text_of_the_standard(secret: str, given: Mapping[str, str], body: bytes) -> str:
    """Signed is ``{msg_id}.{timestamp}.{payload}``, by HMAC-SHA256; the key is base64 after ``whsec_``."""
    key = base64.b64decode(secret.split("_", 1)[1])
    content = b".".join([given["webhook-id"].encode(), given["webhook-timestamp"].encode(), body])
    return "v1," + base64.b64encode(hmac.digest(key, content, hashlib.sha256)).decode()


def test_the_signature_is_that_of_the_standard() -> None:
    made = headers()
    assert made["webhook-signature"] == by_the_text_of_the_standard(SECRET, made, BODY)
    assert made["webhook-timestamp"] == str(NOW)


def test_the_signature_is_that_of_the_standard_s_own_example() -> None:
    # of https://github.com/standard-webhooks/standard-webhooks, libraries/python/tests
    body, message_id, at = b'{"test": 2432232314}', "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    made = signed(keys_of(SECRET), message_id, at, body)
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@given(st.binary(min_size=24, max_size=64), st.text())
def test_another_maker_s_verifier_accepts_what_is_signed(key: bytes, text: str) -> None:
    secret, body = "whsec_" + base64.b64encode(key).decode(), json.dumps({"text": text}).encode()
    made = headers(body, secret, time.time())
    assert OtherMaker(secret).verify(body, made) == verify_webhook(made, body, secret) == {"text": text}


def test_what_another_maker_has_signed_is_accepted() -> None:
    from datetime import UTC, datetime

    now = datetime.now(UTC)
    made = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": OtherMaker(SECRET).sign("msg_1", now, BODY.decode()),
    }
    assert verify_webhook(made, BODY, SECRET) == json.loads(BODY)


def test_while_a_secret_is_replaced_either_is_accepted() -> None:
    made = dict(signed(keys_of([SECRET, OTHER]), "msg_1", NOW, BODY))
    assert len(made["webhook-signature"].split(" ")) == 2
    for known in (SECRET, OTHER, [secret_of_nobody(), OTHER]):
        assert verify_webhook(made, BODY, known, clock=lambda: NOW) == json.loads(BODY)


def secret_of_nobody() -> str:
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


def test_headers_may_be_written_in_any_case_and_the_body_be_text() -> None:
    made = {name.title(): value for name, value in headers().items()}
    assert verify_webhook(made, BODY.decode(), SECRET, clock=lambda: NOW) == json.loads(BODY)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(name: str) -> None:
    made = headers()
    del made[name]
    with pytest.raises(WebhookNotVerified, match=name):
        verify_webhook(made, BODY, SECRET, clock=lambda: NOW)


@pytest.mark.parametrize(
    ("changed", "body"),
    [
        pytest.param({}, BODY + b" ", id="another body"),
        pytest.param({"webhook-id": "msg_2"}, BODY, id="another id"),
        pytest.param({"webhook-timestamp": str(NOW + 1)}, BODY, id="another time"),
        pytest.param({"webhook-signature": "v1,AAAA"}, BODY, id="another signature"),
        pytest.param({"webhook-signature": "v1,?"}, BODY, id="no base64"),
        pytest.param({"webhook-signature": "v1,\u00fc"}, BODY, id="no ASCII"),
        pytest.param({"webhook-signature": "v1"}, BODY, id="no signature"),
    ],
)
def test_what_was_changed_is_refused(changed: dict[str, str], body: bytes) -> None:
    with pytest.raises(WebhookNotVerified, match="no signature is by one of the secrets"):
        verify_webhook({**headers(), **changed}, body, SECRET, clock=lambda: NOW)


def test_a_signature_of_another_kind_does_not_count() -> None:
    made = headers()
    made["webhook-signature"] = made["webhook-signature"].replace("v1,", "v1a,")
    with pytest.raises(WebhookNotVerified):
        verify_webhook(made, BODY, SECRET, clock=lambda: NOW)


def test_what_another_secret_has_signed_is_refused() -> None:
    with pytest.raises(WebhookNotVerified) as caught:
        verify_webhook(headers(), BODY, OTHER, clock=lambda: NOW)
    assert OTHER not in str(caught.value)


@pytest.mark.parametrize(("late", "told"), [(301, "301 s ago"), (-301, "in 301 s")])
def test_a_request_of_another_time_is_refused(late: int, told: str) -> None:
    with pytest.raises(WebhookNotVerified, match=told):
        verify_webhook(headers(), BODY, SECRET, clock=lambda: NOW + late)


def test_the_tolerance_can_be_chosen() -> None:
    for tolerance in (timedelta(seconds=300), 300, None):
        verify_webhook(headers(), BODY, SECRET, tolerance=tolerance, clock=lambda: NOW + 300)
    verify_webhook(headers(), BODY, SECRET, tolerance=None, clock=lambda: NOW + 10**9)


@pytest.mark.parametrize("at", ["", "1e9", "-1", "\u0661", "9" * 30, "1700000000.5"])
def test_a_time_that_is_none_is_refused(at: str) -> None:
    with pytest.raises(WebhookNotVerified, match="webhook-timestamp"):
        verify_webhook({**headers(), "webhook-timestamp": at}, BODY, SECRET, clock=lambda: NOW)


def test_a_body_that_is_no_json_is_refused_though_it_is_signed() -> None:
    with pytest.raises(WebhookNotVerified, match="no JSON"):
        verify_webhook(headers(b"{"), b"{", SECRET, clock=lambda: NOW)


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        pytest.param("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "begins with whsec_", id="no prefix"),
        pytest.param("whsec_" + "?" * 32, "base64", id="no base64"),
        pytest.param("whsec_" + base64.b64encode(b"s" * 23).decode(), "23 bytes", id="too short"),
        pytest.param("whsec_" + base64.b64encode(b"s" * 65).decode(), "65 bytes", id="too long"),
        pytest.param([], "at least one", id="none"),
        pytest.param([7], "begins with whsec_", id="no text"),
    ],
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str | list[str], told: str) -> None:
    with pytest.raises(InvalidWebhook, match=told) as caught:
        keys_of(secret)
    assert not isinstance(secret, str) or secret not in str(caught.value)


def test_a_secret_may_lack_the_signs_that_fill_up() -> None:
    assert keys_of(OTHER.rstrip("=")) == keys_of(OTHER)
