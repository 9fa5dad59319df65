"""What handlers and hooks of a program do."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeAlias

import trio
from anyio import (
    CancelScope,
    create_task_group,
    fail_after,
    get_cancelled_exc_class,
    move_on_after,
    sleep,
    sleep_forever,
)
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, Pong
from tests.hub._fuzz_program import CALLS, CANCELS, LEAKS, RULES, Call, Task, Verb

from stagepost.hub import Context, Hub, HubError, MailboxFull

if TYPE_CHECKING:
    from tests.hub._fuzz_world import World

LINGER = 0.3
STUBBORN = 3.0
PAUSE = 0.01
BESIDE = frozenset({*CALLS, *RULES, "wait", "raise"})


class Oops(Exception):
    """A handler's own error."""


class Mute(Exception):
    """An error that cannot be printed."""

    def __str__(self) -> str:
        raise Oops("no text")

    __repr__ = __str__


_RAISED: Final = (Oops, Mute, SystemExit, GeneratorExit, BaseExceptionGroup, HubError)
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
        if verb == "request" and record.outcome != "done":
            raise Oops(record.outcome)


Deed: TypeAlias = Callable[[Here], Coroutine[Any, Any, object]]


async def perform(here: Here) -> int:
    """Do a job where it is to be done."""
    task, world = here.task, here.world
    deed = DEEDS[task.how]
    if task.where == "inline" or task.how not in BESIDE:
        await deed(here)
    elif task.where == "child":
        async with create_task_group() as tasks:
            tasks.start_soon(deed, here, name="program child")
    else:
        world.clients.start_soon(_stray, here, deed, name="program stray")
    return here.job.serial


async def _stray(here: Here, deed: Deed) -> None:
    """A task that outlives its handler; what it raises reaches nobody."""
    try:
        await deed(here)
    except (Oops, HubError):
        return


async def _caught_cancellation() -> BaseException:
    """A cancellation as the loop makes them, out of the scope that it belongs to."""
    with CancelScope() as scope:
        scope.cancel()
        try:
            await checkpoint()
        except get_cancelled_exc_class() as error:
            return error
    raise AssertionError


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
        raise Oops("bitter") from None


async def _stubborn(here: Here) -> None:
    with CancelScope(shield=True):
        await sleep(STUBBORN)


async def _fake_cancel(here: Here) -> NoReturn:
    raise asyncio.CancelledError if here.world.is_asyncio else await _caught_cancellation()


async def _base_group(here: Here) -> NoReturn:
    raise BaseExceptionGroup("all", [Oops("one"), await _caught_cancellation(), SystemExit(3)])


def _raising(error: Callable[[], BaseException]) -> Deed:
    async def deed(here: Here) -> NoReturn:
        raise error()

    return deed


async def _cancel_self(here: Here) -> None:
    if (task := _asyncio_task(here)) is not None:
        task.cancel()


async def _cancel_self_wait(here: Here) -> None:
    await _cancel_self(here)
    await checkpoint()


def _asyncio_task(here: Here) -> "asyncio.Task[object] | None":
    return asyncio.current_task() if here.world.is_asyncio else None


async def await_cancelled(here: Here) -> None:
    """Await a task that was cancelled, as the textbook ends a background task."""
    if here.world.is_asyncio:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.set_name("program task")
        task.cancel()
        await task
    raise await _caught_cancellation()


async def _failing_group(here: Here) -> None:
    async with create_task_group() as tasks:
        tasks.start_soon(_raising(lambda: Oops("child")), here, name="program child")
        await sleep_forever()


async def leak_scope(here: Here) -> None:
    """Enter a scope and never leave it."""
    scope = CancelScope()
    scope.__enter__()
    here.world.kept.append(scope)


async def _leak_deadline(here: Here) -> None:
    async def numbers() -> AsyncIterator[int]:
        with fail_after(PAUSE):
            yield 1
            yield 2

    stream = numbers()
    here.world.kept.append(stream)
    await anext(stream)


async def _leak_group(here: Here) -> None:
    here.world.kept.append(await create_task_group().__aenter__())


async def _leak_timeout(here: Here) -> None:
    if here.world.is_asyncio:
        here.world.kept.append(await asyncio.timeout(PAUSE).__aenter__())


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


async def _enrol(here: Here) -> None:
    here.world.enrol(here.task.target)


async def _subscribe(here: Here) -> None:
    here.hub.subscribe(here.task.target, "jobs.a")


async def _thread(here: Here) -> None:
    here.world.call_from_thread(here.task.target)


async def _return(here: Here) -> None:
    return


DEEDS: Final[dict[str, Deed]] = {
    "return": _return,
    "yield": lambda here: checkpoint(),
    "sleep": lambda here: sleep(PAUSE),
    "wait": _wait,
    "raise": _raising(lambda: Oops("raised")),
    "exit": _raising(lambda: SystemExit(2)),
    "generator_exit": _raising(GeneratorExit),
    "fake_cancel": _fake_cancel,
    "mute_error": _raising(Mute),
    "group": _raising(lambda: ExceptionGroup("g", [Oops("one"), ExceptionGroup("h", [Mute()])])),
    "base_group": _base_group,
    "hub_error": _raising(lambda: MailboxFull("nobody", 1)),
    "swallow": _swallow,
    "linger": _linger,
    "bitter": _bitter,
    "stubborn": _stubborn,
    "cancel_self": _cancel_self,
    "cancel_self_wait": _cancel_self_wait,
    "await_cancelled": await_cancelled,
    "failing_group": _failing_group,
    "leak_scope": leak_scope,
    "leak_deadline": _leak_deadline,
    "leak_group": _leak_group,
    "leak_timeout": _leak_timeout,
    "tell": lambda here: here.call("send"),
    "ask": lambda here: here.call("request"),
    "tell_hub": lambda here: here.call("send", by_hub=True),
    "ask_hub": lambda here: here.call("request", by_hub=True),
    "publish": lambda here: here.call("publish"),
    "broadcast": lambda here: here.call("broadcast"),
    "forward": _forward,
    "forward_same": _forward_same,
    "forward_twice": _forward_twice,
    "dismiss": lambda here: _dismiss(here, drain=True),
    "abandon": lambda here: _dismiss(here, drain=False),
    "drain": _drain,
    "enrol": _enrol,
    "subscribe": _subscribe,
    "listen": _listen,
    "thread": _thread,
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
