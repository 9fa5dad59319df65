"""Somebody else's code, in every place where the hub calls it: nothing comes out of it but an outcome."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, NoReturn

import anyio
import pytest
from anyio import (
    CancelScope,
    create_task_group,
    fail_after,
    get_cancelled_exc_class,
    move_on_after,
    sleep,
    sleep_forever,
)
from anyio.abc import TaskGroup
from anyio.lowlevel import checkpoint
from tests.hub._agents import Gate, Ping, Pong, echo, error_of, until

from stagepost.hub import (
    AgentNotStarted,
    Context,
    Event,
    HandlerFailed,
    Hub,
    HubError,
    HubOpened,
    Level,
    MessageFailed,
    RequestTimeout,
    Restart,
    handles,
)
from stagepost.hub.testing import VirtualClock, idle


class Textless(ValueError):
    """An error without a text."""

    def __str__(self) -> NoReturn:
        raise SystemExit

    __repr__ = __str__


def make_number() -> Any:
    return 42


class Numbered(ValueError):
    """An error whose text is none."""

    def __str__(self) -> Any:
        return make_number()

    __repr__ = __str__


HOSTILE: dict[str, Callable[[], BaseException]] = {
    "error": ZeroDivisionError,
    "exit": SystemExit,
    "generator exit": GeneratorExit,
    "stop iteration": StopIteration,
    "stop async iteration": StopAsyncIteration,
    "cancellation of asyncio": asyncio.CancelledError,
    "group": lambda: ExceptionGroup("two", [ValueError(), ZeroDivisionError()]),
    "group of exits": lambda: BaseExceptionGroup(
        "", [SystemExit(), BaseExceptionGroup("", [asyncio.CancelledError()])]
    ),
    "base exception": BaseException,
    "no text": Textless,
    "text that is none": Numbered,
}
every_error = pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE.keys())


@asynccontextmanager
async def sound(hub: Hub) -> AsyncGenerator[None, None]:
    """After the block the hub works, its account is right and it ends by itself."""
    with fail_after(5):
        async with hub:
            hub.register("sound", echo)
            yield
            assert await hub.request("sound", Ping(1)) == Pong(1)
            await idle(hub)
    metrics = hub.metrics()
    assert metrics.accepted == metrics.handled + metrics.failed + metrics.cancelled + metrics.dead


def raising(make: Callable[[], BaseException]) -> Callable[..., NoReturn]:
    def call(*_: object) -> NoReturn:
        raise make()

    return call


@every_error
@pytest.mark.parametrize("way", ["plain", "sync", "context", "middleware"])
async def test_whatever_a_handler_raises_fails_its_message_only(make: Callable[[], BaseException], way: str) -> None:
    broken = raising(make)

    async def plain(ping: Ping) -> Pong:
        return Pong(ping.number) if ping.number else broken()

    def sync(ping: Ping) -> Pong:
        return Pong(ping.number) if ping.number else broken()

    async def with_context(ping: Ping, context: Context) -> Pong:
        return await plain(ping)

    async def layer(context: Context, proceed: Callable[[], Awaitable[object]]) -> object:
        return await proceed() if context.message.data.number else broken()

    handler = {"plain": plain, "sync": sync, "context": with_context}.get(way, echo)
    hub = Hub(middleware=[layer] if way == "middleware" else [])
    async with sound(hub):
        hub.register("broken", handler)
        for _ in range(2):
            with pytest.raises(HandlerFailed) as caught:
                await hub.request("broken", Ping())
            assert str(caught.value)
            await hub.send("broken", Ping())
            assert await hub.request("broken", Ping(2)) == Pong(2)
    assert (hub.metrics().failed, hub.metrics().in_flight) == (4, 0)


class Hooked:
    """An agent whose hooks, or constructor, run what a test wants."""

    steps: dict[str, Callable[[], object]]

    def __init__(self) -> None:
        self._take("constructor")

    def on_start(self) -> object:
        return self._take("on_start")

    def on_stop(self) -> object:
        return self._take("on_stop")

    def _take(self, name: str) -> object:
        step = self.steps.get(name)
        return None if step is None else step()

    @handles
    async def work(self, ping: Ping) -> Pong:
        if ping.number < 0:
            raise ZeroDivisionError
        return Pong(ping.number)


def hooked(**steps: Callable[[], object]) -> type[Hooked]:
    return type("Hooked", (Hooked,), {"steps": steps})


@every_error
@pytest.mark.parametrize("step", ["constructor", "on_start"])
async def test_whatever_a_start_raises_takes_only_its_agent_off_the_hub(
    make: Callable[[], BaseException], step: str
) -> None:
    hub = Hub()
    async with sound(hub):
        hub.register("broken", hooked(**{step: raising(make)}))
        with pytest.raises(AgentNotStarted) as caught:
            await hub.request("broken", Ping())
        assert type(caught.value.cause) is type(make()) or isinstance(caught.value.cause, RuntimeError)
        assert "did not start" in str(caught.value)
        assert hub.agents == ("sound",)


@every_error
async def test_whatever_a_stop_raises_is_logged_and_the_agent_leaves(
    make: Callable[[], BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    hub = Hub()
    async with sound(hub):
        hub.register("broken", hooked(on_stop=raising(make)), supervision=Restart(backoff=0))
        await hub.send("broken", Ping(-1))
        assert await hub.request("broken", Ping(2)) == Pong(2)
        await hub.unregister("broken")
        hub.register("broken", echo)


class Refusing:
    """An observer that raises."""

    def __init__(self, make: Callable[[], BaseException], *, wants: bool = False) -> None:
        self._make = make
        self._wants = wants
        self.events: list[Event] = []

    def wants(self, _: Level) -> bool:
        if self._wants:
            raise self._make()
        return True

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        if not self._wants:
            raise self._make()


@every_error
@pytest.mark.parametrize("wants", [True, False], ids=["wants", "on_event"])
async def test_whatever_an_observer_raises_is_counted(make: Callable[[], BaseException], *, wants: bool) -> None:
    observer = Refusing(make, wants=wants)
    hub = Hub(observer=observer)
    async with sound(hub):
        hub.register("broken", hooked(), supervision=Restart(backoff=0))
        await hub.send("broken", Ping(-1))
        await hub.request("broken", Ping())
        await hub.unregister("broken")
    assert hub.metrics().observer_failures > 0
    assert observer.events


@every_error
async def test_whatever_a_logging_handler_raises_harms_nobody(make: Callable[[], BaseException]) -> None:
    class Broken(logging.Handler):
        def handle(self, _: logging.LogRecord) -> bool:
            raise make()

    logger, broken = logging.getLogger("stagepost"), Broken()
    logger.addHandler(broken)
    hub = Hub()
    try:
        async with sound(hub):
            hub.register("broken", hooked(on_start=raising(ValueError)), supervision=Restart(backoff=0, max=1))
            await hub.send("broken", Ping())
            hub.register("failing", hooked(on_stop=raising(ValueError)))
            await hub.send("failing", Ping(-1))
    finally:
        logger.removeHandler(broken)


@every_error
async def test_whatever_a_clock_raises_harms_nobody(make: Callable[[], BaseException]) -> None:
    class Broken(VirtualClock):
        failing = False

        def now(self) -> float:
            if self.failing:
                raise make()
            return super().now()

        async def wait_until(self, waiter: Any, moment: float, /) -> None:
            if self.failing:
                raise make()
            await super().wait_until(waiter, moment)

    clock = Broken()
    hub = Hub(clock=clock)
    async with sound(hub):
        clock.failing = True
        assert await hub.request("sound", Ping(2), timeout=1) == Pong(2)
        hub.register("gate", gate := Gate())
        errors: list[RequestTimeout] = []
        async with create_task_group() as tasks:
            tasks.start_soon(error_of, RequestTimeout, lambda: hub.request("gate", Ping(), timeout=1), errors)
            await gate.entered.wait()
            clock.failing = False
            await clock.advance(2)  # it is asked again within moments
    assert len(errors) == 1


async def open_scope(seconds: float = 0.05) -> AsyncGenerator[int, None]:
    """Generates inside a time limit; who does not exhaust it leaves the limit open."""
    with move_on_after(seconds):
        yield 1
        await sleep_forever()


class Leaver:
    """Leaves things open in the task that it runs in, and keeps them."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.cancelled = anyio.Event()

    async def scope(self) -> None:
        self.kept.append(open_scope())
        await anext(self.kept[-1])

    async def several_scopes(self) -> None:
        for _ in range(3):
            await self.scope()

    async def cancelled_scope(self) -> None:
        scope = CancelScope()
        scope.__enter__()
        self.kept.append(scope)
        scope.cancel()

    async def group(self) -> None:
        tasks = create_task_group()
        await tasks.__aenter__()
        self.kept.append(tasks)
        tasks.start_soon(self._sleep)
        await checkpoint()

    async def group_inside_a_scope_that_ends(self) -> None:
        with move_on_after(5):
            await self.group()

    async def _sleep(self) -> None:
        try:
            await sleep_forever()
        finally:
            self.cancelled.set()

    async def task(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def task_taken_back(self) -> None:
        await self.task()
        task = asyncio.current_task()
        assert task is not None
        task.uncancel()

    async def task_and_swallowed(self) -> None:
        await self.task()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)

    async def task_and_failing_group(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            await self.task()
            tasks.create_task(self._fail())

    async def task_and_raised(self) -> None:
        await self.task()
        await sleep_forever()

    @staticmethod
    async def _fail() -> None:
        raise ZeroDivisionError

    async def close(self) -> None:
        """Let go of everything, as the garbage collector does later."""
        for one in self.kept:
            with suppress(BaseException):
                await one.aclose()


@pytest.fixture
async def leaver() -> AsyncGenerator[Leaver, None]:
    leaver = Leaver()
    yield leaver
    await leaver.close()


SCOPES = ["scope", "several_scopes", "cancelled_scope", "group", "group_inside_a_scope_that_ends"]
CANCELLED = ["task", "task_taken_back", "task_and_swallowed", "task_and_failing_group", "task_and_raised"]


def mess(*names: str) -> pytest.MarkDecorator:
    cases = [pytest.param(name, backend) for name in names if name in SCOPES for backend in ("asyncio", "trio")]
    cases += [pytest.param(name, "asyncio") for name in names if name in CANCELLED]
    return pytest.mark.parametrize(("way", "anyio_backend"), cases)


@mess(*SCOPES, *CANCELLED)
@pytest.mark.parametrize("fails", [False, True], ids=["returns", "raises"])
async def test_what_a_handler_leaves_in_its_task_reaches_no_other_message(
    way: str, anyio_backend: str, leaver: Leaver, *, fails: bool
) -> None:
    async def leave(ping: Ping) -> Pong:
        if ping.number == 0:
            await getattr(leaver, way)()
            if fails:
                raise ZeroDivisionError
        else:
            await sleep(0.02)
        return Pong(ping.number)

    hub = Hub()
    async with sound(hub):
        hub.register("leaver", leave)
        await hub.send("leaver", Ping(0))
        replies = [await hub.request("leaver", Ping(number)) for number in (1, 2, 3)]
        assert replies == [Pong(1), Pong(2), Pong(3)]
        with suppress(HandlerFailed):
            await hub.request("leaver", Ping(0))
        assert await hub.request("leaver", Ping(4)) == Pong(4)
        await sleep(0.1)  # until the limits that were left would cancel whoever sits in them
        assert await hub.request("leaver", Ping(5)) == Pong(5)
        await hub.unregister("leaver")
        hub.register("leaver", echo)
        if "group" in way and way in SCOPES:
            await leaver.cancelled.wait()
    assert hub.metrics().cancelled == 0


@mess(*SCOPES, *CANCELLED)
@pytest.mark.parametrize("step", ["on_start", "on_stop"])
async def test_what_a_hook_leaves_in_its_task_harms_nobody(
    way: str, anyio_backend: str, leaver: Leaver, step: str
) -> None:
    hub = Hub()
    async with sound(hub):
        hub.register("leaver", hooked(**{step: getattr(leaver, way)}), supervision=Restart(backoff=0))
        with suppress(HubError):
            await hub.request("leaver", Ping(1))
            await hub.send("leaver", Ping(-1))
            assert await hub.request("leaver", Ping(2)) == Pong(2)
        await sleep(0.1)
        with suppress(HubError):
            assert await hub.request("leaver", Ping(3)) == Pong(3)
            await hub.unregister("leaver")
        hub.register("leaver", echo)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("step", ["on_start", "on_stop"])
async def test_a_hook_that_awaits_a_task_that_it_cancels_harms_nobody(anyio_backend: str, step: str) -> None:
    async def stop_task() -> None:
        task = asyncio.ensure_future(sleep_forever())
        await asyncio.sleep(0)
        task.cancel()
        await task

    hub = Hub()
    async with sound(hub):
        hub.register("hooked", hooked(**{step: stop_task}), supervision=Restart(backoff=0))
        with suppress(HubError):
            await hub.request("hooked", Ping(1))
            await hub.send("hooked", Ping(-1))
            await hub.request("hooked", Ping(1))
            await hub.unregister("hooked")
        await until(lambda: hub.agents == ("sound",))
        hub.register("hooked", echo)


async def test_an_escalated_failure_ends_the_hub_with_its_error_whatever_is_left_open(leaver: Leaver) -> None:
    async def leave(ping: Ping) -> None:
        await leaver.several_scopes()
        raise ZeroDivisionError

    async def own() -> None:
        async with Hub() as hub:
            hub.register("leaver", leave, supervision="escalate")
            await hub.send("leaver", Ping())
            await sleep_forever()

    with fail_after(5), pytest.raises(ZeroDivisionError):
        await own()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BaseExceptionGroup("", [ValueError(), KeyboardInterrupt()])])
@pytest.mark.parametrize("place", ["handler", "on_start", "on_stop"])
async def test_an_interrupt_from_the_keyboard_ends_the_hub(error: BaseException, place: str) -> None:
    def interrupt() -> NoReturn:
        raise error

    async def handler(ping: Ping) -> None:
        interrupt()

    async def own() -> None:
        async with Hub() as hub:
            hub.register("agent", handler if place == "handler" else hooked(**{place: interrupt}))
            await hub.send("agent", Ping())
            if place == "on_stop":
                await hub.unregister("agent")
            await sleep_forever()

    with fail_after(5), pytest.raises(type(error)):
        await own()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
async def test_a_hub_that_fails_while_its_owner_is_cancelled_says_so_and_keeps_nothing(
    error: type[BaseException],
) -> None:

    async def resent(ping: Ping) -> None:
        entered.set()
        try:
            await sleep_forever()
        except get_cancelled_exc_class():
            raise error from None

    async def own() -> None:
        async with hub:
            hub.register("resent", resent, supervision="escalate")
            await hub.send("resent", Ping())
            await entered.wait()
            scope.cancel()
            await sleep_forever()

    hub, entered = Hub(), anyio.Event()
    with fail_after(5), pytest.raises(error), CancelScope() as scope:
        await own()
    assert hub._engine is not None
    assert hub._engine.failures == []


async def test_an_interrupt_from_the_keyboard_while_the_hub_is_entered_leaves_nothing_open() -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, HubOpened):
            raise KeyboardInterrupt

    class Observer:
        on_event = staticmethod(interrupt)

    with fail_after(5), CancelScope() as scope:
        with pytest.raises(KeyboardInterrupt):
            async with Hub(observer=Observer()):
                pass
        await checkpoint()
    assert not scope.cancel_called


async def test_a_request_that_is_given_up_is_cancelled_still() -> None:
    gate = Gate()
    hub = Hub()
    async with sound(hub):
        hub.register(gate)
        async with create_task_group() as tasks:
            tasks.start_soon(hub.request, "gate", Ping())
            await gate.entered.wait()
            tasks.cancel_scope.cancel()
        await gate.cancelled.wait()
    assert hub.metrics().cancelled == 1


async def test_a_handler_that_swallows_its_cancellation_has_handled_its_message() -> None:
    entered = anyio.Event()

    async def stubborn(ping: Ping) -> None:
        if ping.number == 0:
            entered.set()
            with suppress(anyio.get_cancelled_exc_class()):
                await sleep_forever()

    hub = Hub()
    async with sound(hub):
        hub.register("stubborn", stubborn)
        async with create_task_group() as tasks:
            tasks.start_soon(hub.request, "stubborn", Ping(0))
            await entered.wait()
            tasks.cancel_scope.cancel()
        await hub.request("stubborn", Ping(1))
    assert (hub.metrics().handled, hub.metrics().late_replies) == (3, 1)


def test_the_coroutines_of_a_hub_that_was_abandoned_can_be_closed() -> None:
    gate, hook = Gate(), Gate()

    async def enter() -> None:
        await hub.__aenter__()
        hub.register(gate)
        hub.register("hooked", hooked(on_start=lambda: hook.pass_through(Ping())))
        await hub.send("gate", Ping())
        await hub.send("hooked", Ping())
        await gate.entered.wait()
        await hook.entered.wait()

    hub = Hub()
    loop = asyncio.new_event_loop()
    loop.run_until_complete(enter())
    coroutines = [task.get_coro() for task in asyncio.all_tasks(loop)]
    loop.close()
    assert len(coroutines) == 2
    for coroutine in coroutines:  # as the garbage collector does it
        assert isinstance(coroutine, Coroutine)
        with suppress(RuntimeError):  # anyio cannot leave its scopes without a loop
            coroutine.close()
    assert gate.cancelled.is_set()
    assert hook.cancelled.is_set()


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_an_interrupt_in_a_task_of_the_hub_ends_it(anyio_backend: str) -> None:
    class Broken(VirtualClock):
        async def wait_until(self, _waiter: Any, _moment: float, /) -> None:
            raise KeyboardInterrupt

    async def own() -> None:
        async with Hub(clock=Broken()) as hub:
            hub.register(Gate())
            await hub.request("gate", Ping(), timeout=1)

    with fail_after(5), pytest.raises(KeyboardInterrupt):
        await own()


@pytest.mark.parametrize("place", ["observer", "log"])
def test_p2_a_requester_is_answered_also_if_an_interrupt_comes_while_the_failure_is_told(place: str) -> None:
    class Interrupting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> NoReturn:
            raise KeyboardInterrupt(record)

        def on_event(self, event: Event) -> None:
            if isinstance(event, MessageFailed):
                raise KeyboardInterrupt

    async def bad(ping: Ping) -> None:
        raise ZeroDivisionError

    errors: list[BaseException] = []

    async def ask(hub: Hub) -> None:
        try:
            await hub.request("bad", Ping(), timeout=None)
        except HandlerFailed as error:
            errors.append(error)

    async def own(tasks: TaskGroup) -> None:
        async with Hub(observer=interrupting if place == "observer" else None) as hub:
            hub.register("bad", bad)
            tasks.start_soon(ask, hub)
            await sleep_forever()

    async def main() -> None:
        with fail_after(5):
            async with create_task_group() as tasks:  # outside of the hub, whose end cancels nobody here
                with pytest.raises(KeyboardInterrupt):
                    await own(tasks)
        assert len(errors) == 1

    interrupting, log = Interrupting(), logging.getLogger("stagepost.hub")
    if place == "log":
        log.addHandler(interrupting)
    try:
        anyio.run(main, backend="trio")  # asyncio leaves its loop for an interrupt in a task, and cancels everybody
    finally:
        log.removeHandler(interrupting)
