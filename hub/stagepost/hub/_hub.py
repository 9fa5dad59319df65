"""The hub: entering, leaving, and information about it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from anyio import create_task_group
from anyio.abc import TaskGroup

from ._arguments import check_clock, check_flag, check_middleware, check_number, check_text
from ._asking import Asking
from ._checked import CheckedEnvelope, check_payload
from ._contained_clock import contained_clock
from ._containment import class_name
from ._context import ActingContext
from ._crossing import Crossings
from ._dead_letters import DeadLetter
from ._directory import Directory, Phase
from ._emitter import Emitter
from ._engine import Engine
from ._envelope import Envelope
from ._events import AgentTerminated, HubClosed, HubOpened
from ._limits import MAILBOX, TIMEOUT, Duration, count, seconds
from ._listening import Listening
from ._losses import Losses
from ._masks import Masks
from ._membership import Membership
from ._metrics import HubMetrics
from ._middleware import Middleware, Onion
from ._names import check_name
from ._observer import Observer
from ._operating import Operating
from ._origin import Place
from ._outbox import Outbox
from ._planning import Planning
from ._portal import Portal
from ._publisher import Publisher
from ._relays import Relays
from ._report import Delivery
from ._router import Router
from ._sending import SendingLayers, Sends
from ._starting import Owner, Starting
from ._stopping import StopReport, abort, drain, end_tasks, terminate
from ._streaming import Streaming
from ._time_slice import TimeSlice
from ._topology import Topology, describe
from ._wake import Clock, current_backend
from ._warm import WARM_KEPT, Warm
from ._watching import Watching
from .errors import AgentStopped, DeliveryError, HubReentered

if TYPE_CHECKING:
    from ._config import HubConfig, Registry

_GRACE: Final = 10.0
_DEAD_LETTERS: Final = 100


class Hub(Membership, Outbox, Asking, Streaming, Listening, Planning, Watching, Operating, Starting):
    """Routes typed messages between agents in this process.

    Use it as an async context manager, once: it owns the tasks that handle messages, and none of them outlives it.
    Where no block can be around all uses, as in fixtures and notebooks, `start` and `stop` do the same on asyncio.
    Leaving the block refuses new work, finishes queued messages within the grace period, cancels the rest and answers
    every request that is still open; leaving it by an exception skips the grace period. Everything happens in the event
    loop in which the hub was entered; a call from another thread or loop raises `WrongThread`.

    Args:
        name: The hub's name in events, errors and logs.
        observer: Gets an event for everything that happens.
        middleware: Functions around the handling of every message, the first one outermost; see `Middleware`. One that
            has a method `sending` is, also or only, around everything that is sent; see `Sends`.
        grace: How long leaving may take to finish queued messages; None for no limit.
        mailbox: How many messages may wait for an agent that is registered without a `mailbox` of its own; None for any
            number.
        timeout: How long senders and requesters wait that give no timeout; None for no limit.
        dead_letters: How many dead letters are kept, 0 for none.
        resting: How many agents keep an idle task between their messages; None for all. Beyond it, those that have
            rested longest give theirs up: that saves most of the memory of an agent, and makes its next message some
            ten times as expensive.
        check_payloads: Fail messages whose payload was changed after it was sent; for tests.
        clock: A replacement for the event loop's clock; for tests.

    Raises:
        InvalidName: The name has characters that are not allowed.
        InvalidArgument: Another argument has the wrong type or value.
    """

    def __init__(
        self,
        name: str = "hub",
        *,
        observer: Observer | None = None,
        middleware: Sequence[Middleware["Context"] | Sends] = (),
        grace: Duration | None = _GRACE,
        mailbox: int | None = MAILBOX,
        timeout: Duration | None = TIMEOUT,
        dead_letters: int = _DEAD_LETTERS,
        resting: int | None = WARM_KEPT,
        check_payloads: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__()
        self._name = check_name("hub name", name)
        self._grace = seconds(grace, "grace")
        self._masks = Masks()
        self._emitter = Emitter(observer, mask=self._masks)
        self._directory = Directory(self._name, self._emitter)
        handling, sending = check_middleware(middleware)
        self._middleware = (*handling, check_payload) if check_flag("check_payloads", check_payloads) else handling
        self._sending = SendingLayers(self._name, sending) if sending else None
        self._envelopes = CheckedEnvelope if check_payloads else Envelope
        self._mailbox = count("mailbox", mailbox)
        self._timeout = seconds(timeout, "timeout")
        self._dead_letters = check_number("dead_letters", dead_letters)
        self._resting = count("resting", resting)
        self._clock = None if clock is None else check_clock(clock)
        self._time_slice = TimeSlice()
        self._owner: Owner | None = None
        self._tasks: TaskGroup | None = None
        self._engine: Engine | None = None
        self._router: Router | None = None
        self._publisher: Publisher | None = None

    @classmethod
    def from_config(cls, config: "HubConfig", registry: "Registry | None" = None) -> Self:
        """Make a hub from configuration.

        Args:
            config: The configuration.
            registry: The observers that it may name; by default only ``null`` and ``log``.

        Raises:
            InvalidConfig: An observer's name is unknown.
        """
        from ._config import Registry  # noqa: PLC0415  # see the package: building the model takes time

        return cls(
            config.name,
            observer=(registry or Registry()).observer(*config.observers),
            grace=config.grace,
            mailbox=config.mailbox,
            timeout=config.timeout,
            dead_letters=config.dead_letters,
            resting=config.resting,
            check_payloads=config.check_payloads,
        )

    @property
    def name(self) -> str:
        """The hub's name."""
        return self._name

    @property
    def dead_letters(self) -> tuple[DeadLetter, ...]:
        """The latest messages that nobody handled, oldest first."""
        return () if self._engine is None else self._engine.account.dead_letters.read()

    def lost(self, of: Delivery | str) -> Losses:
        """What was lost so far of a publication, and of all that handlers sent because of it, on this hub.

        It counts the dead messages of a trace, of which a publication begins one unless it belongs to another. The
        latest 1,000 traces with losses are kept.

        Args:
            of: The report of the publication, or a trace.

        Raises:
            InvalidArgument: It is neither.
        """
        trace = of.trace if isinstance(of, Delivery) else check_text("of", of)
        return Losses(trace="") if self._engine is None or trace is None else self._engine.account.losses.read(trace)

    def metrics(self) -> HubMetrics:
        """Counts so far, and the current state. The time it takes is proportional to the number of agents."""
        account: dict[str, Any] = {} if self._engine is None else self._engine.account.totals()
        return HubMetrics(
            observer_failures=self._emitter.failures,
            **self._directory.standing(),
            **account,
        )

    def describe(self) -> Topology:
        """The agents of the hub with their options and subscriptions."""
        return describe(self._name, self._directory)

    def masking(self, mask: Callable[[str], str]) -> AbstractContextManager[None]:
        """Mask secrets in the hub's log for the length of a block: ``with hub.masking(hide):``.

        Several masks may be in use at once. A runner with secrets masks them on the hub that it serves on.

        Args:
            mask: Takes a text and returns it without the secrets. If it raises, nothing of the text is logged.
        """
        return self._masks.using(mask)

    def portal(self) -> Portal:
        """A way into this hub for code in other threads, which calls it without ``await``; see `Portal`.

        It may be made and kept anywhere, before and after the hub is entered.
        """
        return Portal(self)

    async def drain(self, timeout: Duration | None = _GRACE) -> StopReport:
        """Stop for good: refuse new work from outside, finish queued messages, cancel the rest, answer all requests.

        Running handlers may still send and request meanwhile. If a handler or a hook calls this, or started the task
        that does, neither it nor anybody who waits for its reply is waited for or cancelled; so handlers that call this
        at the same time do not wait for each other.

        Args:
            timeout: How long to finish what is queued; None for as long as it needs.

        Returns:
            What was not finished.

        Raises:
            WrongThread: The hub was entered in another thread or event loop.
        """
        async with self._time_slice:
            if self._engine is None:
                return StopReport(hub=self._name)
            self._check_here("drain")
            return await drain(self._directory, self._engine, seconds(timeout))

    def crossings(self) -> Crossings | None:
        """The calls from other threads, once the hub was entered; not for callers of a hub."""
        return None if self._engine is None else self._engine.crossings

    def relays(self) -> Relays:
        """What the bridges of this hub share; not for callers of a hub."""
        relays = self._directory.relays
        if relays is None:
            relays = self._directory.relays = Relays()
        return relays

    def place(self) -> Place:
        """The clock and the message ids of the hub, once it was entered; not for callers of a hub."""
        assert self._engine is not None  # noqa: S101 - who asks has one of its messages
        return self._engine

    def new_context(self, envelope: Envelope) -> "Context":
        """Make what a handler gets as its context; not for callers of a hub."""
        assert self._router is not None  # noqa: S101 - envelopes come from a router
        assert self._publisher is not None  # noqa: S101 - and both are made together
        return Context(self, self._router, self._publisher, envelope)

    def terminate(
        self, agent: str, failure: BaseException, refusal: Callable[[str], DeliveryError] = AgentStopped
    ) -> None:
        """Take a failed agent off the hub; not for callers of a hub, who have `unregister`."""
        self._emitter.emit(AgentTerminated(hub=self._name, agent=agent, error=class_name(type(failure))))
        if self._directory.watches is not None:
            self._directory.watches.note_failure(agent, failure)
        terminate(self._directory, self._engine, agent, refusal)

    async def _idle(self) -> None:
        async with self._time_slice:
            if self._engine is not None:
                await self._engine.account.quiet()

    async def __aenter__(self) -> Self:
        """Start: messages are taken from now on."""
        if self._directory.phase is not Phase.NEW:
            await self._time_slice.take()
            raise HubReentered(self._name)
        backend, tasks = current_backend(), create_task_group()
        engine = Engine(
            self,
            self._emitter,
            tasks,
            backend if self._clock is None else contained_clock(backend, self._clock),
            dead_letters=self._dead_letters,
            patience=self._timeout,
            mask=self._masks,
            onion=Onion(self._middleware) if self._middleware else None,
            sending=self._sending,
            new_envelope=self._envelopes,
            find_workload=self._directory.receiver_of,
            time_slice=self._time_slice,
            warm=Warm(self._resting),
        )
        await tasks.__aenter__()  # what is entered has to be left: whatever may fail was done before
        self._tasks, self._engine = tasks, engine
        self._router = Router(self._directory, engine)
        self._publisher = Publisher(self._directory, engine, self._router)
        self._directory.enter(Phase.RUNNING)
        try:
            self._emitter.emit(HubOpened(hub=self._name))
        except BaseException:  # an interrupt from the keyboard
            await self._end()
            raise
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
        try:
            await abort(self._directory, self._engine)
        finally:
            try:
                await end_tasks(self._tasks, self._engine.failures)
            finally:
                self._engine.crossings.close()
                self._emitter.emit(HubClosed(hub=self._name))


class Context(ActingContext[Hub]):
    """Gives a handler its message, and sends as its agent.

    Messages sent through it carry the handled message's id as their cause and the same trace. As long as the handler
    runs, requests also inherit its deadline, so that nobody works for a requester who has given up, and the chain of
    waiting agents, which reveals cycles.
    """

    __slots__ = ()
