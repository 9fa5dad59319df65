"""Detecting changes to payloads, which are shared: for tests only."""

from typing import Any

from pydantic_core import to_json

from ._context import ActingContext
from ._envelope import Envelope
from ._middleware import Proceed
from .errors import PayloadChanged


def fingerprint(payload: object) -> bytes:
    """The contents of a payload: its fields and theirs. An object without fields stands for itself."""
    return to_json(payload, fallback=repr, inf_nan_mode="constants", serialize_as_any=True)


class CheckedEnvelope(Envelope):
    """An envelope that remembers the contents of its payload when it was sent."""

    __slots__ = ("fingerprint",)

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.fingerprint = fingerprint(self.payload)


async def check_payload(context: ActingContext[Any], proceed: Proceed) -> object:
    """Compare the payload with its fingerprint before and after its handling.

    Raises:
        PayloadChanged: The payload has changed.
    """
    envelope = context.envelope
    assert isinstance(envelope, CheckedEnvelope)  # noqa: S101 - the hub makes no others then
    _compare(envelope, "before")
    reply = await proceed()
    _compare(envelope, "while")
    return reply


def _compare(envelope: CheckedEnvelope, when: Any) -> None:
    if fingerprint(envelope.payload) != envelope.fingerprint:
        raise PayloadChanged(envelope.recipient.id, type(envelope.payload), when)
