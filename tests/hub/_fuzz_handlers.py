"""The agents of a program, in all forms that an agent may have."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anyio import get_cancelled_exc_class
from tests.hub._fuzz_deeds import Here, Job, hook, perform
from tests.hub._fuzz_program import Kind, Task
from tests.hub._hostile_errors import Odd

from stagepost.hub import Context, Message, handles

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World


class Post:
    """What is noted about all handlings of one registration."""

    def __init__(self, world: "World", agent: str, generation: int) -> None:
        self.world = world
        self.agent = agent
        self.generation = generation

    async def handle(self, job: Job, context: Context | None) -> int:
        """Handle a message."""
        with self._noted(job):
            return await perform(Here(self.world, self.agent, job, context))

    def handle_now(self, job: Job) -> object:
        """Handle a message in a function that is not async; what has to wait is returned to be awaited."""
        if job.task.how == "return":
            with self._noted(job):
                return job.serial
        if job.task.how == "raise":
            with self._noted(job):
                raise Odd("raised")
        return self.handle(job, None)

    @contextmanager
    def _noted(self, job: Job) -> Iterator[None]:
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


def implementation(world: "World", agent: str, generation: int, kind: Kind) -> object:
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

    forms: dict[str, object] = {"plain": work_plainly, "message": work_on, "sync": work_now, "hooks": Hooked}
    if kind.form == "object":
        return Worker()
    return forms.get(kind.form, Worker if kind.form in ("class", "factory") else work)
