"""Where the messages of one agent arrive: its mailbox, its workers, and the waits of those who send to it."""

import math
from collections.abc import Callable, Coroutine
from typing import Any

from ._engine import Engine
from ._events import DeadReason
from ._mailbox import Mailbox
from ._message import MessageType
from ._parcel import Parcel, State
from ._wake import Waiter
from ._workers import Worker, Workers
from .errors import DeliveryError, MailboxFull


class Desk:
    """One agent's place on a running hub, made when the first message comes for it.

    Attributes:
        id: The agent's id.
        detach: Whether its handlers go on when the requester no longer waits.
        is_left: Whether it was closed and its last worker has gone.
    """

    __slots__ = ("_engine", "_mailbox", "_on_left", "_watchers", "_workers", "detach", "id", "is_left")

    def __init__(self, agent: str, engine: Engine, *, concurrency: float, mailbox: float, detach: bool) -> None:
        self.id = agent
        self.detach = detach
        self.is_left = False
        self._engine = engine
        self._mailbox = Mailbox(mailbox, engine.ledger)
        self._workers = Workers(agent, concurrency, self._mailbox, engine, self._note_left)
        self._watchers: list[Waiter] = []
        self._on_left: Callable[[], None] | None = None

    @property
    def all_busy(self) -> bool:
        """Whether another message would have to wait for a handler that runs now."""
        return self._workers.all_busy

    def employs(self, worker: Worker | None) -> bool:
        """Whether a worker is one of this agent's."""
        return worker in self._workers.staff

    def accept(self, parcel: Parcel) -> bool:
        """Take a message if there is room."""
        if not self._mailbox.accept(parcel):
            return False
        workers = self._workers
        if workers.resting or workers.vacancies:
            workers.call()
        return True

    def line_up(self, parcel: Parcel, timeout: float) -> Coroutine[Any, Any, None]:
        """Let a one-way message wait in line, and its sender on what this returns.

        Raises:
            MailboxFull: In vain; at once if the agent itself is the sender, because only it could make room.
            DeliveryError: The agent or the hub stopped.
        """
        to_self = parcel.sender == self.id
        if to_self or timeout == 0:
            raise MailboxFull(self.id, self._mailbox.limit, to_self=to_self)
        parcel.deadline = self._engine.stamps.clock() + timeout
        parcel.waiter = waiter = self._engine.new_waiter()
        self._mailbox.blocked.append(parcel)
        return self._wait(parcel, waiter)

    def ask(self, parcel: Parcel) -> Coroutine[Any, Any, None]:
        """Deliver a request; its sender waits on what this returns until the parcel has its reply.

        Raises:
            DeliveryError: There will be none; raised by what this returns.
        """
        parcel.waiter = waiter = self._engine.new_waiter()
        if not self.accept(parcel):
            self._mailbox.blocked.append(parcel)
        return self._wait(parcel, waiter)

    async def _wait(self, parcel: Parcel, waiter: Waiter) -> None:
        if parcel.deadline < math.inf:
            parcel.bucket = self._engine.deadlines.add(parcel, parcel.deadline)
        try:
            await waiter
        except BaseException:
            parcel.release()
            self._withdraw(parcel, self._engine.ledger.cancel)
            raise
        parcel.raise_refusal()

    def expire(self, parcel: Parcel) -> None:
        """The sender has waited long enough."""
        is_request = parcel.type is MessageType.REQUEST
        error = parcel.timed_out() if is_request else MailboxFull(self.id, self._mailbox.limit)
        self._withdraw(parcel, lambda late: self._engine.ledger.bury(late, DeadReason.EXPIRED))
        parcel.refuse(error)

    def _withdraw(self, parcel: Parcel, end: Callable[[Parcel], None]) -> None:
        """Take back what nobody waits for any more.

        A request goes with its requester, unless handlers are detached; a one-way message only as long as there was no
        room for it.
        """
        if parcel.state is State.BLOCKED:
            self._mailbox.blocked.remove(parcel)
        elif parcel.type is not MessageType.REQUEST or self.detach:
            return
        elif parcel.state is State.QUEUED:
            self._mailbox.queue.remove(parcel)
            end(parcel)
            self._workers.admit()
            self._engine.ledger.settle()
        elif parcel.state is State.RUNNING and parcel.worker is not None:
            parcel.worker.interrupt()

    def close(self, on_left: Callable[[], None] | None = None) -> None:
        """Let the workers go when they have handled what is here; the last one calls back."""
        self._on_left = on_left or self._on_left
        self._workers.close()

    def interrupt(self, spare: Worker | None = None) -> None:
        """Cancel the handlers but that of a worker to spare."""
        self._workers.interrupt(spare)

    def abort(self, refusal: Callable[[str], DeliveryError], reason: DeadReason, spare: Worker | None = None) -> None:
        """Close at once: bury what is queued, refuse those who wait, cancel handlers but that of a worker to spare."""
        self.interrupt(spare)
        for parcel in self._mailbox.blocked:
            parcel.refuse(refusal(self.id))
        self._mailbox.blocked.clear()
        while self._mailbox.queue:
            parcel = self._mailbox.queue.popleft()
            self._engine.ledger.bury(parcel, reason)
            parcel.refuse(refusal(self.id))
        for parcel in self._workers.handling(spare):
            parcel.refuse(refusal(self.id))
        self._engine.ledger.settle()
        self.close()

    async def left(self) -> None:
        """Wait until the last worker has gone."""
        while not self.is_left:
            waiter = self._engine.new_waiter()
            self._watchers.append(waiter)
            await waiter

    def _note_left(self) -> None:
        if not self.is_left and self._on_left is not None:
            self._on_left()
        self.is_left = True
        for waiter in self._watchers:
            if not waiter.done():
                waiter.set_result(None)
