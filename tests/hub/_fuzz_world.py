"""The hub under test, those who use it, and what is remembered about it all."""

import asyncio
import weakref
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
from anyio import CancelScope, get_cancelled_exc_class
from anyio.abc import TaskGroup
from tests.hub._agents import Recorder
from tests.hub._fuzz_deeds import Job, is_own
from tests.hub._fuzz_far import Far
from tests.hub._fuzz_handlers import implementation
from tests.hub._fuzz_listening import Reader
from tests.hub._fuzz_program import Call, Program, Task
from tests.hub._fuzz_replies import check_replies, read
from tests.hub._fuzz_sending import SENDING
from tests.hub._fuzz_threads import call_by_portal, problem_of_a_foreign_call
from tests.hub._hostile_errors import Odd

from stagepost.hub import (
    AgentNotFound,
    AgentStopped,
    Context,
    Delivery,
    DuplicateAgent,
    HandlerFailed,
    Hub,
    HubError,
    HubStopped,
    Middleware,
    Priority,
    Proceed,
    Restart,
    Sends,
    Timer,
)

PROMPT = 0.2


@dataclass
class Record:
    """One call of somebody, and what became of it."""

    serial: int
    verb: str
    sender: str | None
    target: str
    begun: int
    priority: Priority = Priority.NORMAL
    outside: bool = False
    by_thread: bool = False
    parent: int | None = None
    ended: int | None = None
    outcome: str = "open"
    delivery: Delivery | None = None
    left: bool = False


async def _pass(context: Context, proceed: Proceed) -> object:
    return await proceed()


@dataclass
class World:
    """One program under way."""

    program: Program
    clients: TaskGroup
    recorder: Recorder = field(default_factory=Recorder)
    hub: Hub = field(init=False)
    far: Far = field(init=False)
    released: anyio.Event = field(default_factory=anyio.Event)
    surprises: list[str] = field(default_factory=list)
    records: dict[int, Record] = field(default_factory=dict)
    payloads: list["weakref.ref[Job]"] = field(default_factory=list)
    starts: list[tuple[str, int]] = field(default_factory=list)
    cancelled: list[tuple[str, int, bool]] = field(default_factory=list)
    running: Counter[tuple[str, int]] = field(default_factory=Counter)
    generation: Counter[str] = field(default_factory=Counter)
    made: Counter[str] = field(default_factory=Counter)
    leaving: set[str] = field(default_factory=set)
    readers: list[Reader] = field(default_factory=list)
    scopes: list[CancelScope] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    stopping: bool = False
    draining_inside: int = 0
    dismissing: int = 0
    open_calls: int = 0
    ticks: int = 0

    def __post_init__(self) -> None:
        program = self.program
        middleware: list[Middleware[Context] | Sends] = [_pass] if program.middleware else []
        self.far = Far(self)
        self.hub = Hub(
            observer=None if program.unseen else self.recorder,  # who looks needs an envelope for each delivery
            grace=program.grace,
            resting=program.resting,
            dead_letters=0,
            check_payloads=program.checked,
            middleware=[*middleware, *SENDING[program.sending]],
        )

    def tick(self) -> int:
        """The place of a moment in the order of all that happens."""
        self.ticks += 1
        return self.ticks

    def call_from_thread(self, agent: str) -> None:
        """A call from another thread is an error at once, and does nothing."""
        problem = problem_of_a_foreign_call(self.hub, agent, Job(-1, Task()), self.ticks)
        if problem is not None:
            self.surprise(problem)

    def surprise(self, what: str, error: BaseException | None = None) -> None:
        """Note what must not happen; the error's text only, since the error itself would keep payloads alive."""
        where = error.__traceback__ if error is not None else None
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        place = f" at {where.tb_frame.f_code.co_qualname}:{where.tb_lineno}" if where is not None else ""
        self.surprises.append(what if error is None else f"{what}: {type(error).__qualname__}: {_text(error)}{place}")

    async def contained(self, what: str, call: Callable[[], Awaitable[object]]) -> None:
        """Await a call of the hub that may be refused but must not raise anything else."""
        try:
            await call()
        except (HubError, get_cancelled_exc_class()) as error:
            if not isinstance(error, HubError):
                raise
        except BaseException as error:  # noqa: BLE001 - that is the question
            self.surprise(what, error)

    # -- agents

    def enrol(self, agent: str, *, must: bool = False) -> None:
        """Register an agent of its kind."""
        kind = self.program.kind_of(agent)
        generation = self.generation[agent] + 1
        restartable = kind.form in ("class", "hooks", "factory", "stream_class")
        supervision = "resume" if isinstance(kind.supervision, Restart) and not restartable else kind.supervision
        try:
            self.hub.register(
                agent,
                implementation(self, agent, generation, kind),
                topics=["jobs.*"],
                group=kind.group,
                mailbox=kind.mailbox,
                concurrency=kind.concurrency,
                detach=kind.detach,
                overflow=kind.overflow,
                supervision=supervision,
                per=_key if kind.keyed else None,
                instances=2,
                idle=0.01,
            )
        except DuplicateAgent as error:
            if must:
                self.surprise(f"the id {agent} is not free", error)
        except HubError as error:
            if not isinstance(error, HubStopped):
                self.surprise("register", error)
        else:
            self.generation[agent] = generation

    async def dismiss(self, agent: str, *, drain: bool, inside: bool = False) -> None:
        """Unregister an agent; afterwards none of its handlers runs."""
        generation = self.generation[agent]
        self.leaving.add(agent)
        self.dismissing += 1
        try:
            await self.hub.unregister(agent, drain=drain)
        except (AgentNotFound, AgentStopped):
            return
        finally:
            self.dismissing -= 1
        if inside:
            return
        if self.running[agent, generation]:
            self.surprise(f"unregister({drain=}) has returned and a handler runs")
        if agent in self.hub.agents and self.generation[agent] == generation:
            self.surprise(f"unregister({drain=}) has returned and the agent is there")

    async def watch(self, agent: str) -> None:
        """Wait for the end of an agent; afterwards it is not there, or another one is under its id."""
        generation, was_there = self.generation[agent], agent in self.hub.agents
        ended = await self.hub.watch(agent)
        if ended.reason == "absent" and was_there:
            self.surprise("an agent was there and was told to be absent")
        if ended.reason == "hub_stopped" and not self.may_stop:
            self.surprise("a watch was told that the hub has stopped")
        if ended.reason != "hub_stopped" and self.generation[agent] == generation and agent in self.hub.agents:
            self.surprise(f"an agent was told to have ended ({ended.reason}) and is there")

    async def drain(self, timeout: float, *, inside: bool = False) -> None:
        """Drain the hub; afterwards only handlers run that are named as stuck, or drain."""
        self.stopping = True
        self.draining_inside += inside
        try:
            report = await self.hub.drain(timeout)
        finally:
            self.draining_inside -= inside
        runs = {agent for (agent, _), number in self.running.items() if number} - set(report.stuck)
        if not inside and not self.draining_inside and runs:
            self.surprise(f"drain has returned and a handler runs that is not stuck {sorted(runs)}")

    # -- plans

    async def plan(self, agent: str, *, often: bool) -> None:
        """Plan a message, or many, from outside."""
        record = self.note("plan", None, agent)
        job = Job(record.serial, Task())
        self.payloads.append(weakref.ref(job))
        hub = self.hub
        self.timers.append(await (hub.every(0.004, agent, job) if often else hub.send_later(agent, job, after=0.004)))

    # -- calls

    def note(self, verb: str, sender: str | None, target: str, *, parent: int | None = None) -> Record:
        """Begin a record of a call."""
        serial = len(self.records) + 1
        self.records[serial] = Record(serial, verb, sender, target, begun=self.tick(), parent=parent)
        return self.records[serial]

    def root(self, serial: object) -> int:
        """The call that a message comes from, also if it was forwarded."""
        record = self.records.get(serial) if isinstance(serial, int) else None
        while record is not None and record.parent is not None:
            record = self.records[record.parent]
        return -1 if record is None else record.serial

    async def call(self, via: Hub | Context, call: Call, *, sender: str | None) -> Record:
        """Call and remember what became of it."""
        record = self.note(call.verb, sender, call.target)
        record.priority = call.priority
        record.outside = isinstance(via, Hub) and sender in ("x", "y")
        record.by_thread = call.by_thread
        self.open_calls += 1
        try:
            await self._call(via, call, record)
        except Odd as error:
            record.outcome = "refused by a layer"
            if self.program.sending != "refuse" or call.task.how != "yield":
                self.surprise(f"{call.verb} raised what no layer has raised", error)
        except HubError as error:
            record.outcome = type(error).__name__
            if isinstance(error, HandlerFailed) and not is_own(error.cause, self.program.words):
                self.surprise("a requester saw an error that no handler raised", error.cause)
        except get_cancelled_exc_class():
            record.outcome = "cancelled"
            raise
        except BaseException as error:  # noqa: BLE001 - that is the question
            record.outcome = "internal error"
            self.surprise(f"{call.verb} raised an internal error", error)
        else:
            record.outcome = "left" if record.left else "done"
        finally:
            self.open_calls -= 1
            record.ended = self.tick()
        return record

    async def _call(self, via: Hub | Context, call: Call, record: Record) -> None:
        job = Job(record.serial, call.task)
        self.payloads.append(weakref.ref(job))
        if call.by_thread and isinstance(via, Hub) and call.verb != "stream":
            await self._call_by_portal(via, call, record, job)
            return
        priority, timeout = call.priority, call.timeout
        names: dict[str, Any] = {"sender": record.sender, "trace": f"t{record.serial}"} if isinstance(via, Hub) else {}
        match call.verb:
            case "send":
                await via.send(call.target, job, timeout=timeout, ttl=call.ttl, priority=priority, **names)
            case "request":
                reply = await via.request(call.target, job, timeout=timeout, priority=priority, **names)
                if self.root(reply) != record.serial:
                    self.surprise(f"a request got the reply of another: {reply!r}")
            case "publish":
                record.delivery = await via.publish(
                    call.topic, job, timeout=timeout, ttl=call.ttl, priority=priority, **names
                )
            case "broadcast":
                record.delivery = await via.broadcast(job, timeout=timeout, ttl=call.ttl, priority=priority, **names)
            case "stream":
                await read(
                    self,
                    via.stream(call.target, job, timeout=timeout, priority=priority, window=2, **names),
                    call,
                    record,
                )
            case "request_many":
                options = {"enough": call.enough, "timeout": timeout, "priority": priority, **names}
                check_replies(self, await via.request_many(call.topic, job, **options), call, record)

    async def _call_by_portal(self, hub: Hub, call: Call, record: Record, job: Job) -> None:
        names: dict[str, Any] = {
            "sender": record.sender,
            "trace": f"t{record.serial}",
            "timeout": call.timeout,
            "priority": call.priority,
        }
        topic = call.topic
        match call.verb:
            case "send":
                await call_by_portal(hub, lambda portal: portal.send(call.target, job, ttl=call.ttl, **names))
            case "request":
                reply = await call_by_portal(hub, lambda portal: portal.request(call.target, job, **names))
                if self.root(reply) != record.serial:
                    self.surprise(f"a request by a portal got the reply of another: {reply!r}")
            case "publish":
                record.delivery = await call_by_portal(
                    hub, lambda portal: portal.publish(topic, job, ttl=call.ttl, **names)
                )
            case "broadcast":
                record.delivery = await call_by_portal(hub, lambda portal: portal.broadcast(job, ttl=call.ttl, **names))
            case "request_many":
                replies = await call_by_portal(
                    hub, lambda portal: portal.request_many(topic, job, enough=call.enough, **names)
                )
                check_replies(self, replies, call, record)

    @property
    def is_asyncio(self) -> bool:
        """Which loop runs."""
        return get_cancelled_exc_class() is asyncio.CancelledError

    @property
    def may_stop(self) -> bool:
        """Whether the hub may have ended."""
        return self.stopping or "escalate" in self.program.words


def _key(job: Job) -> int:
    return job.serial % 3


def _text(error: BaseException) -> str:
    try:
        return str(error)[:200]
    except BaseException:  # noqa: BLE001 - some of them are meant to
        return "?"
