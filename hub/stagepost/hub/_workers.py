"""The tasks that handle an agent's messages."""

from collections.abc import Callable
from typing import Final

from anyio import CancelScope
from anyio.lowlevel import checkpoint

from ._containment import is_cancelled, is_fatal, own_failure
from ._engine import Engine
from ._events import DeadReason
from ._invoking import invoke
from ._life import Life
from ._mailbox import Mailbox
from ._message import MessageType
from ._parcel import Parcel, State
from ._running import running, set_running
from ._wake import Waiter
from .errors import HandlerFailed, HubStopped, RequestError

_TURN: Final = 0.001
_RESTING_KEPT: Final = 8


def current_worker() -> "Worker | None":
    """The worker whose handler runs this code, or has started the task that does, if that handler still runs."""
    parcel = running()
    worker = None if parcel is None or parcel.state is not State.RUNNING else parcel.worker
    return worker if isinstance(worker, Worker) else None


class Workers:
    """The workers of one agent: started when a message finds none at rest, up to a limit; a few are kept for the next.

    Attributes:
        staff: Those that live.
        vacancies: How many more may be started; infinity for any number.
        resting: What those wait on that have nothing to do.
        closing: Whether they leave as soon as nothing is queued.
        paused: Whether they begin with no message for now.
        life: Starts and stops the instance they work for, if it has to be.
        on_failure: Told of each handler's failure; whether the error has to travel on and end the hub. None if the
            agent just goes on.
    """

    __slots__ = (
        "_name",
        "_on_empty",
        "closing",
        "engine",
        "life",
        "mailbox",
        "on_failure",
        "paused",
        "resting",
        "staff",
        "vacancies",
    )

    def __init__(
        self, agent: str, limit: float, mailbox: Mailbox, engine: Engine, on_empty: Callable[[], None]
    ) -> None:
        self.mailbox = mailbox
        self.engine = engine
        self.staff: set[Worker] = set()
        self.closing = False
        self.paused = False
        self.life: Life | None = None
        self.on_failure: Callable[[BaseException], bool] | None = None
        self._name = f"stagepost agent {agent}"
        self.vacancies = limit
        self.resting: list[Waiter] = []
        self._on_empty = on_empty

    @property
    def all_busy(self) -> bool:
        """Whether another message would have to wait for a handler that runs now."""
        return self.vacancies == 0 and len(self.handling()) == len(self.staff)

    def handling(self, spare: "Worker | None" = None) -> list[Parcel]:
        """What is handled now, but for the parcel of a worker to spare."""
        staff = (worker for worker in self.staff if worker is not spare)
        return [worker.current for worker in staff if worker.current is not None]

    def interrupt(self, spare: "Worker | None" = None) -> None:
        """Cancel the handlers but that of a worker to spare."""
        for worker in self.staff:
            if worker is not spare and worker.current is not None:
                worker.interrupt()

    @property
    def is_handling(self) -> bool:
        """Whether a handler runs."""
        return any(worker.current is not None for worker in self.staff)

    def pause(self) -> None:
        """Begin with no further message."""
        self.paused = True
        for worker in self.staff:
            worker.relieve()

    def proceed(self) -> None:
        """Go on with the queue after a pause."""
        self.paused = False
        for _ in range(len(self.mailbox.queue)):
            if not self.resting and not self.vacancies:
                break
            self.call()

    def call(self) -> None:
        """Let somebody come for a new message. Those who are busy look for the next one by themselves."""
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
            self.staff.add(worker)
            self.engine.spawn(worker.run, self._name)

    def admit(self) -> None:
        """Fill the room there is from the line, and let somebody come for each message."""
        for _ in range(self.mailbox.admit()):
            self.call()

    def close(self) -> None:
        """Let them leave when nothing is queued any more."""
        self.closing = True
        for waiter in self.resting:
            if not waiter.done():
                waiter.set_result(None)
        self.resting.clear()
        self._report()

    async def rest(self) -> bool:
        """Wait to be called; False if the worker is not needed any more."""
        self.engine.ledger.settle()
        if self.paused and self.life is not None:
            self.life.look()
        if self.closing or len(self.resting) >= _RESTING_KEPT:
            return False
        waiter = self.engine.new_waiter()
        self.resting.append(waiter)
        try:
            await waiter
        except BaseException:
            self.resting = [other for other in self.resting if other is not waiter]
            raise
        return True

    def leave(self, worker: "Worker") -> None:
        """A worker has ended. If it was killed, another one takes over its queue."""
        self.staff.discard(worker)
        self.vacancies += 1
        if self.mailbox.queue and not is_cancelled():
            self.call()
        self.engine.ledger.settle()
        if self.paused and self.life is not None:
            self.life.look()
        self._report()

    def _report(self) -> None:
        if not self.closing or self.staff or self.mailbox.queue:
            return
        if self.life is not None:
            self.life.end(self._on_empty)
        else:
            self._on_empty()


class Worker:
    """One task that handles one message after the other.

    It handles them inside one cancel scope, which is replaced only after it was cancelled for one of them: a scope for
    each message would cost more than the rest of its way through the hub.

    Attributes:
        current: What it handles.
    """

    __slots__ = ("_interrupted", "_scope", "_workers", "current")

    def __init__(self, workers: Workers) -> None:
        self._workers = workers
        self._interrupted = False
        self._scope = CancelScope()
        self.current: Parcel | None = None

    @property
    def engine(self) -> Engine:
        """What it shares with the other workers of its hub."""
        return self._workers.engine

    def relieve(self) -> None:
        """Let it finish the handler that runs now, and look what is to do before it begins with another message."""
        self._interrupted = True

    def interrupt(self) -> None:
        """Cancel the handler that runs now."""
        self._interrupted = True
        self._scope.cancel()

    async def run(self) -> None:
        """Work until it is not needed any more."""
        needed = True
        try:
            while needed:
                self._interrupted = False
                with CancelScope() as self._scope:
                    needed = await self._serve()
        finally:
            self.current = None
            self._workers.leave(self)

    async def _serve(self) -> bool:
        """Handle messages until the scope is used up (True) or the worker is not needed any more (False)."""
        while True:
            if not self._workers.paused:
                await self._work_off()
                if self._interrupted:
                    return True
            if not await self._workers.rest():
                return False

    async def _work_off(self) -> None:
        """Handle what is queued. A function of its own, so that no variable of a resting worker keeps a message."""
        workers, mailbox, ledger = self._workers, self._workers.mailbox, self.engine.ledger
        clock, latencies, wrapped = self.engine.stamps.clock, ledger.latencies, self.engine.onion is not None
        ledger.look_up_observer()
        now = clock()
        turn_ends = now + _TURN
        while mailbox.queue and not self._interrupted:
            parcel = mailbox.queue.popleft()
            if mailbox.blocked:
                workers.admit()
            if parcel.deadline <= now and self._expires(parcel):
                continue
            self.current = parcel
            parcel.worker = self
            set_running(parcel)
            ledger.start(parcel)
            handler = parcel.handler
            try:
                if handler.is_plain and not wrapped:
                    reply = await handler.call(parcel.payload)
                else:
                    reply = await invoke(self.engine, handler, parcel)
            except BaseException as error:
                if not self._contains(parcel, error):
                    raise
            else:
                ledger.handle(parcel, reply)
            self.current = None
            now = clock()
            latencies[int((now - parcel.sent) * 1e6).bit_length()] += 1
            if now >= turn_ends:
                await checkpoint()
                now = clock()
                turn_ends = now + _TURN
        set_running(None)

    def _expires(self, parcel: Parcel) -> bool:
        """End a message whose time is up, which the timer has not noticed yet, rather than begin with it."""
        is_request = parcel.type is MessageType.REQUEST
        if is_request and parcel.recipient.detach:
            return False
        error = parcel.timed_out()
        self.engine.ledger.bury(parcel, DeadReason.EXPIRED)
        parcel.refuse(error)
        return True

    def _contains(self, parcel: Parcel, error: BaseException) -> bool:
        """End a parcel whose handler raised. False if the error has to travel on and end the worker."""
        ledger, agent = self.engine.ledger, parcel.recipient.id
        failure = own_failure(error)
        if failure is None:
            ledger.cancel(parcel)
            parcel.refuse(HubStopped(agent, self.engine.hub))  # whoever else interrupts has told the requester before
            return self._interrupted
        ledger.fail(parcel, failure)
        if parcel.waiter is None:
            self.engine.log.error(
                "handler failed", hub=self.engine.hub, agent=agent, handler=parcel.handler.name, exc_info=failure
            )
        parcel.refuse(self._explanation(parcel, failure))
        supervise = self._workers.on_failure
        return not is_fatal(failure) and not (supervise is not None and supervise(failure))

    def _explanation(self, parcel: Parcel, failure: BaseException) -> RequestError:
        """What the requester is told. A handler that fails when time is up mostly does so because of that."""
        if self.engine.stamps.clock() < parcel.deadline:
            return HandlerFailed(parcel.recipient.id, parcel.handler.name, failure)
        late = parcel.timed_out()
        late.__cause__ = failure
        return late
