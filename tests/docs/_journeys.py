"""Which modules of stagepost a message, a commit, an answer and the like pass, found by tracing them."""

import dis
import sys
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final, NamedTuple

import anyio
import httpx

import stagepost.workflows
from stagepost.agents import Agent, Allow, ScriptedModel, Tasks, ToolCall, call, tool
from stagepost.checkpoint import RunStatus, SqliteStore
from stagepost.hub import Hub
from stagepost.service import Key, Scope, create_app
from stagepost.workflows import Chain, Runner, StepContext, Wait, step

_MARK: Final = "/stagepost/"
_PACKAGES: Final = str(Path(stagepost.workflows.__file__).parents[3])
LAYERS: Final = ("hub", "checkpoint", "workflows", "agents", "service")
BY_CHANCE: Final = {
    "checkpoint/_sqlite/_lock",
    "checkpoint/_sqlite/_together",
    "hub/_guards",
    "workflows/_runner/_retention",
}
"""Entered or not by how fast a machine is: where batches follow each other closely, commits come at once, and such."""
_TIMES: Final = 3
_MOST_TIMES: Final = 12  # on a machine with much to do, chance may be there three times in a row
_SUSPENDS: Final = 0x20 | 0x80 | 0x200  # flags of the code of generators, coroutines and asynchronous generators


class Passed(NamedTuple):
    """The modules that a journey passes, traced several times.

    What another process, a timer or a heartbeat happens to cause is in some of them only.

    Attributes:
        always: Those that it passed each time.
        ever: Those that it passed at least once.
    """

    always: set[str]
    ever: set[str]

    def is_as(self, listed: set[str]) -> bool:
        """Whether a list of modules has all that are always passed, and none that never are."""
        return self.always <= listed <= self.ever


class Trace:
    """The modules whose functions begin while it is on, in this thread and in those that start under it."""

    def __init__(self) -> None:
        self.modules: set[str] = set()
        self.is_on = False
        self._starts: dict[CodeType, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.is_on and event == "call" and not frame.f_code.co_name.startswith("<") and self._begins(frame):
            before, mark, module = frame.f_code.co_filename.rpartition(_MARK)
            if mark and before.startswith(_PACKAGES) and module.partition("/")[0] in LAYERS:
                self.modules.add(module.removesuffix(".py"))

    def _begins(self, frame: FrameType) -> bool:
        """Whether a function begins; a coroutine that goes on is reported as a call, too, with all that await it."""
        code = frame.f_code
        if not code.co_flags & _SUSPENDS:
            return True
        if code not in self._starts:
            self._starts[code] = next(each.offset for each in dis.get_instructions(code) if each.opname == "RESUME")
        return frame.f_lasti <= self._starts[code]

    def start(self) -> None:
        self.modules.clear()
        self.is_on = True

    def stop(self) -> None:
        self.is_on = False


@contextmanager
def tracing() -> Iterator[Trace]:
    trace, before = Trace(), sys.getprofile()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        yield trace
    finally:
        threading.setprofile(None)
        sys.setprofile(before)


async def message(trace: Trace, _: Path) -> None:
    """A request to an agent, and its reply."""

    async def double(number: int) -> int:
        return 2 * number

    async with Hub() as hub:
        hub.register("double", double)
        await hub.request("double", 1)
        trace.start()
        await hub.request("double", 2)
        trace.stop()


@asynccontextmanager
async def running(folder: Path, *workflows: Any) -> AsyncIterator[Runner]:
    async with SqliteStore(folder / "runs.db") as store, Runner(store, workflows=workflows) as runner:
        yield runner


async def commit(trace: Trace, folder: Path) -> None:
    """From the result of a step to the beginning of the next one; both are coroutines, which need no thread."""
    count = 0

    @step
    async def second(_: Any) -> dict[str, int]:
        nonlocal count
        count += 1
        if count == 2:
            trace.start()
        return {"second": count}

    @step
    async def third(_: Any) -> dict[str, int]:
        trace.stop()
        return {}

    plain = Chain("plain", [first, second, third])
    async with running(folder, plain) as runner:
        for _ in range(2):
            await (await runner.start(plain)).result()


@step
def first(_: Any) -> dict[str, int]:
    return {"first": 1}


async def answer(trace: Trace, folder: Path) -> None:
    """From an answer to the beginning of the step after the one that waited."""

    @step
    def after(_: Any) -> dict[str, int]:
        trace.stop()
        return {}

    waiting = Chain("waiting", [first, Wait("approval", into="word"), after])
    async with running(folder, waiting) as runner:
        for wanted in (False, True):
            run = await runner.start(waiting)
            await run.settled()
            if wanted:
                trace.start()
            await runner.answer(run.waits[0], "yes")
            await run.result()


async def approval(trace: Trace, folder: Path) -> None:
    """From the approval of a call to the beginning of its tool."""

    @tool(needs_approval=True)
    def send(to: str) -> str:
        """Send something.

        Args:
            to: Who gets it.
        """
        trace.stop()
        return f"sent to {to}"

    script: list[ToolCall | str] = [call("send", to="Ann"), "done", call("send", to="Ann"), "done"]
    mailer = Agent("mailer", "Send mail.", model=ScriptedModel(script), tools=[send])
    async with running(folder, mailer) as runner:
        tasks = Tasks(runner)
        for wanted in (False, True):
            task = await tasks.start(mailer, "Write to Ann.", task_id=f"task-{wanted}")
            await task.settled()
            (asked,) = await tasks.approvals()
            if wanted:
                trace.start()
            await tasks.decide(asked.id, Allow())
            await task.result()


async def recovery(trace: Trace, folder: Path) -> None:
    """From `recover` to the beginning of the step where a run was left."""
    reached, begun = anyio.Event(), 0

    @step
    async def stays(_: Any) -> dict[str, int]:
        nonlocal begun
        begun += 1
        trace.stop()
        if begun == 1:
            reached.set()
            await anyio.sleep_forever()
        return {}

    left = Chain("left", [first, stays])
    async with SqliteStore(folder / "runs.db") as store:
        async with Runner(store, workflows=[left], grace=0) as runner:
            await runner.start(left)
            await reached.wait()
        async with Runner(store, workflows=[left]) as runner:
            trace.start()
            report = await runner.recover()
            await report.resumed[0].result()


async def cancellation(trace: Trace, folder: Path) -> None:
    """From `cancel` to the end of a run that is under way."""
    reached = anyio.Event()

    @step
    async def stays(_: Any, context: StepContext) -> dict[str, int]:
        reached.set()
        await anyio.sleep_forever()
        return {"run": len(context.run_id)}

    endless = Chain("endless", [first, stays])
    async with running(folder, endless) as runner:
        run = await runner.start(endless)
        await reached.wait()
        trace.start()
        cancelled = await runner.cancel(run.id)
        trace.stop()
        assert cancelled.status is RunStatus.CANCELLED


async def part(trace: Trace, folder: Path) -> None:
    """From the result of a tool to whoever listens to the task; another call is under way, so nothing else goes on."""
    called, told = anyio.Event(), anyio.Event()

    @tool(idempotent=True)
    async def look(city: str) -> str:
        """Look at a city.

        Args:
            city: Its name.
        """
        await called.wait()
        await anyio.wait_all_tasks_blocked()  # the reader waits again
        trace.start()
        return f"{city} is fine"

    @tool(idempotent=True)
    async def stay() -> str:
        """Stay until the other result was told."""
        await told.wait()
        return "stayed"

    script: list[Any] = [[call("look", city="Oslo"), call("stay")], "done"]
    looker = Agent("looker", "Look.", model=ScriptedModel(script), tools=[look, stay])
    async with running(folder, looker) as runner:
        tasks = Tasks(runner)
        for number in range(2):  # what is only done once is done by then
            called, told = anyio.Event(), anyio.Event()
            async with tasks.start_stream(looker, "Oslo?", task_id=f"task-{number}") as stream:
                async for each in stream:
                    if each.type == "tool_call":
                        called.set()
                    if each.type == "tool_result":
                        trace.stop()
                        told.set()


async def request(trace: Trace, folder: Path) -> None:
    """From a request over HTTP to its answer, which shows a run."""
    key = Key.of("a-key-of-this-journey", name="reader", scopes=[Scope.RUN, Scope.READ])
    app = create_app(Runner(SqliteStore(folder / "runs.db"), workflows=[Chain("plain", [first])]), keys=[key])
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http,
    ):
        http.headers["X-API-Key"] = "a-key-of-this-journey"
        await http.post("/runs", json={"workflow": "plain", "run_id": "run-1", "state": {}})
        await http.get("/runs/run-1/events")  # until it has ended
        for wanted in (False, True):
            await anyio.wait_all_tasks_blocked()
            if wanted:
                trace.start()
            shown = await http.get("/runs/run-1")
            trace.stop()
            assert shown.status_code == 200


JOURNEYS: Final[dict[str, Callable[[Trace, Path], Any]]] = {
    each.__name__: each for each in (message, commit, answer, approval, recovery, cancellation, part, request)
}


def passed(name: str, listed: set[str] | None = None) -> Passed:
    """The modules that a journey passes.

    Args:
        name: The journey.
        listed: Those that are expected: while others are found, it is traced more often.
    """
    found = [_traced(name) for _ in range(_MOST_TIMES if listed is None else _TIMES)]
    while not _of(found).is_as(listed or set()) and len(found) < _MOST_TIMES:
        found.append(_traced(name))
    return _of(found)


def _of(found: Sequence[set[str]]) -> Passed:
    return Passed(set.intersection(*found), set.union(*found))


def _traced(name: str) -> set[str]:
    with tempfile.TemporaryDirectory() as folder, tracing() as trace:
        anyio.run(JOURNEYS[name], trace, Path(folder))
    return trace.modules - BY_CHANCE
