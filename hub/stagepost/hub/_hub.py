"""The hub: its life, and what there is to know about it."""

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from anyio import create_task_group
from anyio.abc import TaskGroup

from ._checked import CheckedParcel, check_payload
from ._context import ActingContext
from ._dead_letters import DeadLetter
from ._directory import Directory, Phase
from ._emitter import Emitter
from ._engine import Engine
from ._events import AgentFailed, HubClosed, HubOpened
from ._limits import Duration, seconds
from ._membership import Membership
from ._metrics import HubMetrics
from ._middleware import Middleware, Onion
from ._names import check_name
from ._observer import Observer
from ._outbox import Outbox
from ._parcel import Parcel
from ._publisher import Publisher
from ._router import Router
from ._stopping import StopReport, abort, drain, end_tasks, strike
from ._topology import Topology, describe
from ._turns import Turns
from ._wake import Clock, current_backend
from .errors import HubReentered

if TYPE_CHECKING:
    from ._config import HubConfig, Registry

_GRACE: Final = 10.0
_DEAD_LETTERS: Final = 100


class Hub(Membership, Outbox):
    """Routes typed messages between agents in this process.

    Use it as an async context manager, once: it owns the tasks that handle messages, and none of them outlives it.
    Leaving the block refuses new work, finishes what is queued within the grace, cancels the rest and answers every
    request that is still open; leaving it by an exception skips the grace. Everything happens in one event loop: other
    threads must not call a hub.

    Args:
        name: The hub's name in events, errors and logs.
        observer: Gets an event for whatever happens.
        middleware: Layers round the handling of every message, the first one outside; see `Middleware`.
        grace: How long leaving may take to finish what is queued; None for as long as it needs.
        dead_letters: How many dead letters are kept, 0 for none.
        check_payloads: Fail the handling of a message whose payload somebody has changed since it was sent; for tests.
        clock: Where the time comes from, if not from the event loop; for tests.
    """

    def __init__(
        self,
        name: str = "hub",
        *,
        observer: Observer | None = None,
        middleware: Sequence[Middleware["Context"]] = (),
        grace: Duration | None = _GRACE,
        dead_letters: int = _DEAD_LETTERS,
        check_payloads: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self._name = check_name("hub name", name)
        self._grace = seconds(grace)
        self._emitter = Emitter(observer)
        self._directory = Directory(self._name, self._emitter)
        self._middleware = (*middleware, check_payload) if check_payloads else tuple(middleware)
        self._parcels = CheckedParcel if check_payloads else Parcel
        self._dead_letters = dead_letters
        self._clock = clock
        self._turns = Turns()
        self._tasks: TaskGroup | None = None
        self._engine: Engine | None = None
        self._router: Router | None = None
        self._publisher: Publisher | None = None

    @classmethod
    def from_config(cls, config: "HubConfig", registry: "Registry | None" = None) -> Self:
        """Make a hub from configuration.

        Args:
            config: What to make.
            registry: What the names of observers in it stand for; by default only ``null`` and ``log``.

        Raises:
            InvalidConfig: An observer's name stands for nothing.
        """
        from ._config import Registry  # noqa: PLC0415  # see the package: building the model takes time

        return cls(
            config.name,
            observer=(registry or Registry()).observer(*config.observers),
            grace=config.grace,
            dead_letters=config.dead_letters,
            check_payloads=config.check_payloads,
        )

    @property
    def name(self) -> str:
        """The hub's name."""
        return self._name

    @property
    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """The latest messages that nobody handled, oldest first."""
        return () if self._engine is None else self._engine.ledger.dead_letters.read()

    def metrics(self) -> HubMetrics:
        """What happened so far, as counts, and how things stand. Takes time in proportion to the agents in use."""
        account: dict[str, Any] = {} if self._engine is None else self._engine.ledger.totals()
        return HubMetrics(
            agents=len(self._directory.agents),
            observer_failures=self._emitter.failures,
            **self._directory.standing(),
            **account,
        )

    def describe(self) -> Topology:
        """Who is on the hub, how, and subscribed to what."""
        return describe(self._name, self._directory)

    async def drain(self, timeout: Duration | None = _GRACE) -> StopReport:
        """Stop for good: refuse new work from outside, finish what is queued, cancel the rest and answer all requests.

        Running handlers may still send and request meanwhile. A handler that calls this is not waited for, nor
        cancelled.

        Args:
            timeout: How long to finish what is queued; None for as long as it needs.

        Returns:
            What was not finished.
        """
        async with self._turns:
            if self._engine is None:
                return StopReport(hub=self._name)
            return await drain(self._directory, self._engine, seconds(timeout))

    def new_context(self, parcel: Parcel) -> "Context":
        """Make what a handler gets as its context; not for callers of a hub."""
        assert self._router is not None  # noqa: S101 - parcels come from a router
        assert self._publisher is not None  # noqa: S101 - and both are made together
        return Context(self, self._router, self._publisher, parcel)

    def strike(self, agent: str, failure: BaseException) -> None:
        """Take a failed agent off the hub; not for callers of a hub, who have `unregister`."""
        self._emitter.emit(AgentFailed(hub=self._name, agent=agent, error=type(failure).__qualname__))
        strike(self._directory, agent)

    async def _idle(self) -> None:
        async with self._turns:
            if self._engine is not None:
                await self._engine.ledger.quiet()

    async def __aenter__(self) -> Self:
        """Start: messages are taken from now on."""
        if self._directory.phase is not Phase.NEW:
            await self._turns.take()
            raise HubReentered(self._name)
        backend = current_backend()
        self._tasks = await create_task_group().__aenter__()
        self._engine = Engine(
            self,
            self._emitter,
            self._tasks,
            backend if self._clock is None else backend.with_clock(self._clock),
            dead_letters=self._dead_letters,
            onion=Onion(self._middleware) if self._middleware else None,
            new_parcel=self._parcels,
            turns=self._turns,
        )
        self._router = Router(self._directory, self._engine)
        self._publisher = Publisher(self._directory, self._engine)
        self._directory.enter(Phase.RUNNING)
        self._emitter.emit(HubOpened(hub=self._name))
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop, within the grace or, after an exception, at once."""
        try:
            if exc is None:
                await self.drain(self._grace)
        finally:
            await self._end()

    async def _end(self) -> None:
        if self._engine is None or self._tasks is None:
            return
        await abort(self._directory, self._engine)
        try:
            await end_tasks(self._tasks)
        finally:
            self._emitter.emit(HubClosed(hub=self._name))


class Context(ActingContext[Hub]):
    """What a handler knows about the message it handles, and how it sends as the agent it belongs to.

    What is sent through it carries the message's id as its cause and the same trace. As long as the handler runs,
    requests also inherit its deadline, so that nobody works for a requester who has given up, and the chain of waiting
    agents, by which a circle is found.
    """

    __slots__ = ()
