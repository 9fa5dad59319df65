"""A process is killed at every save of a run and of those that its steps have started: nothing committed runs again."""

from collections import Counter
from pathlib import Path

import pytest
from tests.workflows._crashes import Mortal, live
from tests.workflows._kills import killed, lines, recovered, uninterrupted
from tests.workflows._waiting_specimens import Outside, nameless, waiting_specimens

from stagepost.checkpoint import Lease, NewRun, RunInfo


class MortalAtBirth(Mortal):
    """Dies also when a run is stored."""

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        create = super().create
        return await self._save(lambda: create(run))


@pytest.mark.parametrize("saves_last", [True, False], ids=["saved", "lost"])
async def test_p7_a_family_goes_on_behind_a_crash_at_any_save(saves_last: bool) -> None:  # noqa: FBT001  # of a test
    oracle = await uninterrupted("family")
    deaths, ended = 0, False
    while not ended:
        deaths += 1
        notes, store = list[str](), MortalAtBirth()
        family = waiting_specimens(notes.append, notes.append)["family"]
        store.revive(deaths, saves_last=saves_last)
        result = await live(store, family.workflow, family.state, outside=Outside("victim"))
        ended = result is not None
        before = list(notes)
        store.revive(None)
        if result is None:
            result = await live(store, family.workflow, family.state, outside=Outside("heir"))
        assert nameless(result) == oracle.result
        counts = Counter(notes)
        assert set(counts) == oracle.steps
        again = {label for label, count in counts.items() if count > 1}
        assert again <= set(before)
        assert sum(counts.values()) - len(counts) <= family.at_once
    assert deaths > len(oracle.steps)  # each step is a save, and each run is one


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("number", [3, 5, 7, 10, 14, 17])
async def test_p7_parent_and_child_survive_a_sigkill(tmp_path: Path, number: int) -> None:
    oracle = await uninterrupted("family")
    await killed(tmp_path, "family", "acknowledged", number)
    ended = set(lines(tmp_path / "ended"))
    assert nameless((await recovered(tmp_path, ["family"]))["family"]) == oracle.result
    counts = Counter(lines(tmp_path / "notes"))
    assert set(counts) == oracle.steps
    again = {label for label, count in counts.items() if count > 1}
    assert not again & ended
