"""Where the messages of one agent arrive: its mailbox, its workers, and the waits of those who send to it."""

import math
from collections.abc import Callable, Coroutine
from typing import Any

from ._delivery import Delivery, State
from ._engine import Engine
from ._events import DeadReason
from ._mailbox import Mailbox
from ._message import MessageType
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

    def accept(self, delivery: Delivery) -> bool:
        """Take a message if there is room."""
        if not self._mailbox.accept(delivery):
            return False
        workers = self._workers
        if workers.resting or workers.vacancies:
            workers.call()
        return True

    def line_up(self, delivery: Delivery, timeout: float) -> Coroutine[Any, Any, None]:
        """Let a one-way message wait in line, and its sender on what this returns.

        Raises:
            MailboxFull: In vain; at once if the agent itself is the sender, because only it could make room.
            DeliveryError: The agent or the hub stopped.
        """
        to_self = delivery.sender == self.id
        if to_self or timeout == 0:
            raise MailboxFull(self.id, self._mailbox.limit, to_self=to_self)
        delivery.deadline = self._engine.stamps.clock() + timeout
        delivery.waiter = waiter = self._engine.new_waiter()
        self._mailbox.blocked.append(delivery)
        return self._wait(delivery, waiter)

    def ask(self, delivery: Delivery) -> Coroutine[Any, Any, None]:
        """Deliver a request; its sender waits on what this returns until the delivery has its reply.

        Raises:
            DeliveryError: There will be none; raised by what this returns.
        """
        delivery.waiter = waiter = self._engine.new_waiter()
        if not self.accept(delivery):
            self._mailbox.blocked.append(delivery)
        return self._wait(delivery, waiter)

    async def _wait(self, delivery: Delivery, waiter: Waiter) -> None:
        if delivery.deadline < math.inf:
            delivery.bucket = self._engine.deadlines.add(delivery, delivery.deadline)
        try:
            await waiter
        except BaseException:
            delivery.release()
            self._withdraw(delivery, self._engine.ledger.cancel)
            raise
        delivery.raise_refusal()

    def expire(self, delivery: Delivery) -> None:
        """The sender has waited long enough."""
        is_request = delivery.type is MessageType.REQUEST
        error = delivery.timed_out() if is_request else MailboxFull(self.id, self._mailbox.limit)
        self._withdraw(delivery, lambda late: self._engine.ledger.bury(late, DeadReason.EXPIRED))
        delivery.refuse(error)

    def _withdraw(self, delivery: Delivery, end: Callable[[Delivery], None]) -> None:
        """Take back what nobody waits for any more.

        A request goes with its requester, unless handlers are detached; a one-way message only as long as there was no
        room for it.
        """
        if delivery.state is State.BLOCKED:
            self._mailbox.blocked.remove(delivery)
        elif delivery.type is not MessageType.REQUEST or self.detach:
            return
        elif delivery.state is State.QUEUED:
            self._mailbox.queue.remove(delivery)
            end(delivery)
            self._workers.admit()
            self._engine.ledger.settle()
        elif delivery.state is State.RUNNING and delivery.worker is not None:
            delivery.worker.interrupt()

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
        for delivery in self._mailbox.blocked:
            delivery.refuse(refusal(self.id))
        self._mailbox.blocked.clear()
        while self._mailbox.queue:
            delivery = self._mailbox.queue.popleft()
            self._engine.ledger.bury(delivery, reason)
            delivery.refuse(refusal(self.id))
        for delivery in self._workers.handling(spare):
            delivery.refuse(refusal(self.id))
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
