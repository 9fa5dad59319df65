"""Whoever reads a random team when, and how often, is told the same."""

import anyio
from anyio import fail_after
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.agents.stream._random_team import TURNS, World
from tests.agents.stream._recording import Law, Loops, RecordingStore

from stagepost.workflows import Runner


@given(TURNS, TURNS, st.integers(0, 10**6))
@settings(max_examples=6, deadline=None)
def test_whoever_reads_when_gets_each_part_once(lead: list[list[str]], below: list[list[str]], seed: int) -> None:
    anyio.run(_holds, lead, below, seed)


async def _holds(lead: list[list[str]], below: list[list[str]], seed: int) -> None:
    world = World(lead, below, seed)
    async with RecordingStore("t") as store:
        with fail_after(60):  # to read waits for nothing, and takes long where a team has said much
            while not await world.live(store):
                world.gates.clear()
        await store.keep()
        async with Runner(store, workflows=[world.agent]) as runner:
            await Law(Loops(runner), "t").holds_in(store.moments)
