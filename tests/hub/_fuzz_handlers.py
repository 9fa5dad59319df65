"""The agents of a program, in all forms that an agent may have."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio import get_cancelled_exc_class
from tests.hub._fuzz_deeds import Here, Job, hook, perform
from tests.hub._fuzz_program import Kind, Task
from tests.hub._hostile_errors import Odd

from stagepost.hub import Context, Message, handles

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World


PARTS = 3


class Post:
    """What is noted about all handlings of one registration."""

    def __init__(self, world: "World", agent: str, generation: int) -> None:
        self.world = world
        self.agent = agent
        self.generation = generation

    async def handle(self, job: Job, context: Context | None) -> int:
        """Handle a message."""
        with self.noted(job):
            return await perform(Here(self.world, self.agent, job, context))

    async def stream(self, job: Job, context: Context) -> AsyncIterator[int]:
        """Handle a message by streaming, with what is done between the parts."""
        with self.noted(job):
            yield job.serial
            await perform(Here(self.world, self.agent, job, context))
            for _ in range(PARTS):
                yield job.serial

    def stream_now(self, job: Job) -> Iterator[int]:
        """Stream without ever waiting."""
        with self.noted(job):
            for _ in range(PARTS):
                yield job.serial
            if job.task.how == "raise":
                raise Odd("raised")

    def handle_now(self, job: Job) -> object:
        """Handle a message in a function that is not async; what has to wait is returned to be awaited."""
        if job.task.how == "return":
            with self.noted(job):
                return job.serial
        if job.task.how == "raise":
            with self.noted(job):
                raise Odd("raised")
        return self.handle(job, None)

    @contextmanager
    def noted(self, job: Job) -> Iterator[None]:
        """Note what becomes of a handling."""
        world = self.world
        world.starts.append((self.agent, job.serial))
        world.running[self.agent, self.generation] += 1
        try:
            yield
        except get_cancelled_exc_class():
            world.cancelled.append((self.agent, job.serial, world.may_stop or self.agent in world.leaving))
            raise
        finally:
            world.running[self.agent, self.generation] -= 1

    def make(self, kind: Kind) -> None:
        """Make an instance; a factory fails now and then."""
        made = self.world.made
        made[self.agent] += 1
        if kind.form == "factory" and (kind.on_start == "raise" or made[self.agent] % 3 == 2):
            raise Odd("not made")

    async def hook(self, word: str) -> None:
        """Run a hook."""
        await hook(Here(self.world, self.agent, Job(0, Task()), None), word)


def implementation(world: "World", agent: str, generation: int, kind: Kind) -> object:  # noqa: C901 - a function for each form
    """What to register."""
    post = Post(world, agent, generation)

    class Worker:
        def __init__(self) -> None:
            post.make(kind)

        @handles
        async def work(self, job: Job, context: Context) -> int:
            return await post.handle(job, context)

    class Hooked(Worker):
        async def on_start(self) -> None:
            await post.hook(kind.on_start)

        async def on_stop(self) -> None:
            await post.hook(kind.on_stop)

    async def work(job: Job, context: Context) -> int:
        return await post.handle(job, context)

    async def work_plainly(job: Job) -> int:
        return await post.handle(job, None)

    async def work_on(message: Message[Job], context: Context) -> int:
        return await post.handle(message.data, context)

    def work_now(job: Job) -> object:
        return post.handle_now(job)

    class Streaming(Worker):
        @handles
        async def work(self, job: Job, context: Context) -> AsyncIterator[int]:  # type: ignore[override]
            with post.noted(job):
                yield job.serial
                await perform(Here(world, agent, job, context))
                yield job.serial

    forms: dict[str, object] = {
        "plain": work_plainly,
        "message": work_on,
        "sync": work_now,
        "hooks": Hooked,
        "stream": post.stream,
        "stream_class": Streaming,
        "stream_sync": post.stream_now,
    }
    if kind.form == "object":
        return Worker()
    return forms.get(kind.form, Worker if kind.form in ("class", "factory") else work)
