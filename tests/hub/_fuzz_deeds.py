"""What handlers and hooks of a program do."""

import asyncio
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import trio
from anyio import (
    CancelScope,
    create_task_group,
    get_cancelled_exc_class,
    move_on_after,
    sleep,
)
from anyio.lowlevel import checkpoint
from tests.hub import _hostile_tasks as tasks
from tests.hub._agents import Ping, Pong
from tests.hub._fuzz_program import CALLS, CANCELS, LEAKS, RULES, Call, Task, Verb
from tests.hub._hostile_errors import MuteError, Odd, mixed_group

from stagepost.hub import Context, Hub, HubError, MailboxFull

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World

LINGER = 0.3
STUBBORN = 3.0
PAUSE = 0.01
BESIDE = frozenset({*CALLS, *RULES, "wait", "raise"})


_RAISED: Final = (Odd, MuteError, SystemExit, GeneratorExit, BaseExceptionGroup, HubError)
_CANCELLED: Final = (asyncio.CancelledError, trio.Cancelled)


def is_own(error: BaseException, words: Collection[str]) -> bool:
    """Whether an error is a handler's own in a program with these words."""
    if isinstance(error, _RAISED) or (
        isinstance(error, _CANCELLED) and not {*CANCELS, "fake_cancel"}.isdisjoint(words)
    ):
        return True
    leaks = not {*LEAKS, "on_start leak_scope", "on_stop leak_scope"}.isdisjoint(words)
    return leaks and isinstance(error, (RuntimeError, TimeoutError, *_CANCELLED))


@dataclass(frozen=True)
class Job:
    """What a message carries."""

    serial: int
    task: Task


@dataclass(frozen=True)
class Here:
    """Where a deed is done."""

    world: "World"
    agent: str
    job: Job
    context: Context | None

    @property
    def task(self) -> Task:
        return self.job.task

    @property
    def hub(self) -> Hub:
        return self.world.hub

    async def call(self, verb: Verb, *, by_hub: bool = False) -> None:
        """Pass on what is to be done next; a refusal is this handler's failure if it asked."""
        task = self.task
        call = Call(verb, task.target, task.next or Task(), timeout=task.timeout)
        via = self.hub if by_hub or self.context is None else self.context
        record = await self.world.call(via, call, sender=None if isinstance(via, Hub) else self.agent)
        if verb in ("request", "stream") and record.outcome != "done":
            raise Odd(record.outcome)


Deed: TypeAlias = Callable[[Here], Coroutine[Any, Any, object]]


async def perform(here: Here) -> int:
    """Do a job where it is to be done."""
    task, world = here.task, here.world
    deed = DEEDS[task.how]
    if task.where == "inline" or task.how not in BESIDE:
        await deed(here)
    elif task.where == "child":
        async with create_task_group() as group:
            group.start_soon(deed, here, name="program child")
    else:
        world.clients.start_soon(_stray, here, deed, name="program stray")
    return here.job.serial


async def _stray(here: Here, deed: Deed) -> None:
    """A task that outlives its handler; what it raises reaches nobody."""
    try:
        await deed(here)
    except (Odd, HubError):
        return


async def _wait(here: Here) -> None:
    await here.world.released.wait()


async def _swallow(here: Here) -> None:
    try:
        await _wait(here)
    except get_cancelled_exc_class():
        return


async def _linger(here: Here) -> None:
    try:
        await _wait(here)
    finally:
        with CancelScope(shield=True):
            await sleep(LINGER)


async def _bitter(here: Here) -> None:
    try:
        await _wait(here)
    except get_cancelled_exc_class():
        raise Odd("bitter") from None


async def _stubborn(here: Here) -> None:
    with CancelScope(shield=True):
        await sleep(STUBBORN)


Function: TypeAlias = Callable[[], Coroutine[Any, Any, object]]


async def _nothing() -> None:
    return


async def _on_asyncio(here: Here, function: Function, otherwise: Function = _nothing) -> None:
    """What only asyncio has, or something else on trio."""
    await (function if here.world.is_asyncio else otherwise)()


async def _make_up_cancellation() -> NoReturn:
    raise asyncio.CancelledError


def _raising(error: Callable[[], BaseException]) -> Deed:
    async def deed(here: Here) -> NoReturn:
        raise error()

    return deed


async def _forward(here: Here) -> None:
    if here.context is not None:
        record = here.world.note("forward", here.agent, here.task.target, parent=here.job.serial)
        await here.context.forward(here.task.target, Job(record.serial, here.task.next or Task()))


async def _forward_same(here: Here) -> None:
    if here.context is not None and here.task.target != here.agent:
        await here.context.forward(here.task.target)


async def _forward_twice(here: Here) -> None:
    await _forward(here)
    await _forward(here)


async def _dismiss(here: Here, *, drain: bool) -> None:
    inside = here.agent == here.task.target
    await here.world.contained(
        "unregister in a handler", lambda: here.world.dismiss(here.task.target, drain=drain, inside=inside)
    )


async def _drain(here: Here) -> None:
    await here.world.contained("drain in a handler", lambda: here.world.drain(PAUSE, inside=True))


async def _listen(here: Here) -> None:
    async with here.hub.listen("jobs.>") as stream:
        with move_on_after(PAUSE):
            await anext(stream, None)


async def _watch(here: Here) -> None:
    if here.task.target != here.agent:
        with move_on_after(PAUSE):
            await here.world.watch(here.task.target)


async def _enrol(here: Here) -> None:
    here.world.enrol(here.task.target)


async def _subscribe(here: Here) -> None:
    here.hub.subscribe(here.task.target, "jobs.a")


async def _join(here: Here) -> None:
    here.hub.subscribe(here.task.target, "jobs.a", group="g")


async def _thread(here: Here) -> None:
    here.world.call_from_thread(here.task.target)


def _planned(here: Here) -> Job:
    record = here.world.note("plan", here.agent, here.task.target, parent=here.job.serial)
    return Job(record.serial, here.task.next or Task())


async def _later(here: Here) -> None:
    if here.context is not None:
        here.world.timers.append(await here.context.send_later(here.task.target, _planned(here), after=PAUSE))


async def _every(here: Here) -> None:
    if here.context is not None:
        here.world.timers.append(await here.context.every(PAUSE, here.task.target, _planned(here), jitter=PAUSE))


def _spawning(work: Callable[[Here], Coroutine[Any, Any, object]]) -> Deed:
    async def deed(here: Here) -> None:
        if here.context is not None:
            here.context.spawn(_owned, here.world, here.agent, work, here)

    return deed


async def _owned(world: "World", agent: str, work: Callable[[Here], Coroutine[Any, Any, object]], here: Here) -> None:
    """A task that an agent owns: afterwards it must not run when its agent has left."""
    key = agent, world.generation[agent]
    world.running[key] += 1
    try:
        await work(here)
    finally:
        world.running[key] -= 1


async def _work_on(here: Here) -> None:
    await here.call("send")
    await here.world.released.wait()


async def _dismiss_itself(here: Here) -> None:
    await here.world.contained("unregister in a task", lambda: here.world.dismiss(here.agent, drain=True, inside=True))


async def _return(here: Here) -> None:
    return


DEEDS: Final[dict[str, Deed]] = {
    "return": _return,
    "yield": lambda _: checkpoint(),
    "sleep": lambda _: sleep(PAUSE),
    "wait": _wait,
    "raise": _raising(lambda: Odd("raised")),
    "exit": _raising(lambda: SystemExit(2)),
    "generator_exit": _raising(GeneratorExit),
    "fake_cancel": lambda here: _on_asyncio(here, _make_up_cancellation, tasks.raise_caught),
    "mute_error": _raising(MuteError),
    "group": _raising(lambda: ExceptionGroup("g", [Odd("one"), ExceptionGroup("h", [MuteError()])])),
    "base_group": _raising(mixed_group),
    "hub_error": _raising(lambda: MailboxFull("nobody", 1)),
    "swallow": _swallow,
    "linger": _linger,
    "bitter": _bitter,
    "stubborn": _stubborn,
    "cancel_self": lambda here: _on_asyncio(here, tasks.cancel_self),
    "cancel_self_wait": lambda here: _on_asyncio(here, tasks.cancel_self_and_wait),
    "await_cancelled": lambda here: _on_asyncio(here, tasks.await_cancelled, tasks.raise_caught),
    "failing_group": lambda _: tasks.failing_group(),
    "leak_scope": lambda _: tasks.leave_scope(),
    "leak_deadline": lambda _: tasks.leave_deadline(PAUSE)(),
    "leak_group": lambda _: tasks.leave_group(),
    "leak_timeout": lambda here: _on_asyncio(here, tasks.leave_asyncio_timeout),
    "tell": lambda here: here.call("send"),
    "ask": lambda here: here.call("request"),
    "tell_hub": lambda here: here.call("send", by_hub=True),
    "ask_hub": lambda here: here.call("request", by_hub=True),
    "publish": lambda here: here.call("publish"),
    "broadcast": lambda here: here.call("broadcast"),
    "ask_many": lambda here: here.call("request_many"),
    "read": lambda here: here.call("stream"),
    "read_hub": lambda here: here.call("stream", by_hub=True),
    "forward": _forward,
    "forward_same": _forward_same,
    "forward_twice": _forward_twice,
    "dismiss": lambda here: _dismiss(here, drain=True),
    "abandon": lambda here: _dismiss(here, drain=False),
    "drain": _drain,
    "enrol": _enrol,
    "watch": _watch,
    "subscribe": _subscribe,
    "join": _join,
    "listen": _listen,
    "thread": _thread,
    "later": _later,
    "every": _every,
    "spawn": _spawning(_work_on),
    "spawn_raise": _spawning(_raising(lambda: Odd("raised in a task"))),
    "spawn_dismiss": _spawning(_dismiss_itself),
    "spawn_drain": _spawning(_drain),
}


async def hook(here: Here, word: str) -> None:
    """What a hook does."""
    match word:
        case "ask":
            await here.hub.request("bystander", Ping(0), expect=Pong, timeout=0.1)
        case "dismiss":
            await here.world.dismiss(here.agent, drain=True, inside=True)
        case "stubborn" | "await_cancelled" | "raise" | "exit" | "sleep" | "wait" | "cancel_self" | "leak_scope":
            await DEEDS[word](here)


CANCELS_OWN: Final = frozenset({*CANCELS, *LEAKS, "fake_cancel", "base_group", "on_start leak_scope"})
