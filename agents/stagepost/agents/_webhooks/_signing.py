"""Signatures of webhooks, as Standard Webhooks 1.0 has them: HMAC-SHA256 over id, time and body.

https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
"""

import binascii
import hashlib
import hmac
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from pydantic import JsonValue
from pydantic_core import from_json

from stagepost.hub import Duration, seconds

from ..errors import InvalidWebhook, WebhookNotVerified

ID: Final = "webhook-id"
TIMESTAMP: Final = "webhook-timestamp"
SIGNATURE: Final = "webhook-signature"

_PREFIX: Final = "whsec_"
_VERSION: Final = "v1"
_SHORTEST, _LONGEST = 24, 64  # bytes of a secret, as the standard says
_HOW: Final = f"make one with '{_PREFIX}' + base64.b64encode(secrets.token_bytes(32)).decode()"


def keys_of(secret: str | Sequence[str]) -> tuple[bytes, ...]:
    """The keys in secrets as they are given; errors never show them.

    Args:
        secret: ``whsec_…``, or several.

    Raises:
        InvalidWebhook: One is no such text, or too short or too long; or there is none.
    """
    given = [secret] if isinstance(secret, str) else list(secret)
    if not given:
        raise InvalidWebhook(f"secret=[]: give at least one secret; {_HOW}")
    return tuple(_key(each) for each in given)


def signed(keys: Sequence[bytes], message_id: str, timestamp: int, body: bytes) -> Mapping[str, str]:
    """The headers of a request: its id, the time of this attempt, and a signature by each key.

    Args:
        keys: From `keys_of`; several while a secret is replaced by another one.
        message_id: The same for all attempts; without points.
        timestamp: Seconds since 1970.
        body: As it is sent.
    """
    signatures = (f"{_VERSION},{b64encode(_digest(key, message_id, timestamp, body)).decode()}" for key in keys)
    return {ID: message_id, TIMESTAMP: str(timestamp), SIGNATURE: " ".join(signatures)}


def verify_webhook(
    headers: Mapping[str, str],
    body: bytes | str,
    secret: str | Sequence[str],
    *,
    tolerance: Duration | None = 300.0,
    clock: Callable[[], float] = time.time,
) -> JsonValue:
    """Verify a request that a webhook has received, and return the JSON of its body.

    ::

        @app.route("/hook", methods=["POST"])
        async def hook(request):
            part = verify_webhook(request.headers, await request.body(), secret)

    It accepts every request that is signed as Standard Webhooks 1.0 has it (``v1``), whoever sends it. A request may
    come more than once: keep its ``webhook-id``, or ``idempotency-key``, and do nothing the second time.

    Args:
        headers: Those of the request; upper and lower case do not matter.
        body: The body as it came: JSON that was read and written again has another signature.
        secret: ``whsec_…``, or several while one is replaced by another.
        tolerance: How old a request may be, and how far in the future, in seconds or as a `timedelta`; None for any
            age, which lets whoever has recorded a request send it again.
        clock: Seconds since 1970.

    Raises:
        WebhookNotVerified: A header is missing, the time is too far away, no signature is by one of the secrets, or the
            body is no JSON.
        InvalidWebhook: A secret is none.
    """
    keys = keys_of(secret)
    content = body.encode() if isinstance(body, str) else bytes(body)
    message_id, at, signatures = _read(headers)
    _check_time(at, seconds(tolerance, "tolerance"), clock())
    wanted = [_digest(key, message_id, at, content) for key in keys]
    given = [found for each in signatures.split(" ") if (found := _signature(each)) is not None]
    # All pairs are compared, so the time tells nothing of which secret it was.
    if not sum(hmac.compare_digest(one, other) for one in wanted for other in given):
        raise WebhookNotVerified(
            "no signature is by one of the secrets: compare the secrets, and give the body as it came, byte by byte"
        )
    try:
        return from_json(content)  # type: ignore[no-any-return]  # what JSON can be
    except ValueError:
        raise WebhookNotVerified("it is signed, but its body is no JSON") from None


def _key(secret: object) -> bytes:
    if not isinstance(secret, str) or not secret.startswith(_PREFIX):
        raise InvalidWebhook(f"a secret of webhooks is to be a text that begins with {_PREFIX}: {_HOW}")
    text = secret.removeprefix(_PREFIX)
    try:
        key = b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise InvalidWebhook(f"what follows {_PREFIX} in a secret is to be base64: {_HOW}") from None
    if not _SHORTEST <= len(key) <= _LONGEST:
        raise InvalidWebhook(f"a secret has {len(key)} bytes: give {_SHORTEST} to {_LONGEST}; {_HOW}")
    return key


def _digest(key: bytes, message_id: str, timestamp: int, body: bytes) -> bytes:
    return hmac.new(key, f"{message_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()


def _read(headers: Mapping[str, str]) -> tuple[str, int, str]:
    found = {name.lower(): value for name, value in headers.items()}
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not found.get(name)]
    if missing:
        raise WebhookNotVerified(f"it has no header {' and no header '.join(missing)}")
    at = found[TIMESTAMP]
    if not (at.isascii() and at.isdigit() and len(at) <= len(str(2**63))):
        raise WebhookNotVerified(f"{TIMESTAMP} is {at!r:.40}, and not the seconds since 1970")
    return found[ID], int(at), found[SIGNATURE]


def _check_time(at: int, tolerance: float, now: float) -> None:
    age = now - at
    if abs(age) > tolerance:
        when = f"{age:.0f} s ago" if age > 0 else f"in {-age:.0f} s"
        raise WebhookNotVerified(
            f"it was signed {when}, and {tolerance:g} s are tolerated: somebody sends it again, or a clock is wrong"
        )


def _signature(text: str) -> bytes | None:
    """The bytes of one signature; None if it is of another kind."""
    version, _, encoded = text.partition(",")
    if version != _VERSION:
        return None
    try:
        return b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
