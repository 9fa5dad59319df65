"""What a step sees never depends on whether the process crashed before it."""

from collections import Counter

import pytest
from tests._examples import next_place
from tests.workflows._crashes import Mortal, live
from tests.workflows._kills import uninterrupted
from tests.workflows._specimens import NAMES, specimens
from tests.workflows._waiting_specimens import WAITING, Outside, nameless, waiting_specimens
from tests.workflows._words import Store, running

from stagepost.workflows import Chain, Pattern, State, step

LAST_SAVE = pytest.mark.parametrize(
    ("anyio_backend", "saved"),
    [
        pytest.param("asyncio", True, id="asyncio-saved"),
        pytest.param("trio", False, id="trio-lost"),
        pytest.param("asyncio", False, id="asyncio-lost", marks=pytest.mark.long),
        pytest.param("trio", True, id="trio-saved", marks=pytest.mark.long),
    ],
)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", NAMES)
async def test_p10_forgetting_everything_behind_each_commit_changes_nothing(name: str) -> None:
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    expected = await specimen.workflow.run(specimen.state)
    steps, store, result = Counter(notes), Mortal(), None
    notes.clear()
    while result is None:
        store.revive(1)
        result = await live(store, specimen.workflow, specimen.state)
    assert result == expected
    assert store.commits == 0  # none was ever heard of
    assert set(notes) == set(steps)
    if specimen.at_once == 1:
        assert Counter(notes) == steps


@pytest.mark.in_turns
@pytest.mark.parametrize("name", WAITING)
async def test_p10_forgetting_everything_changes_nothing_for_runs_that_wait(name: str) -> None:
    """Also behind each wait that was opened, each effect's intent and outcome, and each time the run parks."""
    notes, effects = list[str](), list[str]()
    oracle = await uninterrupted(name)
    specimen = waiting_specimens(notes.append, effects.append)[name]
    store, result, lives = Mortal(), None, 0
    while result is None:
        lives += 1
        store.revive(1)
        result = await live(store, specimen.workflow, specimen.state, run_id=name, outside=Outside("anybody"))
    assert nameless(result) == oracle.result
    assert store.commits == 0  # none was ever heard of
    assert set(notes) == oracle.steps
    assert len(set(effects)) == len(effects)
    assert lives > len(oracle.steps)


@LAST_SAVE
@pytest.mark.law
@pytest.mark.parametrize("name", WAITING)
async def test_p7_a_crash_at_any_save_changes_nothing_for_runs_that_wait(name: str, saved: bool) -> None:  # noqa: FBT001  # a parameter of the test
    oracle = await uninterrupted(name)
    number, died = 0, True
    while died:
        number = next_place(number)
        notes, effects = list[str](), list[str]()
        specimen = waiting_specimens(notes.append, effects.append)[name]
        store = Mortal()
        store.revive(number, saves_last=saved)
        result = await live(store, specimen.workflow, specimen.state, run_id=name, outside=Outside("victim"))
        died = result is None
        if died:
            store.revive(None)
            result = await live(store, specimen.workflow, specimen.state, run_id=name, outside=Outside("heir"))
        assert nameless(result) == oracle.result
        assert set(notes) == oracle.steps
        assert len(notes) - len(oracle.steps) <= specimen.at_once
        assert len(set(effects)) == len(effects)


@LAST_SAVE
@pytest.mark.law
@pytest.mark.parametrize("name", NAMES)
async def test_p7_a_crash_at_any_commit_changes_nothing(name: str, saved: bool) -> None:  # noqa: FBT001  # a parameter of the test
    notes: list[str] = []
    specimen = specimens(notes.append)[name]
    expected = await specimen.workflow.run(specimen.state)
    steps, number, died = len(notes), 0, True
    while died:
        number = next_place(number)
        notes.clear()
        store = Mortal()
        store.revive(number, saves_last=saved)
        died = await live(store, specimen.workflow, specimen.state) is None
        if died:
            store.revive(None)
            assert await ended(store, specimen.workflow) == expected
        assert len(set(notes)) == steps
        assert len(notes) - steps <= specimen.at_once


async def ended(store: Mortal, workflow: Pattern) -> State:
    async with running(store, workflow) as runner:
        await runner.recover()
        result: State = await (await runner.get("r1")).result()
        return result


async def test_p10_values_take_their_stored_form_with_a_store_or_without(store: Store) -> None:
    seen: list[object] = []

    def look(state: State) -> None:
        seen.append((state["pair"], type(state["pair"]).__name__, state["pair"][1]["n"]))

    work = Chain("work", [step("make", lambda _: {"pair": (1, {"n": 2.0})}), look])
    await work.run()
    async with running(store, work) as runner:
        await (await runner.start(work)).result()
    assert seen[0] == seen[1] == ([1, {"n": 2.0}], "FrozenList", 2.0)
