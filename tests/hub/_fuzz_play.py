"""Running a program, and holding what happened against the promises."""

import gc
import sys
import traceback
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from anyio import (
    CancelScope,
    create_task_group,
    current_time,
    fail_after,
    get_cancelled_exc_class,
    get_running_tasks,
    sleep,
)
from tests.hub import _fuzz_laws as laws
from tests.hub._fuzz_clients import begin, do
from tests.hub._fuzz_deeds import LINGER, STUBBORN, Job, is_own
from tests.hub._fuzz_far import GRACE
from tests.hub._fuzz_logs import logs_to_nowhere
from tests.hub._fuzz_program import AGENTS, LEAKS, Call, Program, Task, Verb
from tests.hub._fuzz_time import collect_loop_errors, run
from tests.hub._fuzz_world import PROMPT, World
from tests.hub._hostile_tasks import kept

from stagepost.hub import Hub

_LONG = 10_000.0
_HOOK = 6.0
_AFTER_CANCELLATION = 1.5


class Bye(Exception):
    """The owner's own error."""


def check(program: Program, backend: str) -> None:
    """Run a program and check what is promised, whatever the program."""
    ignored: list[str] = []
    with _unraisable(ignored):
        payloads, hubs = list[weakref.ref[Job]](), list[Hub]()  # the hub lives on and must not keep any
        failure = _failure_of(program, backend, payloads, hubs)
        _collect_garbage()
    if failure is not None:
        raise failure
    laws.nothing_kept(payloads)
    assert not ignored, f"errors that nobody could catch: {ignored}"


def _failure_of(
    program: Program, backend: str, payloads: "list[weakref.ref[Job]]", hubs: list[Hub]
) -> AssertionError | None:
    """What a program has shown, without its traceback, which would keep all that the program has made."""
    try:
        with logs_to_nowhere():
            world = run(backend, _play, program)
        payloads.extend(world.payloads)
        hubs.append(world.hub)
        for law in laws.LAWS:
            law(world)
    except AssertionError as error:
        trace = traceback.extract_tb(error.__traceback__)[-1]
        told = str(error) or f"{trace.name}, line {trace.lineno}: {trace.line}"
    except BaseException as error:
        if type(error) is KeyboardInterrupt:
            raise
        told = f"the program has ended by {type(error).__name__}"  # as `SystemExit` does on asyncio
    else:
        return None
    return laws.kind_of(told.partition(":")[0])(told)


@contextmanager
def _unraisable(into: list[str]) -> Iterator[None]:
    """Note errors of destructors and the like, which no code can catch."""
    previous, sys.unraisablehook = sys.unraisablehook, lambda args: into.append(f"{args.exc_type} {args.err_msg}")
    try:
        yield
    finally:
        sys.unraisablehook = previous


def _collect_garbage() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # of trio, about generators that a handler has left open
        kept.clear()
        gc.collect()


async def _play(program: Program) -> World:
    loop_errors = collect_loop_errors()
    with fail_after(_LONG):
        async with create_task_group() as clients:
            world = World(program, clients)
            before = _strangers()
            try:
                await _own(world)
            except get_cancelled_exc_class():
                world.surprise("the owner was cancelled by somebody else")
                raise
            if left := _strangers() - before:
                world.surprise(f"tasks are left: {sorted(left)}")
            world.released.set()
            await sleep(_HOOK + STUBBORN)
            clients.cancel_scope.cancel()
    if world.open_calls:
        world.surprise(f"{world.open_calls} calls have not ended")
    for error in loop_errors:
        world.surprise(f"the loop saw an error: {error}")
    world.clients = None  # type: ignore[assignment]  # its frames would keep payloads
    return world


def _strangers() -> set[str]:
    """The tasks that are not the program's."""
    return {task.name or "?" for task in get_running_tasks() if not (task.name or "").startswith("program")}


async def _own(world: World) -> None:
    """Enter the hub, do what is planned, and leave it; it ends in time and as it should."""
    program = world.program
    leaving_since: list[float] = []
    error: BaseException | None = None
    with CancelScope() as owner:
        try:
            async with world.far.open() if program.bridged else nullcontext(), world.hub:
                try:
                    await _body(world, owner)
                finally:
                    world.stopping = True
                    leaving_since.append(current_time())
        except get_cancelled_exc_class():
            if not owner.cancel_called:
                world.surprise("the owner's block was cancelled by somebody else")
            raise
        except BaseException as caught:  # noqa: BLE001 - that is the question
            error = caught
    if error is not None and not _may_end_by(world, error):
        world.surprise("the hub has ended by", error)
    allowed = PROMPT + _resistance(program) + (program.grace if program.ending in ("roll call", "at once") else 0)
    allowed += GRACE if program.bridged else 0
    took = current_time() - leaving_since[0]
    if took > allowed:
        world.surprise(f"leaving took {took:.3f} s, {allowed:.3f} s are allowed")


async def _body(world: World, owner: CancelScope) -> None:
    begin(world)
    for step in world.program.plan:
        await do(world, step)
    match world.program.ending:
        case "roll call":
            await _call_the_roll(world)
        case "error":
            raise Bye
        case "cancelled":
            world.stopping = True  # its workers may hear of it before its owner does
            owner.cancel()
            await sleep(1)


def _may_end_by(world: World, error: BaseException) -> bool:
    if isinstance(error, Bye):
        return world.program.ending == "error"
    return "escalate" in world.program.words and is_own(error, world.program.words)


def _resistance(program: Program) -> float:
    """How long the handlers and hooks of a program may resist their cancellation, at worst one after the other."""
    words = program.words
    seconds = LINGER * ("linger" in words) + STUBBORN * ("stubborn" in words)
    seconds += sum(
        _HOOK for kind in program.crew if kind.form == "hooks" and kind.on_stop not in ("ok", "raise", "exit")
    )
    seconds += STUBBORN * ("on_start stubborn" in words)
    return seconds + _AFTER_CANCELLATION if seconds else 0.0


async def _call_the_roll(world: World) -> None:
    """Once all that waits goes on, each agent answers, each listener listens, and each id that is free can be taken."""
    if world.stopping:
        return
    world.released.set()
    await sleep(_HOOK * 3)
    with fail_after(1000):
        while world.open_calls or world.dismissing:  # noqa: ASYNC110 - in virtual time it is as good
            await sleep(1)
    if world.stopping:
        return
    for agent in AGENTS:
        if agent in world.hub.agents:
            await _expect_answer(world, agent)
    await _expect_readers(world)
    for _ in range(2):  # what timers send keeps agents at work, and may plan more timers
        for timer in world.timers:
            timer.cancel()
        await sleep(_HOOK)  # also for an instance that was made for the key of that publication, and starts slowly
    _expect_quiet(world)
    for agent in AGENTS:
        if agent not in world.hub.agents and not world.stopping:
            world.enrol(agent, must=True)


async def _expect_answer(world: World, agent: str) -> None:
    begun = current_time()
    kind = world.program.kind_of(agent)
    verb: Verb = "stream" if kind.form.startswith("stream") else "request"
    record = await world.call(world.hub, Call(verb, agent, Task(), timeout=100), sender="x")
    unwell = (
        kind.form in ("hooks", "factory")
        or record.outcome == "InstancesFull"
        or kind.supervision == "stop"
        or not world.program.words.isdisjoint(LEAKS)
    )
    is_refused = record.outcome not in ("RequestTimeout", "internal error")
    if record.outcome == "done" or (is_refused and (unwell or world.stopping)):
        return
    world.surprise(f"{agent} did not answer but {record.outcome} after {current_time() - begun:.3f} s")


async def _expect_readers(world: World) -> None:
    """Whoever still listens gets the next publication at once, whatever polls it has given up."""
    readers = [reader for reader in world.readers if reader.is_open]
    if not readers or world.stopping:
        return
    record = await world.call(world.hub, Call("publish", "a", Task(), timeout=0), sender="y")
    await sleep(PROMPT)
    for reader in readers:
        delivered = record.delivery is not None and reader.id in record.delivery.delivered
        if delivered and reader.plan.stays and record.serial not in reader.got:
            world.surprise("a listener was not woken by a message")


def _expect_quiet(world: World) -> None:
    metrics = world.hub.metrics()
    busy = [agent for (agent, _), number in world.running.items() if number]
    if metrics.in_flight or metrics.blocked or metrics.waiting or metrics.depth or busy:
        world.surprise(
            f"all have ended, but {metrics.in_flight} are in flight, {metrics.blocked} blocked, "
            f"{metrics.depth} queued, {metrics.waiting} wait, {busy} run"
        )
