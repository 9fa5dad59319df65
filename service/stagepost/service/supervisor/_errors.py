"""What can go wrong with a supervisor and its sessions.

::

    ServiceError
    └── SupervisorError
        ├── InvalidWorker (ValueError)      configuration that does not fit
        ├── InvalidEventId (ValueError)     400
        ├── SessionBusy                     409
        ├── KeyReused                       422
        └── TurnFailed                      500
"""

from typing import ClassVar

from ..errors import ServiceError


class SupervisorError(ServiceError):
    """The root of these errors."""


class InvalidWorker(SupervisorError, ValueError):
    """The configuration of a worker does not fit.

    Attributes:
        worker: Its name, or that of the tool.
    """

    def __init__(self, worker: str, why: str) -> None:
        self.worker = worker
        super().__init__(f"worker {worker!r}: {why}")


class InvalidEventId(SupervisorError, ValueError):
    """A reader has come back with an id that no event of this session, or of this turn, has had."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the last event id is not valid: {why}; leave it out to begin anew")


class SessionBusy(SupervisorError):
    """A session is still answering, and takes no other message meanwhile.

    Attributes:
        session_id: The session.
        retry_after: Seconds after which to try again.
    """

    retry_after: ClassVar[int] = 1

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        super().__init__(f"session {session_id} is still answering another message; send this one once it has answered")


class KeyReused(SupervisorError):
    """An idempotency key stands for another message of the session already."""

    def __init__(self) -> None:
        super().__init__("this Idempotency-Key was sent with another message; use a new key for each message")


class TurnFailed(SupervisorError):
    """A turn has ended without an answer; the message has nothing of the reason, which the log has.

    Attributes:
        session_id: The session.
    """

    def __init__(self, session_id: str, why: str) -> None:
        self.session_id = session_id
        super().__init__(why)
