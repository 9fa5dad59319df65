"""A task that handles an agent's messages."""

from contextvars import Token
from typing import Final, Protocol

from anyio import CancelScope
from anyio.lowlevel import checkpoint

from ._contained import Containment
from ._containment import is_fatal
from ._engine import Engine
from ._envelope import Envelope, EnvelopeState, Recipient
from ._events import DeadReason
from ._guards import TaskGuard, cancellation, is_cancelled, new_guard, watch_cancel
from ._handlers import NOBODY, Handlers
from ._invoking import invoke
from ._mailbox import Mailbox
from ._message import MessageType
from ._publication import Publication
from ._relays import NotCarried
from ._running import Record, reset_running, set_running, set_worker
from ._wake import Waiter
from .errors import HandlerFailed, HubStopped, RequestError

_TURN: Final = 0.001
# Looked up once: a look-up costs as much as several assignments.
_RUNNING, _ENDED, _REQUEST = EnvelopeState.RUNNING, EnvelopeState.ENDED, MessageType.REQUEST


class Pool(Protocol):
    """The pool of workers, as a worker sees it."""

    engine: Engine
    handlers: Handlers
    mailbox: Mailbox
    paused: bool
    surplus: int

    @property
    def recipient(self) -> Recipient:
        """The agent, or the instance of it, that it works for."""

    def admit(self) -> None:
        """Fill free places from the line of senders."""

    def rest(self) -> Waiter | None:
        """What an idle worker has to await to be called; None if it is no longer needed."""

    def cancel_rest(self, waiter: Waiter, /) -> None:
        """An idle worker has been cancelled."""

    def goes_on(self) -> bool:
        """Whether a worker that has been called has work after all, although some were to end."""

    def envelope(self, publication: Publication, /) -> Envelope:
        """The envelope for a publication that was queued here."""

    def open(self, publication: Publication, worker: "Worker", /) -> Envelope:
        """The same for one that a worker handles, or has handled."""

    def leave(self, worker: "Worker", /) -> None:
        """A worker has ended."""

    def note_failure(self, failure: BaseException, envelope: Envelope, /) -> None:
        """Apply the agent's supervision."""

    def look(self) -> None:
        """A handler that others wait for may have ended."""


class Worker:
    """A task that handles one message after another.

    It handles them inside one cancel scope, which is replaced only after it was cancelled for one of them: a scope for
    each message would cost more than the rest of the delivery. A task ends, and another one takes over, if its handler
    left a scope open or cancelled the task.

    Attributes:
        current: The message or publication that it handles.
        began: When that started, on the hub's clock.
    """

    __slots__ = ("_containment", "_culprit", "_guard", "_interrupted", "_pool", "_scope", "began", "current")

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._interrupted = False
        self._scope: CancelScope
        self._containment: Containment
        self._guard: TaskGuard
        self._culprit = NOBODY.name
        self.current: Record | None = None
        self.began = 0.0

    @property
    def engine(self) -> Engine:
        """The engine that it shares with the other workers of its hub."""
        return self._pool.engine

    @property
    def recipient(self) -> Recipient:
        """The agent, or the instance of it, that it works for."""
        return self._pool.recipient

    @property
    def is_cancelled(self) -> bool:
        """Whether the running handler was cancelled."""
        return self._scope.cancel_called

    def handled(self) -> Envelope | None:
        """The message that it handles."""
        record = self.current
        return self.delivery(record) if type(record) is Publication else record

    def delivery(self, publication: Publication) -> Envelope:
        """The envelope for a publication that it handles, or has handled."""
        envelope = publication.opened(self)
        if envelope is None:
            envelope = self._pool.open(publication, self)
            if self.current is publication:
                envelope.state = _RUNNING
                self.current = envelope
        return envelope

    def relieve(self) -> None:
        """Let it finish the running handler, and check what to do before it starts another message."""
        self._interrupted = True

    def interrupt(self) -> None:
        """Cancel the running handler."""
        self._interrupted = True
        self._scope.cancel()

    async def run(self) -> None:
        """Work until it is no longer needed."""
        set_worker(self)
        watch_cancel(self.relieve)
        try:
            while await self._work_in_scope():
                pass
        finally:
            self.current = None
            self._pool.leave(self)

    async def _work_in_scope(self) -> bool:
        """Work inside one cancel scope until that has been cancelled (True) or the worker has to end (False)."""
        self._interrupted, needed = False, True
        try:
            with CancelScope() as self._scope:
                self._guard = new_guard()
                self._containment = Containment(self._guard)
                needed = await self._serve()
                self._containment.close_scopes()
        except cancellation():
            if is_cancelled(by_scope=True) is not False:
                raise
        await self._containment.drop_cancellation()
        self._pool.look()
        if is_cancelled(by_scope=True):
            return False
        if self._containment.left is not None:
            self._note_left(self._containment.left)
            return False
        return needed

    async def _serve(self) -> bool:  # noqa: C901, PLR0912, PLR0915 - a call per message costs more than it makes clear
        """Handle messages until the scope has been cancelled (True) or the worker is no longer needed (False)."""
        pool, engine = self._pool, self._pool.engine
        mailbox, account, tally, handlers = pool.mailbox, engine.account, pool.recipient.tally, pool.handlers
        clock, wrapped = engine.stamps.clock, engine.onion is not None
        state, scope = self._guard.state, self._guard.scope
        record: Record | None
        envelope: Envelope | None
        before: Token[Record | None] | None
        least, most, place = 0.0, 0.0, 0
        while True:
            if account.asks_observer:
                account.look_up_observer()
            totals, number, before = tally.totals or tally.wake(), 0, None
            since = now = clock()
            turn_ends, is_paused = now + _TURN, pool.paused
            while mailbox.queue and not (self._interrupted or is_paused):
                record = mailbox.queue.popleft()
                if mailbox.blocked:
                    pool.admit()
                envelope = None
                if type(record) is Publication:
                    handler = handlers.exact.get(record.kind) or record.inherited[handlers]
                    if wrapped or account.observed or not handler.is_plain:
                        envelope = record = pool.envelope(record)
                elif record.deadline <= now and self._expires(record):
                    continue
                else:
                    envelope, handler = record, record.handler
                self.current = record
                self.began = began = now
                token = set_running(record)
                before = before or token
                if envelope is not None:
                    envelope.worker = self
                    envelope.state = _RUNNING
                    if account.observed:
                        account.start(envelope)
                try:
                    if envelope is None or (handler.is_plain and not wrapped):
                        call = handler.call  # an attribute, not a method: methods are looked up more slowly
                        reply = await call(record.payload)
                    else:
                        reply = await invoke(engine, handler, envelope)
                except BaseException as error:
                    if not self._contains(error):
                        raise
                    tally.spoilt += 1
                else:
                    if envelope is None and (self.current is not record or account.observed):
                        envelope = self.handled()
                    if envelope is None:
                        account.handled += 1
                    elif envelope.type is _REQUEST or envelope.bucket is not None or account.observed:
                        account.handle(envelope, reply)
                    else:  # the same, inlined
                        envelope.state = _ENDED
                        account.handled += 1
                self.current = None
                sent, now = record.sent, clock()
                took = (now - sent) * 1e6
                if not least <= took < most:
                    place = int(took).bit_length()
                    least, most = float(1 << place >> 1), float(1 << place)
                totals[place] += 1
                number += 1
                if state.cancel_scope is not scope:
                    self._interrupted = True
                if self._interrupted:
                    self._culprit = handler.name
                elif now >= turn_ends:
                    tally.note(sent, began, now, since, number)
                    number = 0
                    await checkpoint()
                    since = now = clock()
                    turn_ends = now + _TURN
            if number:
                tally.note(sent, began, now, since, number)
            record = envelope = reply = None  # a worker that rests keeps no message alive, not even an expired one
            if before is not None:
                reset_running(before)
                del token, before
            if self._interrupted and not is_paused:
                return True
            waiter = pool.rest()
            if waiter is None:
                return False
            try:
                await waiter
            except BaseException:
                pool.cancel_rest(waiter)
                raise
            if pool.surplus and not pool.goes_on():
                return False

    def _expires(self, envelope: Envelope) -> bool:
        """End a message that has expired, although the timer has not fired yet, instead of starting it."""
        is_request = envelope.type is MessageType.REQUEST
        if is_request and envelope.recipient.detach:
            return False
        envelope.refuse(envelope.timed_out())
        self.engine.account.mark_dead(envelope, DeadReason.EXPIRED)
        return True

    def _contains(self, error: BaseException) -> bool:
        """End the message whose handler raised. False if the error is a cancellation that must propagate."""
        engine, envelope = self.engine, self.handled()
        assert envelope is not None  # noqa: S101 - a handler has just raised
        agent = envelope.recipient.id
        failure = self._containment.failure_of(error)
        if failure is None:
            envelope.refuse(HubStopped(agent, engine.hub))  # any other interruption has answered the requester before
            engine.account.cancel(envelope)
            return self._interrupted
        if type(failure) is NotCarried:  # not `isinstance`, which reads an attribute of somebody else
            _end_uncarried(engine, envelope, failure)
            return True
        envelope.refuse(self._explanation(envelope, failure))  # before an observer or a log can raise an interrupt
        engine.account.fail(envelope, failure)
        engine.log.error("handler failed", hub=engine.hub, agent=agent, handler=envelope.handler.name, exc_info=failure)
        if is_fatal(failure):
            engine.end(failure)
        else:
            self._pool.note_failure(failure, envelope)
        if engine.failures:
            self._interrupted = True  # the hub ends: no other message is started
        return True

    def _explanation(self, envelope: Envelope, failure: BaseException) -> RequestError:
        """The error for the requester. A handler that fails after the deadline usually fails because of it."""
        if self.engine.stamps.clock() < envelope.deadline:
            return HandlerFailed(envelope.recipient.id, envelope.handler.name, failure)
        late = envelope.timed_out()
        late.__cause__ = failure
        return late

    def _note_left(self, left: str) -> None:
        hub, handler = self.engine.hub, self._culprit
        self.engine.log.warning("worker replaced, its task was disturbed", hub=hub, last_handler=handler, left=left)


def _end_uncarried(engine: Engine, envelope: Envelope, failure: NotCarried) -> None:
    """End a message that a bridge could not carry: its agent has not failed, and the other hub has logged what did."""
    if isinstance(failure.outcome, DeadReason):
        engine.account.mark_dead(envelope, failure.outcome)
    else:
        envelope.refuse(failure.outcome)
        engine.account.fail(envelope, failure.outcome)
