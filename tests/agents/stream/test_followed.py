"""What is followed in memory is what is stored, of random teams at any time, and whoever follows is told all of it."""

from contextlib import suppress

import anyio
from anyio import fail_after, wait_all_tasks_blocked
from anyio.abc import TaskGroup
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.stream._random_team import TURNS, World
from tests.agents.stream._recording import Loops, all_parts, moment_of

from stagepost.agents import PartKey, StreamPart, Tasks
from stagepost.checkpoint import ItemStatus, MemoryStore, Snapshot
from stagepost.workflows import Runner, RunnerStopped, RunNotHeld

_MANY = 100_000


class Follower:
    """Follows task ``t`` in each process that works on it, and reads beside that what is stored.

    Args:
        store: Where it is.
        group: Runs whoever reads its stream.
    """

    def __init__(self, store: MemoryStore, group: TaskGroup) -> None:
        self._store = store
        self._group = group
        self._is_reading = False
        self.parts: list[StreamPart] = []
        self.cursor: str | None = None
        self.followed = 0

    async def look(self, runner: Runner) -> None:
        """See that memory has what the store has, and have the stream read."""
        if not self._is_reading and (await runner.runs.info("t")).status.is_open:
            self._is_reading = True
            self._group.start_soon(self._read, runner)
            await wait_all_tasks_blocked()
        with runner.listen("t", buffer=0) as listening:
            for info in (await self._store.find(limit=_MANY)).items:
                stored, snapshot = await self._store.head(info.run_id), await listening.followed.snapshot(info.run_id)
                assert said(snapshot) == said(stored)
                assert {name: stored.saved_at[name] for name in snapshot.saved_at}.keys() == snapshot.saved_at.keys()
                messages = await listening.followed.elements(info.run_id, "messages", 0, _MANY)
                assert len(messages.items) == len(await self._messages(info.run_id))
                self.followed += not snapshot.row  # which only the store knows
        whole, _ = await all_parts(await moment_of(self._store, "t"), Loops(runner), "t")
        assert not self._is_reading or sorted(map(str, keys(whole))) == sorted(map(str, keys(self.parts)))

    async def _messages(self, run_id: str) -> tuple[bytes, ...]:
        return tuple((await self._store.elements(run_id, "", "messages", limit=_MANY)).items)

    async def _read(self, runner: Runner) -> None:
        with suppress(RunnerStopped, RunNotHeld):
            async with Tasks(runner).stream("t", after=self.cursor) as stream:
                async for part in stream:
                    self.cursor = stream.cursor
                    self.parts += [part] if part.cursor is not None else []
        self._is_reading = False


def said(snapshot: Snapshot) -> object:
    """What parts are made of. That an item was cancelled may be known before the commit that says so."""
    run, root = snapshot.run, snapshot.root
    items = [
        item._replace(status=ItemStatus.WAITING) if item.status is ItemStatus.CANCELLED else item
        for item in snapshot.items
    ]
    about = run.run_id, run.workflow, run.version, run.status, run.epoch, run.input, run.error, run.finished_at
    return about, root, items, list(snapshot.waits), list(snapshot.effects)


def keys(parts: list[StreamPart]) -> list[PartKey]:
    return [part.key for part in parts if part.type != "error"]  # an end may be taken back


@given(TURNS, TURNS, st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_what_is_followed_is_what_is_stored(lead: list[list[str]], below: list[list[str]], seed: int) -> None:
    anyio.run(_holds, lead, below, seed)


async def _holds(lead: list[list[str]], below: list[list[str]], seed: int) -> None:
    with fail_after(60):
        world = World(lead, below, seed)
        async with MemoryStore() as store, anyio.create_task_group() as group:
            follower = Follower(store, group)
            while not await world.live(store, follower.look):
                world.gates.clear()
            async with Runner(store, workflows=[world.agent]) as runner:
                await follower.look(runner)
                moment = await moment_of(store, "t")
                rest, _ = await all_parts(moment, Loops(runner), "t", follower.cursor)
                whole, _ = await all_parts(moment, Loops(runner), "t")
            assert sorted(map(str, keys([*follower.parts, *rest]))) == sorted(map(str, keys(whole)))
            group.cancel_scope.cancel()


async def test_a_run_under_way_is_followed(anyio_backend: str) -> None:
    world = World([["look", "late"], ["late"]], [], 4)
    assert anyio_backend
    async with MemoryStore() as store, anyio.create_task_group() as group:
        follower = Follower(store, group)
        with fail_after(60):
            await world.live(store, follower.look)
        assert follower.followed
        group.cancel_scope.cancel()
