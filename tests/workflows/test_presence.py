"""Where a run is: one record, one table of transitions, and nothing that the table does not allow."""

import gc
from itertools import product

import anyio
import pytest
from anyio import fail_after
from tests.workflows._words import PATIENCE

from stagepost.checkpoint import RunStatus
from stagepost.workflows import RunFailed, RunnerStopped
from stagepost.workflows._runner._presence import Presence
from stagepost.workflows._runner._record import Record
from stagepost.workflows._runner._stay import BEGINNINGS, TRANSITIONS, IllegalTransition, Stay

WAYS = {  # how a record gets to each state
    Stay.STORING: [Stay.STORING],
    Stay.QUEUED: [Stay.QUEUED],
    Stay.CLAIMING: [Stay.CLAIMING],
    Stay.RUNNING: [Stay.CLAIMING, Stay.RUNNING],
    Stay.PARKED: [Stay.PARKED],
    Stay.ENDED: [Stay.PARKED, Stay.ENDED],
    Stay.LOST: [Stay.PARKED, Stay.LOST],
}
ALLOWED = {(before, after) for before, afters in TRANSITIONS.items() for after in afters}
FINAL = (Stay.ENDED, Stay.LOST)


def at(presence: Presence, stay: Stay) -> Record:
    first, *others = WAYS[stay]
    record = presence.begin("r1", "work", first)
    for other in others:
        presence.move(record, other)
    return record


def test_the_table_names_each_state_once() -> None:
    assert set(TRANSITIONS) == set(Stay) == set(WAYS)
    assert set().union(*TRANSITIONS.values()) <= set(Stay)


@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED), ids=lambda stay: stay.value)
def test_a_transition_of_the_table_is_made_and_told(before: Stay, after: Stay) -> None:
    presence = Presence()
    record = at(presence, before)
    presence.move(record, after)
    assert record.stay is after
    assert record.is_over is (after in FINAL)
    assert presence.find("r1") is (None if record.is_over else record)


@pytest.mark.parametrize(("before", "after"), sorted(set(product(Stay, Stay)) - ALLOWED), ids=lambda stay: stay.value)
def test_any_other_transition_is_refused_and_changes_nothing(before: Stay, after: Stay) -> None:
    presence = Presence()
    record = at(presence, before)
    with pytest.raises(IllegalTransition, match=f"run 'r1' is {before.value} and becomes {after.value}"):
        presence.move(record, after)
    assert record.stay is before


@pytest.mark.parametrize("stay", Stay)
def test_a_record_begins_in_any_state_but_running(stay: Stay) -> None:
    presence = Presence()
    if stay in BEGINNINGS:
        assert presence.begin("r1", "work", stay).stay is stay
    else:
        with pytest.raises(IllegalTransition, match=f"run 'r1' begins {stay.value}"):
            presence.begin("r1", "work", stay)


def test_a_run_that_is_here_has_one_record() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.QUEUED)
    with pytest.raises(IllegalTransition):
        presence.begin("r1", "work", Stay.CLAIMING)
    presence.end(record, RunStatus.CANCELLED)
    assert presence.begin("r1", "work", Stay.CLAIMING) is not record  # it was resumed


@pytest.mark.parametrize("stay", Stay)
def test_what_is_said_after_the_end_does_not_count(stay: Stay) -> None:
    presence = Presence()
    record = at(presence, stay)
    presence.end(record, RunStatus.COMPLETED, state=1) if Stay.ENDED in TRANSITIONS[stay] else presence.lose(
        record, RunnerStopped("r1")
    )
    before = (record.stay, record.status)
    presence.lose(record, RunnerStopped("r1"))
    presence.end(record, RunStatus.FAILED, error=RunFailed("r1", "late"))
    presence.park(record, ["r1/ask"])
    assert (record.stay, record.status) == before


@pytest.mark.parametrize(
    ("stay", "status"),
    [
        (Stay.STORING, RunStatus.RUNNING),
        (Stay.QUEUED, RunStatus.RUNNING),
        (Stay.CLAIMING, RunStatus.RUNNING),
        (Stay.RUNNING, RunStatus.RUNNING),
        (Stay.PARKED, RunStatus.WAITING),
    ],
)
def test_handles_show_where_the_run_stands(stay: Stay, status: RunStatus) -> None:
    assert at(Presence(), stay).status is status


def test_a_run_that_goes_on_shows_no_waits_any_more() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.PARKED)
    presence.park(record, ["r1/ask"], {"r1.kid"})
    assert (record.status, record.waits, presence.has_parents) == (RunStatus.WAITING, ["r1/ask"], True)
    presence.move(record, Stay.QUEUED)
    assert (record.status, record.waits, presence.has_parents) == (RunStatus.RUNNING, (), False)


def test_those_above_a_run_are_those_that_wait_for_it_and_for_them() -> None:
    presence = Presence()
    records = [presence.begin(name, "work", Stay.PARKED) for name in ("a", "c", "d")]
    presence.move(busy := presence.begin("e", "work", Stay.CLAIMING), Stay.RUNNING)
    waits = [("a", "x"), ("b", "a"), ("c", "b"), ("d", "y"), ("e", "x"), ("x", "c")]  # of b nobody has a handle
    assert presence.above("x", waits) == records[:2]
    assert busy.stay is Stay.RUNNING  # it hears of it in the step that waits


def test_a_record_that_nobody_holds_is_gone() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.PARKED)
    assert presence.find("r1") is record
    del record
    gc.collect()
    assert presence.find("r1") is None


@pytest.mark.parametrize("stay", Stay)
def test_when_nothing_goes_on_any_more_those_that_rest_are_lost_and_the_others_say_so_themselves(stay: Stay) -> None:
    presence = Presence()
    record = at(presence, stay)
    presence.close(RunnerStopped)
    rests = stay in (Stay.QUEUED, Stay.PARKED)
    assert isinstance(record.left_with, RunnerStopped) is rests
    if Stay.PARKED in TRANSITIONS[stay]:
        presence.park(record, [])
        assert isinstance(record.left_with, RunnerStopped)


async def test_whoever_waits_hears_of_each_change() -> None:
    presence = Presence()
    record = presence.begin("r1", "work", Stay.QUEUED)
    heard: list[Stay] = []

    async def listen() -> None:
        while not record.is_over:
            heard.append(record.stay)
            await record.changed()

    with fail_after(PATIENCE):
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            for stay in (Stay.CLAIMING, Stay.RUNNING, Stay.PARKED, Stay.QUEUED):
                await anyio.wait_all_tasks_blocked()
                presence.move(record, stay)
            await anyio.wait_all_tasks_blocked()
            presence.end(record, RunStatus.CANCELLED)
    assert heard == [Stay.QUEUED, Stay.CLAIMING, Stay.RUNNING, Stay.PARKED, Stay.QUEUED]
