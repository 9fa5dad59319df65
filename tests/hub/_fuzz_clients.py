"""Those who use the hub of a program from outside: clients, its owner, and one who only watches."""

import asyncio

from anyio import CancelScope, current_time, get_cancelled_exc_class, sleep
from anyio.lowlevel import checkpoint
from tests.hub._agents import Ping, Pong, echo
from tests.hub._fuzz_listening import Reader
from tests.hub._fuzz_program import AGENTS, Call, Deed, Listen
from tests.hub._fuzz_world import PROMPT, World

from stagepost.hub import HubStopped

CLOSELY = 0.3


class _Client:
    """Somebody outside of any handler, who may give up."""

    def __init__(self, world: World, call: Call) -> None:
        self._world = world
        self._call = call
        self._scope = CancelScope()
        self._is_over = self._was_cancelled = False

    async def run(self) -> None:
        """Call, and see that nobody else cancels it."""
        world, call = self._world, self._call
        with self._scope:
            world.scopes.append(self._scope)
            if call.give_up is not None:
                task = asyncio.current_task() if call.natively and world.is_asyncio else None
                world.clients.start_soon(self._give_up, call.give_up, task, name="program giving up")
            try:
                await world.call(world.hub, call, sender=call.sender)
            except get_cancelled_exc_class():
                if not self._was_cancelled:
                    self._check_cause()
                    raise
                _forgive()
            finally:
                self._is_over = True

    def _check_cause(self) -> None:
        if not self._scope.cancel_called and not self._world.clients.cancel_scope.cancel_called:
            self._world.surprise("a client was cancelled by somebody else")

    async def _give_up(self, turns: int, task: "asyncio.Task[object] | None") -> None:
        for _ in range(turns):
            await checkpoint()
        if task is None:
            self._scope.cancel()
        elif not self._is_over:
            self._was_cancelled = task.cancel()


def _forgive() -> None:
    """Take back a cancellation of the running task, as asyncio wants it."""
    task = asyncio.current_task()
    assert task is not None
    task.uncancel()


async def do(world: World, step: Call | Deed | Listen) -> None:
    """Do what comes next."""
    if isinstance(step, Call):
        world.clients.start_soon(_Client(world, step).run, name="program client")
    elif isinstance(step, Listen):
        reader = Reader(step)
        world.readers.append(reader)
        world.clients.start_soon(reader.run, world, name="program reader")
    elif step.beside or step.kind == "watch":
        world.clients.start_soon(world.contained, step.kind, lambda: _deed(world, step), name=f"program {step.kind}")
    else:
        await world.contained(step.kind, lambda: _deed(world, step))
    await checkpoint()


async def _deed(world: World, deed: Deed) -> None:
    """What the owner does that may wait."""
    match deed.kind:
        case "pause":
            await sleep(deed.timeout)
        case "dismiss" | "abandon":
            await world.dismiss(deed.agent, drain=deed.kind == "dismiss")
        case "drain":
            await world.drain(deed.timeout)
        case "far_drain":
            await world.far.hub.drain(deed.timeout)
        case "watch":
            await world.watch(deed.agent)
        case "later" | "every":
            await world.plan(deed.agent, often=deed.kind == "every")
        case _:
            _deed_at_once(world, deed)


def _deed_at_once(world: World, deed: Deed) -> None:
    match deed.kind:
        case "enrol":
            world.enrol(deed.agent)
        case "subscribe":
            world.hub.subscribe(deed.agent, "jobs.b")
        case "join":
            world.hub.subscribe(deed.agent, "jobs.b", group="g")
        case "unsubscribe":
            world.hub.unsubscribe(deed.agent, "jobs.b")
        case "stop_timers":
            for timer in world.timers:
                timer.cancel()
        case "describe":
            world.hub.describe().mermaid()
        case "cancel" if world.scopes:
            world.scopes.pop(len(world.scopes) // 2).cancel()
        case "thread":
            world.call_from_thread(deed.agent)


async def _watch(world: World) -> None:
    """Ask an agent that nobody else talks to, again and again."""
    number, since = 0, current_time()
    while not world.stopping:
        number, begun = number + 1, current_time()
        try:
            reply = await world.hub.request("bystander", Ping(number), expect=Pong, timeout=5)
        except HubStopped:
            if not world.may_stop:
                world.surprise("the hub has stopped by itself")
            return
        except get_cancelled_exc_class():
            if not world.clients.cancel_scope.cancel_called:
                world.surprise("the bystander's client was cancelled by somebody else")
            raise
        except BaseException as error:  # noqa: BLE001 - that is the question
            world.surprise("the bystander failed", error)
            return
        if reply != Pong(number) or current_time() - begun > PROMPT:
            world.surprise(f"the bystander answered {reply} to {number} after {current_time() - begun} s")
        await sleep(0.002 if begun - since < CLOSELY else 0.7)


def begin(world: World) -> None:
    """Register all, and begin to watch."""
    for agent in AGENTS:
        world.enrol(agent)
    world.hub.register("bystander", echo)
    if world.program.bridged:
        world.far.join()
    world.clients.start_soon(_watch, world, name="program bystander")
