"""Where the messages of one agent arrive: its mailbox, its workers, and the waits of those who send to it."""

import math
from collections.abc import Callable, Coroutine, Iterator
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Any, Literal, TypeAlias

from ._blueprint import Blueprint
from ._callers import NOBODY
from ._containment import class_name
from ._engine import Engine
from ._events import AgentFailed, DeadReason
from ._guards import cancellation
from ._life import Life
from ._mailbox import Mailbox
from ._message import MessageType, Priority
from ._metrics import AgentMetrics
from ._parcel import STANDARD, Parcel, State
from ._supervision import Restart, Supervision
from ._tally import Tally
from ._wake import Waiter
from ._workers import Workers
from .errors import AgentStopped, DeliveryError, HandlerFailed, MailboxFull

Overflow: TypeAlias = Literal["wait", "reject", "drop_oldest"]
"""What a full mailbox does with one more message: let its sender wait, refuse it, or drop the oldest for it."""

_NORMAL, _QUEUED = Priority.NORMAL, State.QUEUED  # looked up once: it costs as much as several assignments


class Desk:
    """One agent's place on a running hub, made when the first message comes for it.

    Attributes:
        id: The agent's id.
        detach: Whether its handlers go on when the requester no longer waits.
        overflow: What its full mailbox does with one more message.
        is_left: Whether it was closed and its last worker has gone.
        bell: Rings when something changes that who waits for its end waits for.
        tally: The counts of its messages.
    """

    __slots__ = (
        "_engine",
        "_mailbox",
        "_on_left",
        "_workers",
        "bell",
        "detach",
        "id",
        "is_left",
        "overflow",
        "tally",
    )

    def __init__(
        self, agent: str, engine: Engine, *, concurrency: float, mailbox: float, overflow: Overflow, detach: bool
    ) -> None:
        self.id = agent
        self.detach = detach
        self.overflow = overflow
        self.is_left = False
        self._engine = engine
        self.tally = Tally()
        self._mailbox = Mailbox(mailbox, engine.ledger)
        self._workers = Workers(agent, concurrency, self._mailbox, engine, self._note_left, tally=self.tally)
        self.bell = self._workers.bell
        self._on_left: Callable[[], None] | None = None

    def supervise(self, supervision: Supervision, blueprint: Blueprint | None) -> None:
        """Decide what a failure leads to, and give the agent a life if its instance has to be started."""
        workers = self._workers
        if blueprint is not None:
            plan = supervision if isinstance(supervision, Restart) else None
            workers.life = Life(self.id, blueprint, plan, workers, self._engine)
            workers.life.begin()
        if isinstance(supervision, Restart) and workers.life is not None:
            workers.on_failure = workers.life.restart
        elif supervision == "stop":
            workers.on_failure = self._strike
        elif supervision == "escalate":
            workers.on_failure = self._escalate

    def _strike(self, failure: BaseException, _: Parcel) -> None:
        self._engine.strike(self.id, failure, AgentStopped)

    def _escalate(self, failure: BaseException, parcel: Parcel) -> None:
        self._engine.emit(AgentFailed(hub=self._engine.hub, agent=self.id, error=class_name(type(failure))))
        if isinstance(failure, cancellation()):  # whoever has entered the hub would take it for their own
            failure = HandlerFailed(self.id, parcel.handler.name, failure)
        self._engine.end(failure)

    @property
    def closing(self) -> bool:
        """Whether it takes no more messages."""
        return self._workers.closing

    @property
    def depth(self) -> int:
        """How many messages wait."""
        return len(self._mailbox.queue)

    @property
    def blocked(self) -> int:
        """How many senders wait for room."""
        return len(self._mailbox.blocked)

    def metrics(self, refused: int) -> Callable[[], AgentMetrics]:
        """Notes the counts, and how things stand here; what it returns makes a value of that."""
        began = self._workers.began()
        return partial(
            self.tally.copy().read,
            refused=refused,
            depth=self.depth,
            blocked=self.blocked,
            running=len(began),
            running_since=self._engine.stamps.wall(min(began)) if began else None,
        )

    def handling(self, spared: AbstractSet[object] = NOBODY) -> list[Parcel]:
        """What is handled now, but for the parcels to spare."""
        return self._workers.handling(spared)

    def waiting(self) -> list[Parcel]:
        """What is queued, or waits for room."""
        return [*self._mailbox.queue, *self._mailbox.blocked]

    @property
    def all_busy(self) -> bool:
        """Whether another message would have to wait for a handler that runs now."""
        return self._workers.all_busy

    def is_stuck(self, held: AbstractSet[object]) -> bool:
        """Whether nothing queued can be begun before one of the handlers or hooks named ends."""
        return self._workers.is_stuck(held)

    def accept(self, parcel: Parcel) -> bool:
        """Take a message if there is room."""
        mailbox, ledger, terms = self._mailbox, self._engine.ledger, parcel.terms
        if ledger.observed or (terms is not STANDARD and terms.priority is not _NORMAL):
            if not mailbox.accept(parcel):
                return False
        elif len(mailbox.queue) < mailbox.limit:  # the same without two calls
            mailbox.queue.append(parcel)
            parcel.state = _QUEUED
            ledger.accepted += 1
        else:
            return False
        workers = self._workers
        if workers.resting or workers.vacancies:
            workers.call()
        return True

    def line_up(self, parcel: Parcel, timeout: float) -> Coroutine[Any, Any, None] | None:
        """Let a one-way message wait in line for room, unless others make room for it.

        Returns:
            What its sender has to wait on, if anything.

        Raises:
            MailboxFull: In vain; at once if the agent itself is the sender, because only it could make room.
            DeliveryError: The agent or the hub stopped.
        """
        if self.displaces(parcel):
            return None
        to_self = parcel.sender == self.id
        if to_self or timeout == 0 or self.overflow != "wait":
            raise MailboxFull(self.id, self._mailbox.limit, to_self=to_self)
        return self.wait_for_room(parcel, timeout)

    def wait_for_room(self, parcel: Parcel, timeout: float) -> Coroutine[Any, Any, None]:
        """Let a one-way message wait in the line of a full mailbox, and its sender on what this returns.

        Raises:
            DeliveryError: In vain; raised by what this returns.
        """
        return self._wait(parcel, self._queue_up(parcel), self._engine.stamps.clock() + timeout)

    def ask(self, parcel: Parcel) -> Waiter:
        """Deliver a request; its sender waits on what this returns, until the parcel has its reply or an error.

        Raises:
            MailboxFull: The agent lets nobody wait for room.
        """
        if self.accept(parcel) or self.displaces(parcel):
            new_waiter = self._engine.new_waiter
            parcel.waiter = waiter = new_waiter()
        elif self.overflow == "wait":
            waiter = self._queue_up(parcel)
        else:
            raise MailboxFull(self.id, self._mailbox.limit)
        if parcel.sender is not None:
            self.tally.note_open(parcel.sender)
        self._begin_wait(parcel, parcel.deadline)
        return waiter

    def take_over(self, parcel: Parcel, successor: Parcel) -> None:
        """Deliver a request that another agent hands on.

        Raises:
            MailboxFull: The agent lets nobody wait for room.
        """
        if not (self.accept(successor) or self.displaces(successor)):
            if self.overflow != "wait":
                raise MailboxFull(self.id, self._mailbox.limit)
            self._mailbox.line_up(successor)
        parcel.hand_on(successor)
        self.arm(successor)

    def displaces(self, parcel: Parcel) -> bool:
        """Take a message into a full mailbox by dropping the oldest one, if that is the policy."""
        victim = self._mailbox.evict(parcel) if self.overflow == "drop_oldest" else None
        if victim is None:
            return False
        victim.refuse(MailboxFull(self.id, self._mailbox.limit, dropped=True))
        self._engine.ledger.bury(victim, DeadReason.DROPPED)
        return self.accept(parcel)

    def arm(self, parcel: Parcel) -> None:
        """Let a message expire in the mailbox when its deadline passes."""
        if parcel.deadline < math.inf:
            parcel.bucket = self._engine.deadlines.add(parcel, parcel.deadline)

    def _queue_up(self, parcel: Parcel) -> Waiter:
        parcel.waiter = waiter = self._engine.new_waiter()
        self._mailbox.line_up(parcel)
        return waiter

    def _begin_wait(self, parcel: Parcel, until: float) -> None:
        engine = self._engine
        if until < math.inf:
            parcel.bucket = engine.deadlines.add(parcel, until)
        if engine.callers.present:
            engine.callers.look()

    async def _wait(self, parcel: Parcel, waiter: Waiter, until: float) -> None:
        """Wait for room."""
        self._begin_wait(parcel, until)
        try:
            await waiter
        except BaseException:
            parcel.give_up()
            raise
        parcel.raise_refusal()
        if parcel.state is State.QUEUED:
            self.arm(parcel)

    def expire(self, parcel: Parcel) -> None:
        """The sender has waited long enough, or a one-way message in the mailbox is of no use any more."""
        if parcel.type is MessageType.REQUEST:
            error: DeliveryError = parcel.timed_out()
            self._take_back(parcel, lambda late: self._engine.ledger.bury(late, DeadReason.EXPIRED))
        else:
            error = MailboxFull(self.id, self._mailbox.limit)
            if parcel.state is State.BLOCKED:
                self._mailbox.turn_away(parcel)
            elif parcel.state is State.QUEUED:
                self._remove(parcel)
                self._engine.ledger.bury(parcel, DeadReason.EXPIRED)
        parcel.refuse(error)

    def withdraw(self, parcel: Parcel) -> None:
        """The sender waits no more. A one-way message goes with it only as long as there was no room for it."""
        if parcel.type is MessageType.REQUEST:
            self._take_back(parcel, self._engine.ledger.cancel)
        elif parcel.state is State.BLOCKED:
            self._mailbox.turn_away(parcel)
        elif parcel.state is State.QUEUED:
            self.arm(parcel)

    def _take_back(self, parcel: Parcel, end: Callable[[Parcel], None]) -> None:
        """Take back a request. It goes with its requester, unless handlers are detached."""
        if parcel.state is State.BLOCKED:
            self._mailbox.turn_away(parcel)
        elif self.detach:
            return
        elif parcel.state is State.QUEUED:
            end(parcel)
            self._remove(parcel)
        elif parcel.state is State.RUNNING and parcel.worker is not None:
            parcel.worker.interrupt()

    def _remove(self, parcel: Parcel) -> None:
        self._mailbox.remove(parcel)
        self._workers.admit()
        self._engine.ledger.settle()

    def close(self, on_left: Callable[[], None] | None = None) -> None:
        """Let the workers go when they have handled what is here; the last one calls back."""
        self._on_left = on_left or self._on_left
        self._workers.close()

    def interrupt(
        self, spared: AbstractSet[object] = NOBODY, refusal: Callable[[str], DeliveryError] | None = None
    ) -> Iterator[Parcel]:
        """Begin with no more messages, and cancel handlers and the start of the instance, but for those to spare.

        Returns:
            What is handled, each as its handler is cancelled. Others may run in between.
        """
        self._workers.halt()
        for parcel in self._workers.interrupt(spared):
            if refusal is not None:
                parcel.refuse(refusal(self.id))
            yield parcel

    def abort(
        self, refusal: Callable[[str], DeliveryError], reason: DeadReason, spared: AbstractSet[object] = NOBODY
    ) -> Iterator[tuple[Parcel, State]]:
        """Close at once: cancel handlers and hooks but those to spare, refuse those who wait, bury what is queued.

        Returns:
            Each message as it is ended, and where it was. Others may run in between.
        """
        mailbox, ledger = self._mailbox, self._engine.ledger
        for parcel in self.interrupt(spared, refusal):
            yield parcel, State.RUNNING
        while mailbox.blocked:
            parcel = next(iter(mailbox.blocked))
            mailbox.turn_away(parcel)
            parcel.refuse(refusal(self.id))
            yield parcel, State.BLOCKED
        while mailbox.queue:
            parcel = mailbox.queue.popleft()
            if parcel.waiter is not None:
                parcel.refuse(refusal(self.id))
            ledger.bury(parcel, reason)
            yield parcel, State.QUEUED
        ledger.settle()
        self.close()

    async def left(self, held: Callable[[], AbstractSet[object]]) -> None:
        """Wait until the last worker has gone, or all that is left would wait for one of those named."""
        await self.bell.until(lambda: self.is_left or self._has_only(held()))

    def _has_only(self, held: AbstractSet[object]) -> bool:
        if not held or self.handling(held) or (self._mailbox.queue and not self.is_stuck(held)):
            return False
        return bool(self.handling()) or self._workers.life in held

    def _note_left(self) -> None:
        if not self.is_left and self._on_left is not None:
            self._on_left()
        self.is_left = True
        self.bell.ring()
