"""How the places of a run stand."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import given
from tests.service.drawing._runs import nested, nothing, parked
from tests.workflows._meanings import WORKFLOWS, Meant
from tests.workflows.test_laws import QUICK, pattern_of

from stagepost.checkpoint import ItemStatus, MemoryStore, RunStatus, Snapshot, WaitStatus
from stagepost.service._drawing._marks import Mark, strongest
from stagepost.service._drawing._passed import surely_passed
from stagepost.service._drawing._standings import Standings, standings_of
from stagepost.workflows import END, Chain, Graph, Pattern, Retry, RunFailed, Runner, State, Wait, key_exists, step
from stagepost.workflows._plans._dominators import END as THE_END
from stagepost.workflows._plans._dominators import surely_passed as passed_by_plan


def marks(standings: Standings) -> Mapping[str, Mark]:
    return {path: standing.mark for path, standing in standings.places.items()}


async def ended(workflow: Pattern) -> tuple[Snapshot, Standings]:
    """A run of it, once it has failed or completed."""
    async with MemoryStore() as store, Runner(store, workflows=[workflow]) as runner:
        run = await runner.start(workflow, {}, keep="all")
        with suppress(RunFailed):
            await run.result()
        snapshot = await store.load(run.id)
        history = await runner.runs.history(run.id, limit=1000)
        return snapshot, standings_of(snapshot, history.items, history.under_way)


def test_of_several_the_one_that_needs_somebody_is_shown() -> None:
    assert strongest([Mark.DONE, Mark.WAITING, Mark.RUNNING]) is Mark.WAITING
    assert strongest([Mark.WAITING, Mark.FAILED]) is Mark.FAILED
    assert strongest([]) is Mark.AHEAD


async def test_a_parked_run_shows_what_is_done_what_waits_and_what_is_ahead() -> None:
    snapshot, history = await parked(nested(), waits=4)
    standings = standings_of(snapshot, history)
    found = marks(standings)
    assert found["load"] is found["sizes"] is found["review/judge/quick"] is Mark.DONE
    assert found["review/judge/deep/checks"] is Mark.WAITING
    assert found["review/judge/deep/checks[2]/fetch"] is Mark.DONE
    assert found["review/judge/deep/checks[2]/approve"] is Mark.WAITING
    assert standings.at("save").mark is Mark.AHEAD
    assert standings.at("review/draft/prose").visits == 2
    assert standings.items["sizes"] == {0: Mark.DONE, 1: Mark.FAILED, 2: Mark.DONE, 3: Mark.DONE}
    assert standings.items["review/judge/deep/checks"] == dict.fromkeys(range(4), Mark.WAITING)


async def test_without_its_history_only_what_every_way_leads_through_is_done() -> None:
    snapshot, _ = await parked(nested(), waits=4)
    found = marks(standings_of(snapshot))
    assert found["load"] is found["review/draft/prose"] is found["review/judge/deep/one"] is Mark.DONE
    assert "review/judge/quick" not in found
    assert found["review/judge/deep/checks[0]/approve"] is Mark.WAITING


async def test_a_failed_step_says_why_and_a_retried_one_how_often() -> None:
    tries = iter([True, True, False])

    def flaky(state: State) -> Mapping[str, object]:
        if next(tries):
            raise OSError("no route")
        return {}

    def boom(state: State) -> Mapping[str, object]:
        raise ValueError("the <press> is broken")

    retry = Retry(attempts=4, first=0, jitter=0)
    _, standings = await ended(Chain("work", [step("flaky", flaky, retry=retry), step("boom", boom), nothing]))
    assert standings.at("flaky").mark is Mark.RETRIED
    assert standings.at("flaky").tries == 3
    assert standings.at("boom").mark is Mark.FAILED
    assert "the <press> is broken" in (standings.at("boom").error or "")
    assert standings.at("nothing").mark is Mark.AHEAD


async def test_a_decision_that_failed_has_led_nowhere() -> None:
    graph = Graph("loop")
    graph.add("one", nothing)
    graph.start("one")
    graph.edge("one", "one", when=key_exists("never"))
    graph.edge("one", END, when=key_exists("nor this"))
    _, standings = await ended(graph)
    assert standings.led == {}
    assert standings.at("one").mark is Mark.FAILED


async def test_a_completed_run_is_done_all_over() -> None:
    snapshot, standings = await ended(Chain("work", [step("one", nothing), step("two", nothing)]))
    assert marks(standings) == {"one": Mark.DONE, "two": Mark.DONE}
    assert marks(standings_of(snapshot)) == {"one": Mark.DONE, "two": Mark.DONE}


@pytest.mark.parametrize(
    ("status", "mark"),
    [
        (RunStatus.RUNNING, Mark.RUNNING),
        (RunStatus.CANCELLED, Mark.CANCELLED),
        (RunStatus.FAILED, Mark.FAILED),
        (RunStatus.DEAD, Mark.FAILED),
    ],
)
async def test_where_a_run_stands_is_marked_by_its_status(status: RunStatus, mark: Mark) -> None:
    snapshot, _ = await parked(Chain("work", [nothing, Wait("ok", expect=bool)]), waits=1)
    changed = snapshot._replace(run=snapshot.run._replace(status=status, error="why"), waits=[])
    standing = standings_of(changed).at("ok")
    assert standing.mark is mark
    assert standing.error == ("why" if mark is Mark.FAILED else None)


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.CANCELLED])
async def test_items_under_way_are_marked_by_the_status_of_their_run(status: RunStatus) -> None:
    snapshot, _ = await parked(nested(), waits=4)
    changed = snapshot._replace(run=snapshot.run._replace(status=status), waits=[])
    found = standings_of(changed).items["review/judge/deep/checks"]
    assert set(found.values()) == {Mark.RUNNING if status.is_open else Mark.CANCELLED}


async def test_a_failed_item_stays_failed_while_others_run() -> None:
    snapshot, _ = await parked(nested(), waits=4)
    failed = [item._replace(status=ItemStatus.FAILED) if item.idx == 1 else item for item in snapshot.items]
    answered = [replace(wait, status=WaitStatus.ANSWERED) for wait in snapshot.waits]
    standings = standings_of(snapshot._replace(items=failed, waits=answered))
    assert standings.items["review/judge/deep/checks"][1] is Mark.FAILED
    assert standings.at("review/judge/deep/checks[1]/approve").mark is Mark.FAILED
    assert standings.at("review/judge/deep/checks[0]/approve").mark is Mark.RUNNING


async def test_items_of_a_fold_are_done_up_to_the_one_it_is_at() -> None:
    def add(state: State, item: int) -> Mapping[str, object]:
        if item == 2:
            raise ValueError("odd")
        return {}

    fold = Chain.fold("addup", add, over="docs")
    start = step("docs", lambda _: {"docs": [0, 1, 2, 3]})
    snapshot, standings = await ended(Chain("work", [start, fold]))
    assert standings.items["addup"] == {0: Mark.DONE, 1: Mark.DONE, 2: Mark.FAILED, 3: Mark.AHEAD}
    assert standings_of(snapshot).items["addup"] == standings.items["addup"]


async def test_a_run_whose_shape_nobody_has_stored_shows_where_it_stands() -> None:
    snapshot, _ = await parked(Chain("work", [nothing, Wait("ok", expect=bool)]), waits=1)
    assert marks(standings_of(snapshot._replace(shape=None))) == {"ok": Mark.WAITING}


@QUICK
@given(WORKFLOWS)
def test_what_is_surely_passed_is_what_the_plan_says(meant: Meant) -> None:
    pattern = pattern_of(meant)
    places: Mapping[str, Mapping[str, object]] = json.loads(pattern.shape.skeleton)
    at: Sequence[str | None] = [*places, None]
    for path in at:
        assert surely_passed(places, path) == passed_by_plan(pattern.plan, path or THE_END)
