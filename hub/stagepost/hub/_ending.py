"""The end of an endpoint: what becomes of what it handles and has queued, and when it has ended."""

from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet

from ._bell import Bell
from ._callers import NOBODY
from ._engine import Engine
from ._envelope import Envelope, EnvelopeState
from ._events import DeadReason
from ._publication import Publication
from ._workers import Workers
from .errors import DeliveryError


class Ending:
    """The part of an endpoint that ends it.

    Attributes:
        id: The agent's id.
        is_left: Whether it was closed and its last worker has gone.
        workers: The tasks that handle its messages, and those that the agent owns.
    """

    __slots__ = ("_bell", "_engine", "_on_left", "id", "is_left", "workers")

    workers: Workers

    def __init__(self, agent: str, engine: Engine, bell: Bell | None) -> None:
        self.id = agent
        self.is_left = False
        self._engine = engine
        self._bell = bell
        self._on_left: Callable[[], None] | None = None

    @property
    def bell(self) -> Bell:
        """Rings when something changes that may let it end: a worker ends while it closes, or its lifecycle does."""
        if self._bell is None:
            self._bell = Bell(self._engine.new_waiter)
        return self._bell

    def close(self, on_left: Callable[[], None] | None = None) -> None:
        """Let the workers end once everything here is handled; the last one calls back."""
        self._on_left = on_left or self._on_left
        self.workers.close()

    def interrupt(
        self, spared: AbstractSet[object] = NOBODY, refusal: Callable[[str], DeliveryError] | None = None
    ) -> Iterator[Envelope]:
        """Start no more messages, and cancel handlers and the start of the instance, except those to spare.

        Returns:
            The handled messages, each as its handler is cancelled. Others may run in between.
        """
        self.workers.halt()
        for envelope in self.workers.interrupt(spared):
            if refusal is not None:
                envelope.refuse(refusal(self.id))
            yield envelope

    def abort(
        self, refusal: Callable[[str], DeliveryError], reason: DeadReason, spared: AbstractSet[object] = NOBODY
    ) -> Iterator[tuple[Envelope, EnvelopeState]]:
        """Close at once: cancel handlers and hooks except `spared`, refuse waiting senders, mark the queue as dead.

        Returns:
            Each message as it is ended, and the state it was in. Others may run in between.
        """
        mailbox, account = self.workers.mailbox, self._engine.account
        for envelope in self.interrupt(spared, refusal):
            yield envelope, EnvelopeState.RUNNING
        while mailbox.blocked:
            envelope = next(iter(mailbox.blocked))
            mailbox.turn_away(envelope)
            envelope.refuse(refusal(self.id))
            yield envelope, EnvelopeState.BLOCKED
        while mailbox.queue:
            record = mailbox.queue.popleft()
            envelope = self.workers.envelope(record) if type(record) is Publication else record
            if envelope.waiter is not None:
                envelope.refuse(refusal(self.id))
            account.mark_dead(envelope, reason)
            yield envelope, EnvelopeState.QUEUED
        account.notify()
        self.close()

    async def left(self, held: Callable[[], AbstractSet[object]]) -> None:
        """Wait until the last worker has ended, or all that is left waits for one of those named."""
        await self.bell.until(lambda: self.has_left(held()))

    def has_left(self, held: AbstractSet[object]) -> bool:
        """Whether the last worker has ended, or all that is left waits for one of those named."""
        if self.is_left:
            return True
        workers = self.workers
        if not held or workers.handling(held) or (workers.mailbox.queue and not workers.is_stuck(held)):
            return False
        workers.end_tasks(held)  # nothing is left that they could be needed for
        return not workers.has_tasks(held) and bool(workers.owned or workers.handling() or workers.lifecycle in held)

    def note_left(self) -> None:
        """The last worker has ended."""
        if not self.is_left and self._on_left is not None:
            self._on_left()
        self.is_left = True
        self.bell.ring()
