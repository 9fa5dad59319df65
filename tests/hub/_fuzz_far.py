"""A second hub, which a bridge joins to the hub of a program, and an agent there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from anyio import sleep
from tests.hub._agents import Recorder
from tests.hub._fuzz_deeds import PAUSE, Job
from tests.hub._fuzz_program import CALLS, FAR, Task
from tests.hub._hostile_errors import Odd

from stagepost.hub import Bridge, Context, Hub, Message, MessageType

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World

GRACE = 0.05


class Far:
    """The other hub. Its agent hears all publications, answers requests, and asks back."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.recorder = Recorder()
        self.hub = Hub("far", observer=self.recorder, grace=GRACE, dead_letters=0)
        self.heard: list[int] = []

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        """Be there for the length of a block."""
        async with self.hub:
            yield

    def join(self) -> None:
        """Join it to the program's hub: its agent is known there, and the agent `a` of that one here."""
        self.hub.register(FAR, self.answer, topics="jobs.>", mailbox=3, concurrency=2)
        Bridge(self.world.hub, self.hub, topics="jobs.>", map=[f"{FAR}@far", f"a@{self.world.hub.name}"], mailbox=2)

    async def answer(self, message: Message[Job], context: Context) -> int:
        """Handle what has come over the bridge."""
        job, world = message.data, self.world
        if message.topic is not None:
            self.heard.append(job.serial)
        elif job.task.how == "wait":
            await world.released.wait()
        elif job.task.how == "sleep":
            await sleep(PAUSE)
        elif job.task.how == "raise":
            raise Odd("raised far away")
        elif job.task.how in CALLS and message.type is MessageType.REQUEST:
            record = world.note("request", None, "a", parent=job.serial)
            await context.request("a", Job(record.serial, job.task.next or Task()), timeout=None)
        return job.serial
