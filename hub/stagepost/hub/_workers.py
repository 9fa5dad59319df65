"""The tasks that handle an agent's messages."""

import math
from collections.abc import Callable, Coroutine, Iterator
from collections.abc import Set as AbstractSet
from typing import Any, Final, Protocol

from ._bell import Bell
from ._callers import NOBODY
from ._engine import Engine
from ._envelope import Envelope, Recipient
from ._groups import Room, Standing
from ._guards import is_cancelled
from ._handlers import Handlers
from ._lifecycle import Lifecycle
from ._mailbox import Mailbox
from ._owned import OwnedTask
from ._publication import Publication
from ._running import Record
from ._wake import Waiter
from ._worker import Worker

_RESTING_KEPT: Final = 8
# Of all agents that rest; nobody adds to them.
_NO_STAFF: Final[dict[Worker, None]] = {}
_NO_RESTING: Final[list[Waiter]] = []


class Employer(Recipient, Protocol):
    """The agent, or the instance of it, that workers work for."""

    @property
    def bell(self) -> Bell:
        """Rings when a worker has ended while it closes, and when its lifecycle has."""

    def rest(self) -> None:
        """Take as little memory as possible: there are no workers for now."""

    def note_left(self) -> None:
        """The last worker has ended while it closes."""


class Workers:
    """The workers of one agent, started when a message finds none idle, up to a limit; a few are kept idle.

    Attributes:
        recipient: The agent, or the instance of it, that they work for.
        handlers: Its handlers.
        staff: The live workers.
        owned: The tasks that the agent owns; None as long as it had none.
        vacancies: How many more may be started; infinity for any number.
        resting: The waiters of idle workers.
        surplus: How many idle workers were called to end.
        closing: Whether they end as soon as nothing is queued.
        halted: Whether they start no message any more.
        paused: Whether they start no message for now.
        lifecycle: Starts and stops their instance, if necessary.
        on_failure: Called with each handler's failure. None if the agent just continues.
    """

    __slots__ = (
        "_asked",
        "_is_warm",
        "closing",
        "engine",
        "halted",
        "handlers",
        "lifecycle",
        "mailbox",
        "on_failure",
        "owned",
        "paused",
        "recipient",
        "resting",
        "staff",
        "surplus",
        "vacancies",
    )

    def __init__(
        self,
        recipient: Employer,
        handlers: Handlers,
        limit: float,
        mailbox: Mailbox,
        engine: Engine,
    ) -> None:
        self.recipient = recipient
        self.handlers = handlers
        self.mailbox = mailbox
        self.engine = engine
        self.staff: dict[Worker, None] = _NO_STAFF
        self.closing = False
        self.halted = False
        self.paused = False
        self.lifecycle: Lifecycle | None = None
        self.on_failure: Callable[[BaseException, Envelope | None], None] | None = None
        self.owned: set[OwnedTask] | None = None
        self.vacancies = limit
        self._is_warm = False
        self.surplus = 0
        self._asked = -math.inf
        self.resting = _NO_RESTING

    @property
    def all_busy(self) -> bool:
        """Whether another message would have to wait for a handler that runs now."""
        return self.vacancies == 0 and len(self.running()) == len(self.staff)

    def standing(self) -> Standing:
        """How well the agent can take one more message: how many others have to end before that can start."""
        queued = len(self.mailbox.queue)
        if self.closing:
            return Standing(Room.CLOSING, queued)
        idle = self.vacancies + sum(worker.current is None for worker in self.staff)
        return Standing(Room.FREE if queued < self.mailbox.limit else Room.FULL, max(0, queued + 1 - idle))

    def running(self) -> list[Record]:
        """What is being handled, for those who need no envelope of it."""
        return [worker.current for worker in tuple(self.staff) if worker.current is not None]

    def handling(self, spared: AbstractSet[object] = NOBODY) -> list[Envelope]:
        """The envelopes being handled, except those to spare."""
        current = [worker.handled() for worker in tuple(self.staff)]
        return [envelope for envelope in current if envelope is not None and envelope not in spared]

    def envelope(self, publication: Publication) -> Envelope:
        """The envelope for a publication that was queued here, which must not have one yet."""
        return publication.envelope(self.recipient, publication.handler_of(self.handlers))

    def open(self, publication: Publication, worker: Worker) -> Envelope:
        """The same for one that a worker handles, or has handled, and has no envelope for."""
        return publication.open(worker, self.recipient, publication.handler_of(self.handlers))

    def began(self) -> list[float]:
        """When the running handlers started, on the hub's clock."""
        return [worker.began for worker in self.staff if worker.current is not None]

    def interrupt(self, spared: AbstractSet[object] = NOBODY) -> Iterator[Envelope]:
        """Cancel the handlers, except those of the envelopes to spare, the start of the instance, and owned tasks.

        Returns:
            The handled envelopes, each as its handler is cancelled.
        """
        if self.lifecycle is not None and self.lifecycle not in spared:
            self.lifecycle.interrupt()
        self.end_tasks(spared)
        for worker in tuple(self.staff):
            envelope = worker.handled()
            if envelope is not None and envelope not in spared:
                worker.interrupt()
                yield envelope

    def halt(self) -> None:
        """Take no more messages, and start none of the queued ones: somebody else ends them."""
        self.closing = self.halted = True
        self.pause()

    def is_stuck(self, held: AbstractSet[object]) -> bool:
        """Whether nothing queued can start before one of the given handlers or hooks ends."""
        if self.paused and self.lifecycle in held:
            return True
        return self.vacancies == 0 and all(worker.current in held for worker in self.staff)

    def pause(self) -> None:
        """Start no further message."""
        self.paused = True
        for worker in self.staff:
            worker.relieve()

    def proceed(self) -> None:
        """Continue with the queue after a pause."""
        if self.halted:
            return
        self.paused = False
        for _ in range(len(self.mailbox.queue)):
            if not self.resting and not self.vacancies:
                break
            self.call()

    def call(self) -> None:
        """Call a worker for a new message. Busy workers look for the next one by themselves."""
        if self.paused:
            return
        while self.resting:
            waiter = self.resting.pop()
            if not waiter.done():
                waiter.set_result(None)
                return
        if self.vacancies > 0:
            self.vacancies -= 1
            worker = Worker(self)
            if self.staff is _NO_STAFF:
                self.staff = {}
            self.staff[worker] = None
            self._warm_up()
            self.engine.spawn(worker.run, f"stagepost agent {self.recipient.id}")

    def _warm_up(self) -> None:
        if not self._is_warm:
            self._is_warm = True
            self.engine.warm.admit(self)

    def cool(self) -> bool:
        """Let the idle workers end, unless the agent has worked since it was asked last; False if it keeps them."""
        latest = max((worker.began for worker in self.staff), default=self._asked)
        if latest > self._asked or len(self.resting) < len(self.staff):
            self._asked = latest
            return False
        self.surplus += len(self.resting)
        self._dismiss_idle()
        self._is_warm = False
        self.recipient.rest()
        return True

    def _dismiss_idle(self) -> None:
        for waiter in self.resting:
            if not waiter.done():
                waiter.set_result(None)
        self.resting = _NO_RESTING

    def admit(self) -> None:
        """Fill free places from the line of senders, and call a worker for each message."""
        for _ in range(self.mailbox.admit()):
            if self.resting or self.vacancies:
                self.call()

    def close(self) -> None:
        """Let them end when nothing is queued any more."""
        self.closing = True
        self._dismiss_idle()
        self._report()

    def rest(self) -> Waiter | None:
        """What an idle worker has to await to be called; None if it is no longer needed."""
        notify, new_waiter = self.engine.account.notify, self.engine.new_waiter
        notify()
        if self.paused:
            self.look()
        if self.closing or len(self.resting) >= _RESTING_KEPT:
            return None
        waiter = new_waiter()
        if self.resting is _NO_RESTING:
            self.resting = []
        self.resting.append(waiter)
        return waiter

    def cancel_rest(self, waiter: Waiter) -> None:
        """An idle worker has been cancelled."""
        self.resting = [other for other in self.resting if other is not waiter]

    def goes_on(self) -> bool:
        """Whether a worker that has been called has work after all, although some were to end."""
        self.surplus -= 1
        if not self.mailbox.queue:
            return False
        self._warm_up()
        return True

    def leave(self, worker: Worker) -> None:
        """A worker has ended. If its task had to be abandoned, another one takes over its queue."""
        self.staff.pop(worker, None)
        if not self.staff:
            self.staff = _NO_STAFF
        self.vacancies += 1
        if self.mailbox.queue and is_cancelled() is False:
            self.call()
        self.engine.account.notify()
        self.look()
        self._report()

    def spawn(self, name: str, call: Callable[[], Coroutine[Any, Any, object]]) -> OwnedTask:
        """Start a task that the agent owns."""
        task = OwnedTask(self.recipient.id, name, call, self)
        if self.owned is None:
            self.owned = set()
        self.owned.add(task)
        self.engine.spawn(task.run, f"stagepost task {name} of {self.recipient.id}")
        return task

    def end_tasks(self, spared: AbstractSet[object] = NOBODY) -> None:
        """Cancel the tasks that the agent owns, except those to spare."""
        for task in tuple(self.owned or ()):
            if task not in spared:
                task.end()

    def tasks(self) -> tuple[str, ...]:
        """The names of the tasks that the agent owns."""
        return tuple(sorted(task.name for task in self.owned or ()))

    def has_tasks(self, spared: AbstractSet[object] = NOBODY) -> bool:
        """Whether tasks run that the agent owns, except those to spare."""
        return any(task not in spared for task in self.owned or ())

    def release(self, task: OwnedTask) -> None:
        """A task that the agent owns has ended."""
        (self.owned or set()).discard(task)
        self.engine.account.notify()
        self.look()
        self._report()

    def note_failure(self, failure: BaseException, envelope: Envelope | None) -> None:
        """Apply the agent's supervision."""
        if self.on_failure is not None:
            self.on_failure(failure, envelope)

    def look(self) -> None:
        """A handler that the lifecycle waits for may have ended."""
        if self.lifecycle is not None:
            self.lifecycle.look()

    def _report(self) -> None:
        if not self.closing:
            return
        if not (self.staff or self.mailbox.queue):
            if self.owned:  # the last of them comes here again
                self.end_tasks(set(self.engine.callers.present))
            elif self.lifecycle is not None:
                self.lifecycle.end(self.recipient.note_left)
            else:
                self.recipient.note_left()
        self.recipient.bell.ring()
