"""The message that the running code handles."""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Final, Protocol, TypeAlias

from ._envelope import Envelope, Recipient
from ._publication import Publication

Record: TypeAlias = Envelope | Publication
"""What is handled: a message, or a publication, which has one for each recipient only when that is needed."""


class Handling(Protocol):
    """The worker that handles a message, as the code that it runs sees it."""

    @property
    def engine(self) -> object:
        """The engine of its hub."""

    @property
    def recipient(self) -> Recipient:
        """The agent, or the instance of it, that it works for."""

    def delivery(self, publication: Publication, /) -> Envelope:
        """The envelope for a publication that it handles, or has handled."""


_record: Final[ContextVar[Record | None]] = ContextVar("stagepost_running", default=None)
_worker: Final[ContextVar[Handling]] = ContextVar("stagepost_worker")

worker_here: Final[Callable[[], Handling]] = _worker.get
"""The worker that runs this code; a `LookupError` if none does."""

running_record: Final[Callable[[], Record | None]] = _record.get
"""What code handles that may belong to another hub: all that a sender has to know who handles nothing."""


def running_on(engine: object) -> Envelope | None:
    """The message of a hub whose handler runs this code, or started the task that does. Not for other threads.

    A task that outlives the handler keeps it: it is the cause of everything the task sends, but only its state says
    whether its handler still runs.
    """
    record = _record.get()
    if type(record) is Publication:
        worker = _worker.get()
        return worker.delivery(record) if worker.engine is engine else None
    return record if record is not None and record.worker is not None and record.worker.engine is engine else None


def set_worker(worker: Handling) -> None:
    """Called by a worker in its task, before all else. It has nothing to do with a message that started its hub."""
    _record.set(None)
    _worker.set(worker)


set_running: Final[Callable[[Record | None], Token[Record | None]]] = _record.set
"""Called by a worker when it starts a message."""

reset_running: Final[Callable[[Token[Record | None]], None]] = _record.reset
"""Called by it before it rests, with the result of the first call: a third cheaper than setting it to None."""
