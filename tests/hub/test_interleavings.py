"""Whatever agents, clients and the owner of a hub do at the same time, the account adds up and nothing is left."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from anyio import CancelScope, create_task_group, fail_after, sleep_forever
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.hub._agents import Recorder

from stagepost.hub import Context, Hub, HubError, MessageAccepted, MessageEvent, MessageStarted

AGENTS = ("a", "b", "c")
ENDS = {"MessageHandled", "MessageFailed", "MessageCancelled", "MessageDead"}


@dataclass(frozen=True)
class Job:
    """What a handler shall do, and the place of the message in the order of its sender."""

    serial: int
    how: Literal["return", "raise", "yield", "block", "ask", "tell"]
    target: str


@dataclass(frozen=True)
class Deed:
    """What a client or the owner does next."""

    kind: Literal["send", "request", "cancel", "unregister", "abandon", "register", "yield"]
    agent: str
    sender: str
    job: Job
    timeout: float


jobs = st.builds(
    Job,
    serial=st.just(0),
    how=st.sampled_from(["return", "return", "raise", "yield", "block", "ask", "tell"]),
    target=st.sampled_from(AGENTS),
)
deeds = st.builds(
    Deed,
    kind=st.sampled_from(
        ["send", "send", "request", "request", "cancel", "unregister", "abandon", "register", "yield"]
    ),
    agent=st.sampled_from(AGENTS),
    sender=st.sampled_from(["x", "y"]),
    job=jobs,
    timeout=st.sampled_from([0.0, 0.002, 30.0]),
)


@dataclass
class World:
    """A hub under test and what was done to it."""

    hub: Hub
    sizes: dict[str, tuple[int, int, bool]]
    serial: int = 0
    running: int = 0
    scopes: list[CancelScope] = field(default_factory=list)
    sent: dict[int, str] = field(default_factory=dict)
    started: dict[tuple[str, str, int], list[int]] = field(default_factory=lambda: defaultdict(list))
    generation: Counter[str] = field(default_factory=Counter)

    def register(self, agent: str) -> None:
        generation = self.generation[agent] + 1

        async def work(job: Job, context: Context) -> int:
            self.started[self.sent.get(job.serial, ""), agent, generation].append(job.serial)
            self.running += 1
            try:
                return await self.work(job, context)
            finally:
                self.running -= 1

        mailbox, concurrency, detach = self.sizes[agent]
        try:
            self.hub.register(agent, work, mailbox=mailbox, concurrency=concurrency, detach=detach)
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
            case "tell":
                await context.send(job.target, Job(0, "return", job.target), timeout=0.002)
        return job.serial

    async def call(self, deed: Deed) -> None:
        """Send or request in a scope that a later deed may cancel."""
        self.serial += 1
        job = Job(self.serial, deed.job.how, deed.job.target)
        self.sent[job.serial] = deed.sender
        with CancelScope() as scope:
            self.scopes.append(scope)
            try:
                if deed.kind == "send":
                    await self.hub.send(deed.agent, job, sender=deed.sender, timeout=deed.timeout)
                else:
                    reply = await self.hub.request(
                        deed.agent, job, expect=int, sender=deed.sender, timeout=deed.timeout
                    )
                    assert reply == job.serial
            except HubError:
                pass

    async def dismiss(self, deed: Deed) -> None:
        try:
            await self.hub.unregister(deed.agent, drain=deed.kind == "unregister")
        except HubError:
            return

    async def do(self, deed: Deed, tasks: TaskGroup) -> None:
        match deed.kind:
            case "send" | "request":
                tasks.start_soon(self.call, deed)
            case "cancel" if self.scopes:
                self.scopes.pop(0).cancel()
            case "unregister" | "abandon":
                tasks.start_soon(self.dismiss, deed)
            case "register":
                self.register(deed.agent)
        await checkpoint()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    plan=st.lists(deeds, max_size=40),
    sizes=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 2), st.booleans()), min_size=3, max_size=3),
)
async def test_p1_p2_p3_p4_hold_under_any_interleaving(plan: list[Deed], sizes: list[tuple[int, int, bool]]) -> None:
    recorder = Recorder()
    world = World(Hub(observer=recorder, grace=0.003), dict(zip(AGENTS, sizes, strict=True)))
    with fail_after(20):
        async with create_task_group() as tasks, world.hub:
            for agent in AGENTS:
                world.register(agent)
            for deed in plan:
                await world.do(deed, tasks)
    assert_accounted_for(world.hub, recorder)
    assert_in_order(world)
    assert world.running == 0


def assert_accounted_for(hub: Hub, recorder: Recorder) -> None:
    """Each accepted message ended once, and the counts say the same as the events."""
    told: Counter[str] = Counter(recorder.names)
    metrics = hub.metrics()
    assert metrics.in_flight == 0
    assert told["MessageAccepted"] == metrics.accepted
    ends = (metrics.handled, metrics.failed, metrics.cancelled, metrics.dead)
    assert ends == tuple(told[f"Message{name}"] for name in ("Handled", "Failed", "Cancelled", "Dead"))
    messages = [event for event in recorder.events if isinstance(event, MessageEvent)]
    accepted = [event.message_id for event in messages if isinstance(event, MessageAccepted)]
    started = [event.message_id for event in messages if isinstance(event, MessageStarted)]
    ended = [event.message_id for event in messages if type(event).__name__ in ENDS]
    assert sorted(accepted) == sorted(ended)
    assert len(set(accepted)) == len(accepted)
    assert len(set(started)) == len(started)


def assert_in_order(world: World) -> None:
    """An agent that handles one message at a time sees those of one sender in the order sent."""
    for (sender, agent, _), serials in world.started.items():
        if sender and world.sizes[agent][1] == 1:
            assert all(earlier < later for earlier, later in pairwise(serials))
