"""What the service refuses, and why.

::

    ServiceError
    ├── InvalidKey (ValueError)         a stored key, or a secret, that cannot be used
    ├── InvalidSettings (ValueError)    variables that do not fit
    ├── CannotListen (OSError)          a port that is in use, or a host that is none
    ├── MalformedRequest                400
    ├── KeyRequired                     401
    ├── ScopeRequired                   403
    ├── RequestRefused                  403: from another site, or from elsewhere without any key
    ├── InputRefused (ValueError)       400
    ├── BodyTooSlow                     408
    ├── BodyTooLarge                    413
    ├── InvalidBody                     422
    ├── TooManyRequests                 429
    ├── TooManyStreams                  429
    └── NotServing                      503
"""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import ClassVar

from stagepost._dataclasses import dataclass


class ServiceError(Exception):
    """What the service refuses: the root of its errors.

    Attributes:
        hint: What to do about it, or None.
    """

    hint: ClassVar[str | None] = None


class InvalidKey(ServiceError, ValueError):
    """A stored key has not the form of one, or a secret cannot be used as one. The message never shows it."""


class InvalidSettings(ServiceError, ValueError):
    """Settings of the service do not fit; each problem names its variable and what to do.

    Attributes:
        problems: One sentence for each.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems: Sequence[str] = tuple(problems)
        super().__init__("; ".join(self.problems))


class CannotListen(ServiceError, OSError):
    """A service cannot listen where it was told to.

    Attributes:
        host: Where.
        port: On which port.
    """

    def __init__(self, host: str, port: int, reason: str) -> None:
        self.host = host
        self.port = port
        super().__init__(f"cannot listen on {host}, port {port}: {reason}; give another with --host and --port")


class MalformedRequest(ServiceError):
    """A path or headers that no client sends by accident, and that servers read in different ways."""


class KeyRequired(ServiceError):
    """There was no key, or one that is not known; which of both is not told."""

    hint = "send a key of this service as X-API-Key, or as Authorization: Bearer"

    def __init__(self) -> None:
        super().__init__("This needs a valid key")


class ScopeRequired(ServiceError):
    """The key may not do this.

    Attributes:
        scope: What it lacks.
    """

    hint = "use a key that has this scope"

    def __init__(self, caller: str, scope: str) -> None:
        self.scope = scope
        super().__init__(f"The key {caller!r} lacks the scope {str(scope)!r}")


class RequestRefused(ServiceError):
    """A request that a page of another site may have caused, or that came from elsewhere though there is no key."""


class InputRefused(ServiceError, ValueError):
    """What was asked for makes no sense, or does not fit together, such as a cursor of another list."""


class InvalidBody(ServiceError):
    """What was sent is not what the route takes.

    Attributes:
        details: What is wrong, and where; never what was sent.
    """

    def __init__(self, message: str, details: Iterable["Detail"] = ()) -> None:
        self.details: Sequence[Detail] = tuple(details)
        super().__init__(message)


class BodyTooLarge(ServiceError):
    """The body of a request is larger than the service reads.

    Attributes:
        limit: The most bytes that it reads.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"The body has more than {limit} bytes")


class BodyTooSlow(ServiceError):
    """The body of a request did not come in time.

    Attributes:
        limit: Seconds within which it has to come.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        super().__init__(f"The body did not come within {limit:g} s")


class TooManyRequests(ServiceError):
    """A caller has sent more requests than it may.

    Attributes:
        retry_after: Seconds until it may send the next.
    """

    def __init__(self, allowed: str, retry_after: float) -> None:
        self.retry_after = max(1, ceil(retry_after))
        super().__init__(f"More requests than allowed ({allowed}); try again in {self.retry_after} s")


class TooManyStreams(ServiceError):
    """As many streams are open as may be.

    Attributes:
        retry_after: Seconds after which to try again.
    """

    retry_after: ClassVar[int] = 5

    def __init__(self, limit: int, *, by_caller: bool) -> None:
        whose = "of one caller" if by_caller else "of all callers"
        super().__init__(f"{limit} streams {whose} are open, and no more may be; close one")


class NotServing(ServiceError):
    """The runner of the service is not open: the application has not started, or has ended."""

    def __init__(self) -> None:
        super().__init__(
            "The service is not open: start the application with its lifespan, or enter the runner in that of the "
            "application that it is mounted in"
        )


@dataclass(frozen=True, slots=True)
class Detail:
    """One thing that is wrong with a body.

    Attributes:
        field: Where, such as ``labels.customer``; empty for the whole.
        message: What is wrong.
    """

    field: str
    message: str
