"""The hub on which a hostile callable plays, and what everybody else may expect meanwhile."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType

from anyio import current_time, fail_after, get_cancelled_exc_class, get_running_tasks, sleep
from tests.hub._agents import Ping, Pong, Recorder, echo
from tests.hub._fuzz_laws import accounted_for, nothing_open
from tests.hub._fuzz_time import collect_loop_errors
from tests.hub._hostile_tricks import Trick

from stagepost.hub import Hub, HubError, Queued

PROMPT = 0.2
GRACE = 0.05
LAST_WORDS = 12.0
MADE_UP = {"asyncio.CancelledError made up", "caught cancellation"}


@dataclass
class Stage:
    """One trick at one place."""

    trick: Trick
    recorder: Recorder = field(default_factory=Recorder)
    hub: Hub = field(default_factory=Hub)
    queued: Queued | None = None

    async def attempt(self, call: Callable[[], Awaitable[object]]) -> str:
        """What a call comes to: "reply", the name of the hub's error, or "own" for an error of somebody else's."""
        try:
            await call()
        except HubError as error:
            return type(error).__name__
        except KeyboardInterrupt:
            raise
        except get_cancelled_exc_class():
            if self.trick.id not in MADE_UP:
                raise
            return "own"
        except BaseException:  # noqa: BLE001 - that is the question
            return "own"
        return "reply"

    async def ask(self, agent: str = "victim", number: int = 0, *, timeout: float = 0.1) -> str:
        """Request, and tell what it came to."""
        return await self.attempt(lambda: self.hub.request(agent, Ping(number), timeout=timeout))

    async def read(self, agent: str = "victim", number: int = 0, *, timeout: float = 0.1) -> str:
        """Read a stream to its end, and tell what it came to."""

        async def read_all() -> None:
            async for _ in self.hub.stream(agent, Ping(number), timeout=timeout):
                pass

        return await self.attempt(read_all)

    async def others_are_well(self) -> None:
        """An agent that has nothing to do with it answers at once."""
        begun = current_time()
        assert await self.hub.request("bystander", Ping(7), expect=Pong, timeout=5) == Pong(7)
        assert current_time() - begun < PROMPT

    async def is_dismissed(self, agent: str = "victim", *, drain: bool = True) -> None:
        """An agent can be taken off the hub if it is there, and its id be taken by another one, who answers."""
        if agent in self.hub.agents:
            with fail_after(LAST_WORDS):
                await self.hub.unregister(agent, drain=drain)
        assert agent not in self.hub.agents
        self.hub.register(agent, echo)
        assert await self.hub.request(agent, Ping(3), expect=Pong, timeout=5) == Pong(3)

    def is_told(self, outcome: str) -> None:
        """The requester heard what the handler did."""
        expected = {
            "raises": {"HandlerFailed"},
            "returns": {"reply"},
            "either": {"reply", "HandlerFailed"},
            "hangs": {"RequestTimeout"},
        }
        assert outcome in expected[self.trick.result]

    def now(self) -> object:
        """Play the trick as a plain function."""
        assert self.trick.now is not None
        return self.trick.now()

    async def later(self) -> object:
        """Play the trick as an async function."""
        assert self.trick.later is not None
        return await self.trick.later()


def account_of(error: BaseException, depth: int = 3) -> str:
    """What an error says and where it comes from, without trusting it: only its true class is looked at."""
    kind, lines = type(error), list[str]()
    trace: TracebackType | None = BaseException.__getattribute__(error, "__traceback__")
    while trace is not None:
        code = trace.tb_frame.f_code
        if "/stagepost/" in code.co_filename or "/tests/" in code.co_filename:
            lines.append(f"{code.co_filename.rpartition('/')[2]}:{trace.tb_lineno} {code.co_qualname}")
        trace = trace.tb_next
    if issubclass(kind, BaseExceptionGroup) and depth:
        parts: tuple[BaseException, ...] = BaseException.__getattribute__(error, "exceptions")
        inner = "; ".join(account_of(part, depth - 1) for part in parts[:2])
    else:
        inner = _text(error)
    return f"{type.__getattribute__(kind, '__name__')}: {inner[:1000]} ({' > '.join(lines[-4:])})"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except BaseException:  # noqa: BLE001 - some of them are meant to
        return "?"


Play = Callable[[Stage], Awaitable[None]]


async def perform(stage: Stage, play: Play) -> None:
    """Let a trick be played on a hub, which goes on and ends as usual, and leaves no task."""
    before, loop_errors = running_tasks(), collect_loop_errors()
    with fail_after(1000):
        async with stage.hub as hub:
            hub.register("bystander", echo)
            await stage.others_are_well()
            await play(stage)
            await stage.others_are_well()
            await sleep(1)  # what a trick has left open comes due
            await stage.others_are_well()
        assert not running_tasks() - before
        await sleep(1)
    assert not loop_errors
    nothing_open(hub)
    if stage.recorder.events:
        accounted_for(hub, stage.recorder)


def running_tasks() -> set[str]:
    """The names of all tasks."""
    return {task.name or "?" for task in get_running_tasks()}
