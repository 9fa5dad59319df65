"""The message that the running code handles."""

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Final, Protocol, TypeAlias

from ._envelope import Envelope
from ._publication import Publication

Record: TypeAlias = Envelope | Publication
"""What is handled: a message, or a publication, which has one for each recipient only when that is needed."""


class Handling(Protocol):
    """The worker that handles a message, as the code that it runs sees it."""

    def delivery(self, publication: Publication, /) -> Envelope:
        """The envelope for a publication that it handles, or has handled."""


_record: Final[ContextVar[Record | None]] = ContextVar("stagepost_running", default=None)
_worker: Final[ContextVar[Handling]] = ContextVar("stagepost_worker")

running_record: Final[Callable[[], Record | None]] = _record.get
"""What code that does not need more than that asks instead of `running`."""


def running() -> Envelope | None:
    """The message whose handler runs this code, or started the task that does.

    A task that outlives the handler keeps it: it is the cause of everything the task sends, but only its state says
    whether its handler still runs.
    """
    record = _record.get()
    return _worker.get().delivery(record) if type(record) is Publication else record


def set_worker(worker: Handling) -> None:
    """Called by a worker in its task, before all else."""
    _record.set(running())  # of whoever started the hub: that one has another worker
    _worker.set(worker)


set_running: Final[Callable[[Record | None], Token[Record | None]]] = _record.set
"""Called by a worker when it starts a message."""

reset_running: Final[Callable[[Token[Record | None]], None]] = _record.reset
"""Called by it before it rests, with the result of the first call: a third cheaper than setting it to None."""
