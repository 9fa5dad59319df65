"""How much a caller may ask of the service."""

from dataclasses import fields
from typing import Self

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """How much a caller may ask of the service. None is no limit.

    Attributes:
        requests: How often a key, or without one a client's address, may ask: ``"600/minute"``; also several,
            ``"10/second; 600/minute"``. Health and files of pages do not count.
        failures: How often an address may give a wrong key, or a wrong one to the login page.
        body: The most bytes that the body of a request may have.
        body_timeout: Seconds within which a body has to come.
        send_timeout: Seconds that a client may take to accept a piece of an answer or of a stream.
        streams: How many streams may be open at once.
        streams_per_caller: How many of them a key, or without one an address, may have.
    """

    requests: str | None = "600/minute"
    failures: str | None = "10/minute"
    body: int = 4 * 2**20
    body_timeout: float | None = 30.0
    send_timeout: float | None = 30.0
    streams: int | None = 1_000
    streams_per_caller: int | None = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, int | float) and value <= 0:
                raise ValueError(f"{field.name}={value}: give more than 0, or None for no limit")

    @classmethod
    def none(cls) -> Self:
        """As few limits as can be: bodies only have one."""
        return cls(None, None, body_timeout=None, send_timeout=None, streams=None, streams_per_caller=None)
