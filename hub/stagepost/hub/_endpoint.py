"""The receiving end of one agent: its mailbox, its workers, and the senders that wait."""

import math
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Literal, TypeAlias

from ._bell import Bell
from ._callers import NOBODY
from ._ending import Ending
from ._engine import Engine
from ._envelope import STANDARD, Envelope, EnvelopeState
from ._events import DeadReason
from ._handlers import Handlers
from ._mailbox import Mailbox
from ._message import MessageType, Priority
from ._metrics import AgentMetrics
from ._publication import Publication
from ._tally import Tally
from ._wake import Waiter
from ._workers import Workers
from .errors import DeliveryError, MailboxFull

Overflow: TypeAlias = Literal["wait", "reject", "drop_oldest"]
"""What a full mailbox does with another message: let its sender wait, refuse it, or drop the oldest one."""

_NORMAL, _QUEUED = Priority.NORMAL, EnvelopeState.QUEUED  # looked up once: a look-up costs several assignments


class Endpoint(Ending):
    """Receives the messages of one agent on a running hub; created with the agent's first message.

    Attributes:
        detach: Whether its handlers continue when the requester no longer waits.
        overflow: What its full mailbox does with one more message.
        tally: The counts of its messages.
    """

    __slots__ = (
        "detach",
        "overflow",
        "tally",
    )

    def __init__(
        self,
        agent: str,
        handlers: Handlers,
        engine: Engine,
        *,
        concurrency: float,
        mailbox: float,
        overflow: Overflow,
        detach: bool,
        tally: Tally | None = None,
        bell: Bell | None = None,
    ) -> None:
        super().__init__(agent, engine, bell)
        self.detach = detach
        self.overflow = overflow
        self.tally = Tally() if tally is None else tally
        self.workers = Workers(self, handlers, concurrency, Mailbox(mailbox, engine.account), engine)

    @property
    def closing(self) -> bool:
        """Whether it takes no more messages."""
        return self.workers.closing

    @property
    def depth(self) -> int:
        """How many messages wait."""
        return len(self.workers.mailbox.queue)

    @property
    def blocked(self) -> int:
        """How many senders wait for room."""
        return len(self.workers.mailbox.blocked)

    def metrics(self, refused: int) -> Callable[[], AgentMetrics]:
        """Take a snapshot of counts and state; the result builds the value from it."""
        began = self.workers.began()
        return partial(
            self.tally.copy().read,
            refused=refused,
            depth=self.depth,
            blocked=self.blocked,
            running=len(began),
            running_since=self._engine.stamps.wall(min(began)) if began else None,
        )

    def handling(self, spared: AbstractSet[object] = NOBODY) -> list[Envelope]:
        """The envelopes being handled, except those to spare."""
        return self.workers.handling(spared)

    def stuck(self, held: AbstractSet[object]) -> list[Envelope]:
        """What is queued or waits for room, and cannot start before one of the given handlers or hooks ends.

        Publications are left out: nobody waits for their handling.
        """
        if not self.workers.is_stuck(held):
            return []
        queued = [record for record in self.workers.mailbox.queue if type(record) is not Publication]
        return [*queued, *self.workers.mailbox.blocked]

    def stuck_depth(self, held: AbstractSet[object]) -> int:
        """How much of that is queued."""
        return self.depth if self.workers.is_stuck(held) else 0

    def accept(self, envelope: Envelope) -> bool:
        """Take a message if there is room."""
        account, terms, workers = self._engine.account, envelope.terms, self.workers
        mailbox = workers.mailbox
        if account.observed or (terms is not STANDARD and terms.priority is not _NORMAL):
            if not mailbox.accept(envelope):
                return False
        elif len(mailbox.queue) < mailbox.limit:  # the same without two calls
            mailbox.queue.append(envelope)
            envelope.state = _QUEUED
            account.accepted += 1
        else:
            return False
        if workers.resting or workers.vacancies:
            workers.call()
        return True

    def rest(self) -> None:
        """Take as little memory as possible until the next message: it has no workers for now."""
        self.workers.mailbox.rest()
        self.tally.rest()

    def take(self, publication: Publication) -> bool:
        """Take a publication if there is room; as `accept`, but without an observer, and uncounted."""
        workers = self.workers
        mailbox = workers.mailbox
        if len(mailbox.queue) >= mailbox.limit:
            return False
        mailbox.queue.append(publication)
        if workers.resting or workers.vacancies:
            workers.call()
        return True

    def line_up(self, envelope: Envelope, timeout: float) -> Waiter | None:
        """Let a one-way message wait for room, unless others are dropped for it.

        Returns:
            What its sender has to `wait` for, if anything.

        Raises:
            MailboxFull: Nobody waits for room here, or the agent sends to itself, since only it could make room.
        """
        if self.overflow != "wait" and self.displaces(envelope):
            return None
        to_self = envelope.sender is not None and self.is_own(envelope)
        if to_self or timeout == 0 or self.overflow != "wait":
            raise MailboxFull(self.id, self.workers.mailbox.limit, to_self=to_self)
        return self.wait_for_room(envelope, timeout)

    def is_own(self, envelope: Envelope) -> bool:
        """Whether the agent sends to itself."""
        return envelope.sender == self.id

    def wait_for_room(self, envelope: Envelope, timeout: float) -> Waiter:
        """Let a one-way message wait for room in a full mailbox; returns what its sender has to `wait` for."""
        waiter = self._queue_up(envelope)
        self._begin_wait(envelope, self._engine.stamps.clock() + timeout)
        return waiter

    def line_up_alone(self, envelope: Envelope, timeout: float, waiter: Waiter) -> None:
        """Let a message wait for room that nobody waits for; `waiter` is told when the wait is over."""
        envelope.waiter = waiter
        self.workers.mailbox.line_up(envelope)
        self._begin_wait(envelope, self._engine.stamps.clock() + timeout)

    def ask(self, envelope: Envelope) -> Waiter:
        """Deliver a request; its sender awaits the result until the envelope has its reply or an error.

        Raises:
            MailboxFull: The agent's senders may not wait for room.
        """
        if self.accept(envelope) or self.displaces(envelope):
            new_waiter = self._engine.new_waiter
            envelope.waiter = waiter = new_waiter()
        elif self.overflow == "wait":
            waiter = self._queue_up(envelope)
        else:
            raise MailboxFull(self.id, self.workers.mailbox.limit)
        if envelope.sender is not None:
            self.tally.note_open(envelope.sender)
        self._begin_wait(envelope, envelope.deadline)
        return waiter

    def take_over(self, envelope: Envelope, successor: Envelope) -> None:
        """Deliver a request that another agent forwards.

        Raises:
            MailboxFull: The agent's senders may not wait for room.
        """
        if not (self.accept(successor) or self.displaces(successor)):
            if self.overflow != "wait":
                raise MailboxFull(self.id, self.workers.mailbox.limit)
            self.workers.mailbox.line_up(successor)
        envelope.hand_on(successor)
        self.arm(successor)

    def displaces(self, envelope: Envelope) -> bool:
        """Take a message into a full mailbox by dropping the oldest one, if that is the policy."""
        victim = self.workers.mailbox.evict(envelope) if self.overflow == "drop_oldest" else None
        if victim is None:
            return False
        if type(victim) is Publication:
            victim = self.workers.envelope(victim)
        victim.refuse(MailboxFull(self.id, self.workers.mailbox.limit, dropped=True))
        self._engine.account.mark_dead(victim, DeadReason.DROPPED)
        return self.accept(envelope)

    def arm(self, envelope: Envelope) -> None:
        """Let a message expire in the mailbox when its deadline passes."""
        if envelope.deadline < math.inf:
            envelope.bucket = self._engine.deadlines.add(envelope, envelope.deadline)

    def _queue_up(self, envelope: Envelope) -> Waiter:
        envelope.waiter = waiter = self._engine.new_waiter()
        self.workers.mailbox.line_up(envelope)
        return waiter

    def _begin_wait(self, envelope: Envelope, until: float) -> None:
        engine = self._engine
        if until < math.inf:
            envelope.bucket = engine.deadlines.add(envelope, until)
        if engine.callers.present:
            engine.callers.look()

    async def wait(
        self, envelope: Envelope, waiter: Waiter, on_refusal: Callable[[BaseException, Envelope], None] | None = None
    ) -> None:
        """Wait for room.

        Raises:
            MailboxFull: There was none in time.
            DeliveryError: The agent or the hub stopped. `on_refusal` is called with these errors before.
        """
        try:
            await waiter
        except BaseException:
            envelope.give_up()
            raise
        if envelope.error is not None and on_refusal is not None:
            on_refusal(envelope.error, envelope)
        envelope.raise_refusal()
        if envelope.state is _QUEUED and envelope.deadline < math.inf:
            self.arm(envelope)

    def expire(self, envelope: Envelope) -> None:
        """The sender's time is up, or a one-way message in the mailbox has expired."""
        if envelope.type is MessageType.REQUEST:
            error: DeliveryError = envelope.timed_out()
            self._take_back(envelope, lambda late: self._engine.account.mark_dead(late, DeadReason.EXPIRED))
        else:
            error = MailboxFull(self.id, self.workers.mailbox.limit)
            if envelope.state is EnvelopeState.BLOCKED:
                self.workers.mailbox.turn_away(envelope)
            elif envelope.state is EnvelopeState.QUEUED:
                self._remove(envelope)
                self._engine.account.mark_dead(envelope, DeadReason.EXPIRED)
        envelope.refuse(error)

    def withdraw(self, envelope: Envelope) -> None:
        """The sender no longer waits. A one-way message is withdrawn only while there is no room for it."""
        if envelope.type is MessageType.REQUEST:
            self._take_back(envelope, self._engine.account.cancel)
        elif envelope.state is EnvelopeState.BLOCKED:
            self.workers.mailbox.turn_away(envelope)
        elif envelope.state is EnvelopeState.QUEUED:
            self.arm(envelope)

    def _take_back(self, envelope: Envelope, end: Callable[[Envelope], None]) -> None:
        """Withdraw a request, unless it runs in a detached handler."""
        if envelope.state is EnvelopeState.BLOCKED:
            self.workers.mailbox.turn_away(envelope)
        elif self.detach:
            return
        elif envelope.state is EnvelopeState.QUEUED:
            end(envelope)
            self._remove(envelope)
        elif envelope.state is EnvelopeState.RUNNING and envelope.worker is not None:
            envelope.worker.interrupt()

    def _remove(self, envelope: Envelope) -> None:
        self.workers.mailbox.remove(envelope)
        self.workers.admit()
        self._engine.account.notify()
