"""Whatever agents, clients and the owner of a hub do at the same time, the account adds up and nothing is left."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

import pytest
from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hub._agents import Recorder
from tests.hub._fuzz_laws import accounted_for

from stagepost.hub import (
    Context,
    Delivery,
    Hub,
    HubError,
    Priority,
    Restart,
    Supervision,
    handles,
)

AGENTS = ("a", "b", "c")


@dataclass(frozen=True)
class Job:
    """What a handler shall do, and the place of the message in the order of its sender."""

    serial: int
    how: Literal["return", "raise", "yield", "block", "ask", "tell", "forward", "publish"]
    target: str


@dataclass(frozen=True)
class Deed:
    """What a client or the owner does next."""

    kind: Literal[
        "send", "request", "publish", "broadcast", "cancel", "unregister", "abandon", "register", "yield", "drain"
    ]
    agent: str
    sender: str
    job: Job
    timeout: float
    priority: Priority = Priority.NORMAL
    ttl: float | None = None


@dataclass(frozen=True)
class Kind:
    """How an agent is registered."""

    mailbox: int
    concurrency: int
    detach: bool
    overflow: Literal["wait", "reject", "drop_oldest"]
    supervision: Supervision


jobs = st.builds(
    Job,
    serial=st.just(0),
    how=st.sampled_from(["return", "return", "raise", "yield", "block", "ask", "tell", "forward", "publish"]),
    target=st.sampled_from(AGENTS),
)
deeds = st.builds(
    Deed,
    kind=st.sampled_from(
        [
            *("send", "send", "request", "request", "publish", "broadcast"),
            *("cancel", "unregister", "abandon", "register", "yield"),
        ]
    ),
    agent=st.sampled_from(AGENTS),
    sender=st.sampled_from(["x", "y"]),
    job=jobs,
    timeout=st.sampled_from([0.0, 0.002, 30.0]),
    priority=st.sampled_from([Priority.NORMAL, Priority.NORMAL, Priority.LOW, Priority.CRITICAL]),
    ttl=st.sampled_from([None, None, 0.001, 30.0]),
)
kinds = st.builds(
    Kind,
    mailbox=st.integers(1, 3),
    concurrency=st.integers(1, 2),
    detach=st.booleans(),
    overflow=st.sampled_from(["wait", "wait", "reject", "drop_oldest"]),
    supervision=st.sampled_from(["resume", "resume", "stop", Restart(max=2, backoff=0.0005)]),
)
plans = st.lists(deeds, max_size=40)
crews = st.lists(kinds, min_size=3, max_size=3)


@dataclass
class World:
    """A hub under test and what was done to it."""

    hub: Hub
    kinds: dict[str, Kind]
    serial: int = 0
    running: int = 0
    scopes: list[CancelScope] = field(default_factory=list)
    sent: dict[int, tuple[str, Priority]] = field(default_factory=dict)
    reports: list[Delivery] = field(default_factory=list)
    started: dict[tuple[str, Priority, str, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    generation: Counter[str] = field(default_factory=Counter)

    def register(self, agent: str) -> None:
        generation = self.generation[agent] + 1

        world = self

        class Worker:
            @handles
            async def work(self, job: Job, context: Context) -> int:
                sender, priority = world.sent.get(job.serial, ("", Priority.NORMAL))
                world.started[sender, priority, agent, generation].append(job.serial)
                world.running += 1
                try:
                    return await world.work(job, context)
                finally:
                    world.running -= 1

        kind = self.kinds[agent]
        try:
            self.hub.register(
                agent,
                Worker,
                topics=["jobs.*"],
                mailbox=kind.mailbox,
                concurrency=kind.concurrency,
                detach=kind.detach,
                overflow=kind.overflow,
                supervision=kind.supervision,
            )
        except HubError:
            return
        self.generation[agent] = generation

    async def work(self, job: Job, context: Context) -> int:
        match job.how:
            case "raise":
                raise ZeroDivisionError
            case "yield":
                await checkpoint()
            case "block":
                await sleep_forever()
            case "ask":
                await context.request(job.target, Job(0, "yield", job.target), timeout=0.01)
            case "forward":
                await context.forward(job.target, Job(job.serial, "return", job.target))
            case "publish":
                self.reports.append(await context.publish("jobs.x", Job(0, "return", job.target)))
            case "tell":
                await context.send(job.target, Job(0, "return", job.target), timeout=0.002)
        return job.serial

    async def call(self, deed: Deed) -> None:
        """Send or request in a scope that a later deed may cancel."""
        self.serial += 1
        job = Job(self.serial, deed.job.how, deed.job.target)
        with CancelScope() as scope:
            self.scopes.append(scope)
            with suppress(HubError):
                match deed.kind:
                    case "send":
                        self.note(job, deed)
                        await self.hub.send(
                            deed.agent,
                            job,
                            sender=deed.sender,
                            timeout=deed.timeout,
                            priority=deed.priority,
                            ttl=deed.ttl,
                        )
                    case "request":
                        self.note(job, deed)
                        reply = await self.hub.request(
                            deed.agent,
                            job,
                            expect=int,
                            sender=deed.sender,
                            timeout=deed.timeout,
                            priority=deed.priority,
                        )
                        assert reply == job.serial
                    case "publish":
                        self.reports.append(
                            await self.hub.publish("jobs.y", job, timeout=deed.timeout, ttl=deed.ttl, sender=deed.agent)
                        )
                    case _:
                        self.reports.append(await self.hub.broadcast(job, priority=deed.priority))

    def note(self, job: Job, deed: Deed) -> None:
        """Remember who sends what directly; a job that is handed on may overtake and is not looked at."""
        if job.how != "forward":
            self.sent[job.serial] = (deed.sender, deed.priority)

    async def dismiss(self, deed: Deed) -> None:
        try:
            await self.hub.unregister(deed.agent, drain=deed.kind == "unregister")
        except HubError:
            return

    async def do(self, deed: Deed, tasks: TaskGroup) -> None:
        match deed.kind:
            case "send" | "request" | "publish" | "broadcast":
                tasks.start_soon(self.call, deed)
            case "cancel" if self.scopes:
                self.scopes.pop(0).cancel()
            case "unregister" | "abandon":
                tasks.start_soon(self.dismiss, deed)
            case "register":
                self.register(deed.agent)
        await checkpoint()


async def play(plan: list[Deed], crew: list[Kind]) -> None:
    recorder = Recorder()
    world = World(Hub(observer=recorder, grace=0.003), dict(zip(AGENTS, crew, strict=True)))
    with fail_after(5):
        async with create_task_group() as tasks, world.hub:
            for agent in AGENTS:
                world.register(agent)
            for deed in plan:
                await world.do(deed, tasks)
    assert_accounted_for(world.hub, recorder)
    assert_in_order(world)
    assert world.running == 0


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans, crew=crews)
async def test_p1_p2_p3_p4_hold_under_any_interleaving(plan: list[Deed], crew: list[Kind]) -> None:
    await play(plan, crew)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Log no failures: pytest keeps every record with its traceback, and collecting garbage would take seconds."""
    logger = logging.getLogger("stagepost.hub")
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(logging.NOTSET)


@pytest.mark.long
@pytest.mark.usefixtures("quiet")
@settings(max_examples=50_000, deadline=None, suppress_health_check=list(HealthCheck))
@given(plan=plans, crew=crews)
async def test_p1_p2_p3_p4_hold_under_very_many_interleavings(plan: list[Deed], crew: list[Kind]) -> None:
    await play(plan, crew)


def assert_accounted_for(hub: Hub, recorder: Recorder) -> None:
    """Each accepted message ended once, and no deadline is left."""
    accounted_for(hub, recorder)
    assert hub._engine is not None
    assert not any(hub._engine.deadlines._buckets.values())


def assert_in_order(world: World) -> None:
    """An agent that handles one message at a time sees those of one sender in the order sent."""
    for (sender, _, agent, _), serials in world.started.items():
        if sender and world.kinds[agent].concurrency == 1:
            assert all(earlier < later for earlier, later in pairwise(serials))
