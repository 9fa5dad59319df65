"""A server is killed again and again while clients listen to its tasks: each is told everything, once and in order.

The server is real, as are its sockets and the signal. After how many events it is killed, and in which order calls are
approved, is random; a failing seed is in the name of the test.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from random import Random

import anyio
import pytest
from anyio import fail_after
from tests._forks import LAYERS, Forks, shared
from tests.agents.stream._clients import Heard, Listener, Service
from tests.agents.stream._laws import check, goes_on_from
from tests.agents.stream._world import FRAIL, team

from stagepost.agents import ChatMessage, StreamPart, Tasks, part_from_dict
from stagepost.checkpoint import SqliteStore
from stagepost.workflows import Runner

CLIENTS = 4
KILLS = 15
FEW = 4  # in the short form
MORE = "-more"  # the task that follows another one up
LIFE = (0, 1, 5, 20, 40, 80)  # a life is over after so many events, or fewer
SAMPLE = 12  # cursors of each task that are gone on from once more; and as many of the longest
WEB = ("uvicorn", "starlette.applications", "uvicorn.protocols.http.h11_impl", "uvicorn.lifespan.on")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def web_forks() -> Forks:
    """Starts processes that have imported what the server needs."""
    return shared(*LAYERS, *WEB)


@pytest.mark.parametrize(
    ("seed", "kills"),
    [(1, FEW), *(pytest.param(seed, KILLS, marks=pytest.mark.long) for seed in range(2, 12))],
)
async def test_every_numbered_part_comes_once_through_kills_of_the_server(
    seed: int, kills: int, tmp_path: Path, web_forks: Forks
) -> None:
    rng = Random(seed)  # noqa: S311  # nothing secret
    with fail_after(250):
        heard = await all_heard(tmp_path, web_forks, rng, kills)
        async with SqliteStore(tmp_path / "runs.db") as store, Runner(store, workflows=[team(tmp_path)]) as runner:
            tasks = Tasks(runner)
            for each in heard:
                check(each, await read(tasks, each.task), await transcripts(store, tasks, each.task))
                told = [part_from_dict(event.data) for event in each.events]
                for number in places(told, each.deaths, rng):
                    goes_on_from(told, number, await read(tasks, each.task, after=told[number].cursor))


def places(told: Sequence[StreamPart], deaths: Sequence[int], rng: Random) -> Iterator[int]:
    """Numbered parts, among them the last one before each death."""
    numbered = [number for number, part in enumerate(told) if part.cursor is not None]
    chosen = set(rng.sample(numbered, min(SAMPLE, len(numbered))))
    chosen.update(sorted(numbered, key=lambda number: len(told[number].cursor or ""))[-SAMPLE:])  # much is under way
    for death in deaths:
        chosen.update([number for number in numbered if number < death][-1:])
    return (number for number in sorted(chosen) if told[number].type != "error")


async def read(tasks: Tasks, task: str, after: str | None = None) -> list[StreamPart]:
    """What is told to who comes when all is over."""
    async with tasks.stream(task, after=after) as stream:
        return [part async for part in stream]


async def transcripts(store: SqliteStore, tasks: Tasks, task: str) -> Mapping[str, Sequence[ChatMessage]]:
    """The messages of a task's run and of those below it, each without those that it began with."""
    found = [task, *(info.run_id for info in (await store.find(below=task)).items)]
    whole = {run_id: (await tasks.get(run_id)).messages for run_id in found}
    if task.endswith(MORE):
        whole[""] = (await tasks.get(task.removesuffix(MORE))).messages
    return {run_id: whole[run_id][len(whole.get(before(run_id), ())) :] for run_id in found}


def before(run_id: str) -> str:
    """The run whose transcript another one goes on with; runs of a conversation are numbered."""
    if run_id.endswith(MORE):
        return ""
    talk, _, turn = run_id.rpartition("-")
    return f"{talk}-{int(turn) - 1}" if "." in run_id and turn.isdecimal() else "none"


async def all_heard(folder: Path, forks: Forks, rng: Random, kills: int) -> Sequence[Heard]:
    """What the clients were told, through so many deaths of the server."""
    service, is_over, heard = Service(folder, forks), anyio.Event(), list[Heard]()

    async def live() -> None:
        for _ in range(kills):
            await service.live(rng.randint(0, rng.choice(LIFE)), is_over)
        await service.live(None, is_over)

    async def listen(client: int) -> None:
        """Until the server is killed no more."""
        listener = Listener(service, rng)
        for number in count(client):
            name, is_frail = f"t{client}-{number}", number % 2
            heard.append(await listener.listen(name, f"{FRAIL} {name}" if is_frail else "Plan a trip."))
            if not is_frail:
                heard.append(await listener.listen(name + MORE, "And now?", after=name))
            if service.kills >= kills:
                return

    async with anyio.create_task_group() as group:
        group.start_soon(live)
        async with anyio.create_task_group() as clients:
            for client in range(CLIENTS):
                clients.start_soon(listen, client)
        is_over.set()
    assert service.kills == kills + 1
    return heard
