"""New runs that go on where another one stands, or has stood."""

import pytest
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._words import Counted, Gate, Store, running

from stagepost.checkpoint import MemoryStore, RunStatus
from stagepost.workflows import Chain, EffectsAgain, ForkRefused, Parallel, State, StepContext, step


@pytest.mark.in_turns
@pytest.mark.parametrize("name", NAMES)
async def test_fork_determinism_a_fork_at_any_number_ends_as_its_original(name: str) -> None:
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    async with running(MemoryStore(), specimen.workflow, keep="all") as runner:
        expected = await (await runner.start(specimen.workflow, specimen.state, run_id="origin")).result()
        steps, before = set(notes), await runner.store.load("origin")
        last = (await runner.store.history("origin", limit=10_000)).items[-1].number
        for number in range(1, last + 1):
            notes.clear()
            fork = await runner.fork("origin", at=number)
            assert await fork.result() == expected, number
            assert set(notes) <= steps
        assert not notes  # the last number is that of the end
        assert await runner.store.load("origin") == before
        assert not await runner.store.check()
