"""Schedules: each due time gets one run, whatever happens to the process, the clock and the schedule."""

import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import BaseModel
from tests.workflows._doors import Clock, Fault
from tests.workflows._words import NOTHING, PATIENCE, Gate, Store, dying, running, until
from tests.workflows.test_blobs import Gallery, Picture

from stagepost.checkpoint import (
    CannotStore,
    Continued,
    CorruptSchedule,
    MemoryStore,
    ScheduleNotFound,
    SqliteStore,
    StoredSchedule,
    StoreFull,
    ValueTooLarge,
)
from stagepost.workflows import (
    Chain,
    DefinitionError,
    ExtraMissing,
    Runner,
    RunnerNotOpen,
    Schedule,
    ScheduleConflict,
    ScheduleNotReadable,
    ScheduleRefused,
    State,
    step,
)

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAILY = "30 7 * * *"


class Noted:
    """A workflow whose runs note the time that they are for."""

    def __init__(self, name: str = "work") -> None:
        self.dues: list[str] = []
        self.workflow = Chain(name, [step("note", self.note, inline=True)])

    def note(self, state: State) -> None:
        self.dues.append(state.get("at", "?"))


async def ended(runner: Runner, key: str = "key") -> list[str]:
    """The start-once keys of the runs of a schedule, all of which have ended."""
    runs = (await runner.runs.list(labels={"schedule": key})).items
    for run in runs:
        await (await runner.get(run.run_id)).result()
    return [run.key or "" for run in runs]


def at(hours: float) -> str:
    return (NEW_YEAR + timedelta(hours=hours)).isoformat()


async def test_runs_start_when_they_are_due(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        made = await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", labels={"team": "a"})
        assert (made.next_due, made.last_run, made.when) == (NEW_YEAR + HOUR, None, HOUR)
        clock.pass_(HOUR / 2)
        await runner.recover()
        assert await ended(runner) == []
        for number in (1, 2, 3):
            clock.pass_(HOUR if number > 1 else HOUR / 2)
            await runner.recover()
            await ended(runner)
        (run, *_) = (await runner.runs.list(labels={"schedule": "key", "team": "a"}, newest_first=True)).items
        seen = await runner.schedules.get("key")
        assert (seen.last_run, seen.last_due, seen.next_due) == (run.run_id, NEW_YEAR + 3 * HOUR, NEW_YEAR + 4 * HOUR)
        assert (seen.not_started, seen.failures, run.key) == (0, 0, f"key@{at(3)}")
    assert noted.dues == [at(1), at(2), at(3)]


async def test_a_runner_starts_them_by_itself(store: Store) -> None:
    noted = Noted()
    async with running(store, noted.workflow) as runner:
        await runner.schedule(noted.workflow, 0.02, key="soon", missed="all")
        await until(lambda: len(noted.dues) > 2)
        await runner.schedules.delete("soon")
    async with running(store, noted.workflow) as runner:
        await runner.schedule(noted.workflow, 0.02, key="other", missed="all")
    noted.dues.clear()
    async with running(store, noted.workflow) as runner:
        await runner.recover()
        await until(lambda: len(noted.dues) > 2)


async def test_a_cron_text_names_times_of_a_time_zone(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, " 30  7 * * * ", key="key", timezone="Europe/Berlin", due_as="at")
        clock.pass_(timedelta(hours=6, minutes=30))
        await runner.recover()
        assert await ended(runner) == [f"key@{at(6.5)}"]
        assert (await runner.schedules.get("key")).when == DAILY
        times = await runner.schedules.next_times("key", 2)
        assert times == (NEW_YEAR + timedelta(days=1, hours=6.5), NEW_YEAR + timedelta(days=2, hours=6.5))


@pytest.mark.parametrize(("missed", "dues"), [("skip", [3]), ("once", [3]), ("all", [1, 2, 3])])
async def test_missed_ones_are_made_up_for_as_was_said(store: Store, missed: Any, dues: list[int]) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed=missed)
    clock.pass_(3 * HOUR)
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.recover()
        await ended(runner)
        seen = await runner.schedules.get("key")
        assert (noted.dues, seen.not_started) == ([at(due) for due in dues], 3 - len(dues))
        clock.pass_(1.5 * HOUR)
        await runner.recover()
        await ended(runner)
        assert len(noted.dues) == len(dues) + (missed != "skip")


async def test_a_clock_that_jumps_gives_no_time_two_runs(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        for jump in (1, -3, 3, 2, -1, -24, 24, 1):
            clock.pass_(jump * HOUR)
            await runner.recover()
        await ended(runner)
    assert noted.dues == [at(1), at(2), at(3)]


async def test_after_a_clock_was_wrong_resume_counts_from_now(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at")
        clock.pass_(timedelta(days=365))
        await runner.recover()
        clock.pass_(-timedelta(days=365))
        assert (await runner.schedules.resume("key")).next_due == NEW_YEAR + HOUR
        clock.pass_(HOUR)
        await runner.recover()
        await ended(runner)
        assert noted.dues[1:] == [at(1)]
        clock.pass_(-HOUR)
        await runner.schedules.resume("key")
        clock.pass_(HOUR)
        await runner.recover()
        assert len(await ended(runner)) == 2
        assert (await runner.schedules.get("key")).next_due == NEW_YEAR + 2 * HOUR


async def test_a_run_that_is_open_has_the_next_one_skipped(store: Store) -> None:
    clock, gate = Clock(), Gate()
    work = Chain("work", [gate.step])
    async with running(store, work, clock=clock) as runner:
        await runner.schedule(work, HOUR, key="key", overlap="skip")
        await runner.schedule(work, HOUR, key="other")
        for _ in range(3):
            clock.pass_(HOUR)
            await runner.recover()
        assert len((await runner.runs.list(labels={"schedule": "key"})).items) == 1
        assert len((await runner.runs.list(labels={"schedule": "other"})).items) == 3
        assert (await runner.schedules.get("key")).not_started == 2
        gate.open.set()
        await ended(runner)
        clock.pass_(HOUR)
        await runner.recover()
        assert len(await ended(runner)) == 2


async def test_a_run_that_was_deleted_is_not_open(store: Store) -> None:
    clock = Clock()
    work = Chain("work", [NOTHING])
    async with running(store, work, clock=clock) as runner:
        await runner.schedule(work, HOUR, key="key", overlap="skip")
        clock.pass_(HOUR)
        await runner.recover()
        await ended(runner)
        run = (await runner.schedules.get("key")).last_run
        assert run is not None
        await store.delete(run)
        clock.pass_(HOUR)
        await runner.recover()
        assert len(await ended(runner)) == 1


# changing


async def test_scheduling_again_changes_only_what_is_said_otherwise(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", state={"n": 1})
        first = await store.schedule("key")
        clock.pass_(HOUR / 2)
        same = await runner.schedule(noted.workflow, 3600, key="key", due_as="at", state={"n": 1})
        assert (await store.schedule("key"), same.next_due) == (first, NEW_YEAR + HOUR)
        other = await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", state={"n": 2}, missed="all")
        assert (other.next_due, other.missed) == (NEW_YEAR + HOUR, "all")
        timed = await runner.schedule(noted.workflow, 2 * HOUR, key="key", due_as="at")
        assert timed.next_due == NEW_YEAR + 2.5 * HOUR
        jitter: dict[str, Any] = {"jitter": timedelta(minutes=5), "missed": "once"}
        later = await runner.schedule(noted.workflow, 2 * HOUR, key="key", due_as="at", **jitter)
        assert later.next_due == NEW_YEAR + 2.5 * HOUR
        clock.pass_(2 * HOUR)
        await runner.recover()
        assert await ended(runner) == []
        clock.pass_(timedelta(minutes=5))
        await runner.recover()
        assert await ended(runner) == [f"key@{at(2.5)}"]


async def test_a_schedule_of_another_workflow_is_replaced_only_if_that_is_said(store: Store) -> None:
    one, two = Noted("one"), Noted("two")
    async with running(store, one.workflow, two.workflow) as runner:
        await runner.schedule(one.workflow, HOUR, key="key")
        with pytest.raises(ScheduleConflict, match="'key' starts runs of workflow 'one': give another key, or replace"):
            await runner.schedule(two.workflow, HOUR, key="key")
        assert (await runner.schedule(two.workflow, HOUR, key="key", replace=True)).workflow == "two"


async def test_a_schedule_is_paused_and_resumed(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        assert (await runner.schedules.pause("key")).paused
        assert (await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")).paused
        clock.pass_(2.5 * HOUR)
        await runner.recover()
        resumed = await runner.schedules.resume("key")
        assert (resumed.paused, resumed.next_due) == (False, NEW_YEAR + 3 * HOUR)
        clock.pass_(HOUR)
        await runner.recover()
        await ended(runner)
        again = await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all", paused=True)
        clock.pass_(5 * HOUR)
        back = await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all", paused=False)
        assert (again.paused, back.paused, back.next_due) == (True, False, NEW_YEAR + 9 * HOUR)
    assert noted.dues == [at(3)]


async def test_schedules_are_listed_and_deleted(store: Store) -> None:
    work = Chain("work", [NOTHING])
    async with running(store, work) as runner:
        for key in "cab":
            await runner.schedule(work, HOUR, key=key)
        page = await runner.schedules.list(limit=2)
        assert [each.key for each in page.items] == ["a", "b"]
        assert [each.key for each in (await runner.schedules.list(after=page.next)).items] == ["c"]
        await runner.schedules.delete("a")
        for asked in (runner.schedules.get, runner.schedules.pause, runner.schedules.resume, runner.schedules.delete):
            with pytest.raises(ScheduleNotFound, match="no schedule 'a' in this store"):
                await asked("a")
        with pytest.raises(ScheduleNotFound):
            await runner.schedules.next_times("a")
    with pytest.raises(RunnerNotOpen):
        await runner.schedules.list()


async def test_a_schedule_that_is_over_stays_and_starts_nothing(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", until=NEW_YEAR + 2 * HOUR, missed="all")
        assert len(await runner.schedules.next_times("key")) == 2
        clock.pass_(9 * HOUR)
        await runner.recover()
        await ended(runner)
        assert (await runner.schedules.get("key")).next_due is None
        assert await runner.schedules.next_times("key") == ()
        assert (await runner.schedules.resume("key")).next_due is None
    assert noted.dues == [at(1), at(2)]


async def test_somebody_who_changes_a_schedule_meanwhile_is_not_overruled(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        create, save = store.create, store.save_schedule

        async def changed_before(run: Any) -> Any:
            store.create = create  # type: ignore[method-assign]  # once
            await runner.schedules.pause("key")
            return await create(run)

        async def saved_before(schedule: StoredSchedule) -> StoredSchedule:
            store.save_schedule = save  # type: ignore[method-assign]  # once
            await save(await store.schedule("key"))
            return await save(schedule)

        store.create = changed_before  # type: ignore[method-assign]  # between its being read and its run
        clock.pass_(HOUR)
        await runner.recover()
        assert await ended(runner) == []
        store.save_schedule = saved_before  # type: ignore[method-assign]  # the same
        await runner.schedules.resume("key")
        store.save_schedule = saved_before  # type: ignore[method-assign]  # the same
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="skip")
        clock.pass_(HOUR)
        await runner.recover()
        assert await ended(runner) == [f"key@{at(2)}"]


# what runs start with


class Report(BaseModel):
    day: datetime
    title: str = "none"


async def test_the_time_goes_into_a_typed_state(store: Store) -> None:
    clock, seen = Clock(), list[Report]()
    work = Chain("work", [step("see", seen.append, inline=True)], state=Report)
    async with running(store, work, clock=clock) as runner:
        await runner.schedule(work, HOUR, key="key", state={"title": "a"}, due_as="day")
        await runner.schedule(work, HOUR, key="model", state=Report(day=NEW_YEAR, title="b"), due_as="day")
        clock.pass_(HOUR)
        await runner.recover()
        await ended(runner)
        await ended(runner, "model")
    assert sorted((each.title, each.day) for each in seen) == [("a", NEW_YEAR + HOUR), ("b", NEW_YEAR + HOUR)]


REFUSED: Mapping[str, tuple[dict[str, Any], str | None]] = {
    "no times": ({"when": 0}, "give at least a millisecond, or a cron text"),
    "negative": ({"when": -1}, "when=-1: "),
    "endless": ({"when": float("inf")}, "when=inf: "),
    "no cron text": ({"when": "never"}, "'never' is no cron text of 5 fields"),
    "no day": ({"when": "0 0 30 2 *"}, "is no cron text: Bad day-of-month"),
    "too far": ({"when": timedelta(days=10**7)}, "names no time that has a date"),
    "over": ({"when": "0 0 29 2 MON#5", "until": NEW_YEAR}, None),
    "zone": ({"when": DAILY, "timezone": "Mars"}, "there is no time zone 'Mars'"),
    "missed": ({"missed": "twice"}, "missed='twice': give one of 'skip', 'once', 'all'"),
    "overlap": ({"overlap": "wait"}, "overlap='wait': give one of 'start', 'skip'"),
    "both": ({"missed": "all", "overlap": "skip"}, "which overlap='skip' forbids"),
    "naive": ({"until": datetime(2026, 1, 1)}, "give a datetime with a time zone"),  # noqa: DTZ001  # that is the point
    "jitter": ({"jitter": 3600}, "give less than the 1:00:00 between two of its times"),
    "jitter of cron": ({"when": "0,5 * * * *", "jitter": 300}, "give less than the 0:05:00 between"),
    "label": ({"labels": {"schedule": "mine"}}, "call yours something else"),
    "labels": ({"labels": {str(n): "x" for n in range(16)}}, "there are 17 of them"),
    "key": ({"key": ""}, "key=''"),
    "long key": ({"key": "x" * 201}, "is not a pair of texts"),
    "lists": ({"state": {"turns": Continued("r1", 2)}}, "go on with the list of another run"),
    "bytes": ({"typed": Gallery, "state": Gallery(cover=Picture(data=b"x"))}, "it keeps no bytes beside the state"),
    "field": ({"due_as": "when", "typed": Report}, "has no such field"),
}


@pytest.mark.parametrize(("options", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_makes_no_sense_is_refused(options: dict[str, Any], why: str | None) -> None:
    clock, work = Clock(), Chain("work", [NOTHING])
    if "typed" in options:
        work = Chain("work", [NOTHING], state=options["typed"])
    async with running(MemoryStore(), work, clock=clock) as runner:
        given = {"when": HOUR, "key": "key", **{name: option for name, option in options.items() if name != "typed"}}
        if why is None:
            assert (await runner.schedule(work, **given)).next_due is None
            return
        with pytest.raises(ValueError, match=why):
            await runner.schedule(work, **given)
        assert (await runner.schedules.list()).items == ()


async def test_what_cannot_be_stored_or_is_unknown_is_refused() -> None:
    work, typed = Chain("work", [NOTHING]), Chain("typed", [NOTHING], state=Report)
    async with running(MemoryStore(max_value=1_000), work, typed, secrets={"token": "very-secret-text"}) as runner:
        with pytest.raises(CannotStore):
            await runner.schedule(typed, HOUR, key="key", state={"title": "x"})
        for given in ({"state": {"x": "very-secret-text"}}, {"labels": {"x": "very-secret-text"}}):
            with pytest.raises(CannotStore, match="secret"):
                await runner.schedule(work, HOUR, key="key", **given)  # type: ignore[arg-type]  # either
        with pytest.raises(CannotStore, match="secret"):
            await runner.schedule(work, HOUR, key="very-secret-text")
        with pytest.raises(ValueTooLarge, match="x of the input of 'work'"):
            await runner.schedule(work, HOUR, key="key", state={"x": "y" * 2_000})
        with pytest.raises(DefinitionError, match="does not know"):
            await runner.schedule(Chain("other", [NOTHING]), HOUR, key="key")


async def test_a_cron_text_without_its_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cronsim", None)
    work = Chain("work", [NOTHING])
    async with running(MemoryStore(), work) as runner:
        with pytest.raises(ExtraMissing, match=r"A cron text needs cronsim, which is not installed: .*\[schedules\]"):
            await runner.schedule(work, DAILY, key="key")
        assert (await runner.schedule(work, HOUR, key="key")).paused is False


# failures


async def test_a_start_that_fails_is_shown_and_stops_no_other(store: Store) -> None:
    clock, noted, gone = Clock(), Noted(), Noted("gone")
    async with running(store, noted.workflow, gone.workflow, clock=clock) as runner:
        await runner.schedule(gone.workflow, HOUR, key="gone", due_as="at", missed="once")
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at")
    clock.pass_(HOUR)
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.recover()
        await ended(runner)
        seen = await runner.schedules.get("gone")
        assert (seen.failures, seen.next_due, seen.last_run) == (1, NEW_YEAR + HOUR, None)
        assert seen.error is not None
        assert "gone" in seen.error
        clock.pass_(timedelta(seconds=30))
        await runner.recover()
        assert (await runner.schedules.get("gone")).failures == 2
    clock.pass_(timedelta(seconds=30))
    async with running(store, gone.workflow, clock=clock) as runner:
        await runner.recover()
        await ended(runner, "gone")
        seen = await runner.schedules.get("gone")
        assert (seen.failures, seen.error, seen.next_due) == (0, None, NEW_YEAR + 2 * HOUR)
    assert (noted.dues, gone.dues) == ([at(1)], [at(1)])


async def test_one_of_several_missed_that_fails_loses_none(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        clock.pass_(3 * HOUR)
        create, calls = store.create, []

        async def fails_once(run: Any) -> Any:
            calls.append(run)
            if len(calls) == 2:
                raise ValueError("nobody knows why")
            return await create(run)

        store.create = fails_once  # type: ignore[method-assign]  # what is tested
        await runner.recover()
        assert (await runner.schedules.get("key")).failures == 1
        clock.pass_(timedelta(seconds=30))
        await runner.recover()
        await ended(runner)
    assert noted.dues == [at(1), at(2), at(3)]


async def test_what_another_version_has_stored_is_shown_as_a_failure(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        due = NEW_YEAR
        await store.save_schedule(StoredSchedule("key", "work", b'{"state":{},"later":1}', due, due, due))
        await runner.recover()
        stored = await store.schedule("key")
        assert stored.failures == 1
        assert stored.error is not None
        assert "makes no sense to this version" in stored.error
        with pytest.raises(ScheduleNotReadable, match="schedule 'key' makes no sense"):
            await runner.schedules.get("key")
        page = await runner.schedules.list()
        assert [each.key for each in page.damaged if isinstance(each, CorruptSchedule)] == ["key"]
        assert page.items == ()
        again = await runner.schedule(noted.workflow, HOUR, key="key")
        assert again.next_due == NEW_YEAR + HOUR


async def test_one_that_is_damaged_is_logged_once_and_stops_no_other(caplog: pytest.LogCaptureFixture) -> None:
    clock, noted, store = Clock(), Noted(), MemoryStore()
    async with running(store, noted.workflow, clock=clock) as runner:
        for key in ("bad", "key"):
            await runner.schedule(noted.workflow, HOUR, key=key, due_as="at")
        assert store._connection is not None
        store._connection.execute("UPDATE schedules SET look_at = -4611686018427387904 WHERE key = 'bad'")
        for hour in (1, 2):
            clock.pass_(HOUR)
            await runner.recover()
            assert len(await ended(runner)) == hour
        (told,) = [record.getMessage() for record in caplog.records if "schedule not readable" in record.getMessage()]
        assert "schedule 'bad' cannot be used" in told
        page = await runner.schedules.list()
        assert ([each.key for each in page.items], [each.run_id for each in page.damaged]) == (["key"], [None])
        await runner.schedule(noted.workflow, HOUR, key="bad", due_as="at")
        assert (await runner.schedules.list()).damaged == ()
    assert noted.dues == [at(1), at(2)]


@pytest.mark.parametrize("method", ["create", "save_schedule", "due_schedules"])
async def test_a_store_that_is_full_is_tried_again(store: Store, method: str) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="once")
        await runner.schedule(noted.workflow, HOUR, key="skipped", due_as="at")
    clock.pass_(1.5 * HOUR)
    async with running(store, noted.workflow, clock=clock) as runner:
        Fault(store, method, StoreFull(Path("runs.db")))
        with pytest.raises(StoreFull):
            await runner.recover()
        await runner.recover()
        await ended(runner)
    assert noted.dues == [at(1)]


async def test_a_failure_that_cannot_be_noted_is_told(store: Store) -> None:
    clock, gone, noted = Clock(), Noted("gone"), Noted()
    async with running(store, gone.workflow, clock=clock) as runner:
        await runner.schedule(gone.workflow, HOUR, key="key", missed="once")
    clock.pass_(HOUR)
    async with running(store, noted.workflow, clock=clock) as runner:
        Fault(store, "save_schedule", StoreFull(Path("runs.db")))
        with pytest.raises(StoreFull):
            await runner.recover()
        save = store.save_schedule

        async def deleted_before(schedule: StoredSchedule) -> StoredSchedule:
            await store.delete_schedule("key")
            return await save(schedule)

        store.save_schedule = deleted_before  # type: ignore[method-assign]  # between its being read and saved
        await runner.recover()
        assert (await runner.schedules.list()).items == ()


async def test_a_schedule_that_was_made_anew_gives_no_time_a_second_run(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock, keep_for=timedelta(days=1)) as runner:
        for _ in range(2):
            await runner.schedule(noted.workflow, HOUR, key="key", due_as="at")
            clock.pass_(HOUR)
            await runner.recover()
            (key,) = await ended(runner)
            clock.pass_(-HOUR)
            seen = await runner.schedules.get("key")
            assert (key, seen.last_due) == (f"key@{at(1)}", NEW_YEAR + HOUR)
            await runner.schedules.delete("key")
        await runner.start(noted.workflow, {"at": "by hand"}, key=f"hand@{at(1)}", keep="none")
        await until(lambda: len(noted.dues) == 2)
        while (await runner.runs.list()).items[1:]:  # until the run is forgotten
            pass
        await runner.schedule(noted.workflow, HOUR, key="hand", due_as="at")
        clock.pass_(HOUR)
        await runner.recover()
        assert await ended(runner, "hand") == []
        assert (await runner.schedules.get("hand")).last_run is not None
    assert noted.dues == [at(1), "by hand"]


# processes


async def test_two_owners_one_after_the_other_start_each_time_once(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with dying(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        clock.pass_(2 * HOUR)
        await runner.recover()
    clock.pass_(HOUR)
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.recover()
        assert await ended(runner) == [f"key@{at(number)}" for number in (1, 2, 3)]


async def test_two_owners_at_once_start_each_time_once() -> None:
    clock, noted = Clock(), Noted()
    store = MemoryStore(owners=2)
    options: dict[str, Any] = {"workflows": [noted.workflow], "clock": clock}
    with anyio.fail_after(PATIENCE):
        async with store, Runner(store, **options) as one, Runner(store, **options) as two:
            await one.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
            clock.pass_(2 * HOUR)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one.recover)
                tasks.start_soon(two.recover)
            await until(lambda: len(noted.dues) == 2)
    assert sorted(noted.dues) == [at(1), at(2)]


async def test_a_runner_that_is_left_starts_no_more(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.schedule(noted.workflow, HOUR, key="key", due_as="at", missed="all")
        clock.pass_(HOUR)
        runner._open().starter.stop()
        await runner.recover()
        assert await ended(runner) == []
        assert (await runner.schedules.get("key")).failures == 0
    async with running(store, noted.workflow, clock=clock) as runner:
        await runner.recover()
        assert await ended(runner) == [f"key@{at(1)}"]


async def test_many_that_are_due_start_together(store: Store) -> None:
    clock, noted = Clock(), Noted()
    async with running(store, noted.workflow, clock=clock) as runner:
        for number in range(120):
            await runner.schedule(noted.workflow, HOUR, key=f"key {number}", due_as="at")
        clock.pass_(HOUR)
        await runner.recover()
        await until(lambda: len(noted.dues) == 120)


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_schedules_are_read_beside_the_owner(tmp_path: Path) -> None:
    store, work = SqliteStore(tmp_path / "runs.db"), Chain("work", [NOTHING])
    async with running(store, work) as runner:
        made = await runner.schedule(work, HOUR, key="key")
        async with SqliteStore.reader(tmp_path / "runs.db") as reader:
            assert Schedule.of(await reader.schedule("key")) == made
            assert len((await reader.schedules()).items) == 1


def test_a_schedule_is_a_value() -> None:
    made = Schedule(key="key", workflow="work", when=HOUR, created_at=NEW_YEAR)
    assert (made.missed, made.paused, made.next_due) == ("skip", False, None)
    assert issubclass(ScheduleRefused, ValueError)
