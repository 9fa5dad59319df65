"""Finding out who changes payloads, which are shared: for tests only."""

from typing import Any

from pydantic_core import to_json

from ._context import ActingContext
from ._middleware import Proceed
from ._parcel import Parcel
from .errors import PayloadChanged


def fingerprint(payload: object) -> bytes:
    """What a payload says: its fields and theirs. What has none stands for itself."""
    return to_json(payload, fallback=repr, inf_nan_mode="constants", serialize_as_any=True)


class CheckedParcel(Parcel):
    """A parcel that remembers what its payload said when it was sent."""

    __slots__ = ("fingerprint",)

    def __init__(self, *facts: Any) -> None:
        super().__init__(*facts)
        self.fingerprint = fingerprint(self.payload)


async def check_payload(context: ActingContext[Any], proceed: Proceed) -> object:
    """Compare the payload with its fingerprint before and after its handling.

    Raises:
        PayloadChanged: It has changed.
    """
    parcel = context.parcel
    assert isinstance(parcel, CheckedParcel)  # noqa: S101 - the hub makes no others then
    _compare(parcel, "before")
    reply = await proceed()
    _compare(parcel, "while")
    return reply


def _compare(parcel: CheckedParcel, when: Any) -> None:
    if fingerprint(parcel.payload) != parcel.fingerprint:
        raise PayloadChanged(parcel.recipient.id, type(parcel.payload), when)
