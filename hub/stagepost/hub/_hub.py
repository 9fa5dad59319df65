"""The hub, and the context through which its handlers act."""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar, overload

from anyio import create_task_group
from anyio.abc import TaskGroup

from ._directory import Directory, Phase, Registration
from ._emitter import Emitter
from ._engine import Engine
from ._events import HubClosed, HubOpened
from ._handlers import HandlerReader
from ._ledger import HubMetrics
from ._limits import Duration, count, seconds
from ._message import Message
from ._names import check_name
from ._observer import Observer
from ._parcel import NO_TRAIL, Parcel, Trail
from ._router import Origin, Router, reply_to
from ._signature import name_of
from ._stopping import abort, dismiss, drain, end_tasks
from .errors import HubNotStarted, HubReentered, InvalidHandler

ReplyT = TypeVar("ReplyT")

_TIMEOUT: Final = 30.0
_GRACE: Final = 10.0
_OUTSIDE: Final = Origin()


class Identified(Protocol):
    """An object that knows the id it wants to be registered under."""

    @property
    def id(self) -> str:
        """1 to 100 of the characters ``A-Z a-z 0-9 _ -``."""


class Hub:
    """Routes typed messages between agents in this process.

    Use it as an async context manager, once: it owns the tasks that handle messages, and none of them outlives it.
    Leaving the block refuses new work, finishes what is queued within the grace, cancels the rest and answers every
    request that is still open; leaving it by an exception skips the grace. Everything happens in one event loop: other
    threads must not call a hub.

    Args:
        name: The hub's name in events, errors and logs.
        observer: Gets an event for whatever happens.
        grace: How long leaving may take to finish what is queued; None for as long as it needs.
    """

    def __init__(self, name: str = "hub", *, observer: Observer | None = None, grace: Duration | None = _GRACE) -> None:
        self._name = check_name("hub name", name)
        self._grace = seconds(grace)
        self._emitter = Emitter(observer)
        self._directory = Directory(self._name, self._emitter)
        self._reader = HandlerReader()
        self._tasks: TaskGroup | None = None
        self._engine: Engine | None = None
        self._router: Router | None = None

    @property
    def name(self) -> str:
        """The hub's name."""
        return self._name

    @property
    def agents(self) -> tuple[str, ...]:
        """The ids of the registered agents, in the order they came."""
        return tuple(self._directory.agents)

    def metrics(self) -> HubMetrics:
        """What happened so far, as counts."""
        account = {} if self._engine is None else self._engine.ledger.totals()
        return HubMetrics(agents=len(self._directory.agents), observer_failures=self._emitter.failures, **account)

    def register(
        self,
        agent: str | Identified,
        handler: object | None = None,
        *,
        concurrency: int | None = 1,
        mailbox: int | None = 100,
        detach: bool = False,
    ) -> None:
        """Add an agent, before or after the hub is entered.

        A handler is a function whose first parameter is annotated with the payload's class, a union of classes, or
        ``Message[...]`` of one for the whole envelope; if it has a parameter named ``context``, it gets a `Context`.
        What it returns is the reply to a request. An agent with several handlers is an object with methods marked by
        `handles`. The class of the payload chooses among them, the most specific one wins. A handler that is not async
        runs inline and must not block.

        Args:
            agent: The id, or an object with an ``id`` and marked methods.
            handler: The function, callable or object with marked methods; needed when `agent` is an id.
            concurrency: How many messages it handles at once; None for any number. With 1, messages of one sender are
                handled in the order sent.
            mailbox: How many messages may wait; None for any number.
            detach: Let handlers go on when the requester has stopped waiting, instead of cancelling them.

        Raises:
            InvalidName: The id has other characters than letters, digits, ``_`` and ``-``, or more than 100.
            InvalidHandler: A handler cannot be used as it is; the error says how to change it.
            DuplicateAgent: The id is taken.
            HubStopped: The hub drains or has stopped.
        """
        agent_id = check_name("agent id", _id_of(agent))
        if handler is None and isinstance(agent, str):
            raise InvalidHandler(
                f"of agent {agent!r}", "is missing", "pass a function, or register an object with an `id`"
            )
        registration = Registration(
            agent_id,
            self._reader.read(agent if handler is None else handler),
            concurrency=count("concurrency", concurrency),
            mailbox=count("mailbox", mailbox),
            detach=detach,
        )
        self._directory.add(registration)

    async def unregister(self, agent: str, *, drain: bool = True) -> None:
        """Remove an agent. When this returns, none of its handlers runs any more, and its id is free.

        A handler may unregister its own agent; then this does not wait for that handler.

        Args:
            agent: Its id.
            drain: Handle first what it has in its mailbox, within the hub's grace. Otherwise, and after the grace,
                handlers are cancelled, messages buried, and requesters told by `AgentStopped`.

        Raises:
            AgentNotFound: There is none with this id.
            AgentStopped: It is being unregistered already.
        """
        await dismiss(self._directory, agent, drain=drain, grace=self._grace)

    async def send(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = _TIMEOUT,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        trace: str | None = None,
    ) -> None:
        """Send one way: return once the recipient's mailbox has the message, not when it is handled.

        Args:
            recipient: The agent's id.
            payload: What it gets; shared, not copied.
            timeout: How long to wait for room; 0 to not wait, None to wait as long as it takes.
            sender: The id of the agent that sends. Inside of a handler use `Context.send` instead.
            headers: Text values that travel with the message.
            trace: The trace it belongs to.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            MailboxFull: There was no room in time.
            AgentStopped: The recipient is leaving.
            HubNotStarted: The hub was not entered yet.
            HubStopped: It takes no more work.
        """
        router = self._router
        if router is None:
            raise HubNotStarted(recipient, self._name)
        rest = router.send(recipient, payload, _origin(sender, trace), headers=headers, timeout=timeout)
        if rest is not None:
            await rest

    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        trace: str | None = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        sender: str | None = ...,
        headers: Mapping[str, str] | None = ...,
        trace: str | None = ...,
    ) -> object: ...
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[Any] = object,
        timeout: Duration | None = _TIMEOUT,
        sender: str | None = None,
        headers: Mapping[str, str] | None = None,
        trace: str | None = None,
    ) -> object:
        """Send and return what the recipient's handler returns.

        If the caller is cancelled or the time is up, the handler is cancelled too, unless its agent was registered with
        ``detach=True``.

        Args:
            recipient: The agent's id.
            payload: What it gets; shared, not copied.
            expect: The class the reply must have; it is also the type of the result.
            timeout: How long to wait for the reply, room in the mailbox included; None for as long as it takes.
            sender: The id of the agent that asks. Inside of a handler use `Context.request` instead.
            headers: Text values that travel with the message.
            trace: The trace it belongs to.

        Raises:
            AgentNotFound: Nobody has this id.
            NoHandler: The recipient takes no payload of this class.
            HandlerFailed: The handler raised; ``cause`` is its error.
            UnexpectedReply: The reply is no instance of `expect`.
            RequestTimeout: There was no reply in time.
            AgentStopped: The recipient is leaving, or left before it answered.
            HubNotStarted: The hub was not entered yet.
            HubStopped: It takes no more work, or stopped before the reply.
        """
        router = self._router
        if router is None:
            raise HubNotStarted(recipient, self._name)
        origin = _origin(sender, trace)
        parcel, replied = router.request(recipient, payload, origin, headers=headers, timeout=timeout)
        await replied
        return reply_to(parcel, expect)

    async def drain(self, timeout: Duration | None = _GRACE) -> None:
        """Stop for good: refuse new work from outside, finish what is queued, cancel the rest and answer all requests.

        Running handlers may still send and request meanwhile. A handler that calls this is not waited for, nor
        cancelled.

        Args:
            timeout: How long to finish what is queued; None for as long as it needs.
        """
        if self._engine is not None:
            await drain(self._directory, self._engine, seconds(timeout))

    async def _idle(self) -> None:
        if self._engine is not None:
            await self._engine.ledger.quiet()

    async def __aenter__(self) -> Self:
        """Start: messages are taken from now on."""
        if self._directory.phase is not Phase.NEW:
            raise HubReentered(self._name)
        self._tasks = await create_task_group().__aenter__()
        self._engine = Engine(self._name, self._emitter, self._tasks, lambda parcel: Context(self, router, parcel))
        self._router = router = Router(self._directory, self._engine)
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
        abort(self._directory, self._engine)
        try:
            await end_tasks(self._tasks)
        finally:
            self._emitter.emit(HubClosed(hub=self._name))


class Context:
    """What a handler knows about the message it handles, and how it sends as the agent it belongs to.

    What is sent through it carries the message's id as its cause and the same trace; requests also inherit its
    deadline, so that nobody works for a requester who has given up, and the chain of waiting agents, by which a circle
    is found.
    """

    __slots__ = ("_hub", "_message", "_parcel", "_router")

    def __init__(self, hub: Hub, router: Router, parcel: Parcel) -> None:
        self._hub = hub
        self._router = router
        self._parcel = parcel
        self._message: Message[Any] | None = None

    @property
    def hub(self) -> Hub:
        """The hub that the message came over."""
        return self._hub

    @property
    def agent(self) -> str:
        """The id of the agent that handles the message."""
        return self._parcel.recipient.id

    @property
    def message(self) -> Message[Any]:
        """The whole envelope."""
        if self._message is None:
            self._message = self._parcel.message(self._router.stamps)
        return self._message

    async def send(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = _TIMEOUT,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Send one way as this agent; see `Hub.send`. Sending to itself never waits: a full mailbox fails at once."""
        rest = self._router.send(recipient, payload, self._origin(()), headers=headers, timeout=timeout)
        if rest is not None:
            await rest

    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[ReplyT],
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
    ) -> ReplyT: ...
    @overload
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        timeout: Duration | None = ...,
        headers: Mapping[str, str] | None = ...,
    ) -> object: ...
    async def request(
        self,
        recipient: str,
        payload: object,
        *,
        expect: type[Any] = object,
        timeout: Duration | None = _TIMEOUT,
        headers: Mapping[str, str] | None = None,
    ) -> object:
        """Ask as this agent; see `Hub.request`. The deadline of the request being handled may shorten the timeout.

        Raises:
            RequestCycle: The recipient waits for this very request, and has no free worker.
        """
        origin = self._origin(self._waiting())
        parcel, replied = self._router.request(recipient, payload, origin, headers=headers, timeout=timeout)
        await replied
        return reply_to(parcel, expect)

    def _waiting(self) -> tuple[str, ...]:
        """The agents that wait for a request made now."""
        return (*self._parcel.trail.chain, self.agent)

    def _origin(self, chain: tuple[str, ...]) -> Origin:
        parcel, stamps = self._parcel, self._router.stamps
        trail = Trail(parcel.id(stamps), parcel.trace(stamps), chain)
        return Origin(self.agent, trail, parcel.inherited_deadline(), inside=True)


def _origin(sender: str | None, trace: str | None) -> Origin:
    if sender is None and trace is None:
        return _OUTSIDE
    return Origin(sender, NO_TRAIL if trace is None else Trail(trace=trace))


def _id_of(agent: str | Identified) -> object:
    if isinstance(agent, str) or hasattr(agent, "id"):
        return agent if isinstance(agent, str) else agent.id
    raise InvalidHandler(name_of(agent), "has no `id`", 'register it under one: hub.register("its-id", handler)')
