"""Finding runs by more than one status and by time, and forgetting those that have ended."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from .._outside import StoredValue
from .._records import Closing, Commit, Keep, RunStatus
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus, NewWait, WaitKind
from ..errors import RunNotEnded, RunNotFound
from ._words import (
    Check,
    a_frame,
    an_item,
    claimed,
    end,
    equal,
    found_ids,
    lease_of,
    new_run,
    refuses,
    started,
    started_fan,
)

_A_MOMENT = timedelta(microseconds=1)


async def check_find_takes_several_statuses(store: CheckpointStore) -> None:
    """Any of those that are named."""
    for run_id, status in (("a", None), ("b", RunStatus.COMPLETED), ("c", RunStatus.FAILED), ("d", RunStatus.DEAD)):
        await started(store, run_id)
        if status is not None:
            await end(store, run_id, status)
    equal(await found_ids(store, status={RunStatus.COMPLETED, RunStatus.FAILED}), "bc")
    equal(await found_ids(store, status=[RunStatus.RUNNING, RunStatus.DEAD]), "ad")
    equal(await found_ids(store, status=[]), "")


async def check_find_takes_a_time(store: CheckpointStore) -> None:
    """From a time on, and up to one."""
    await started(store, "a")
    at = (await store.load("a")).run.created_at
    equal(await found_ids(store, since=at, until=at + _A_MOMENT), "a")
    equal(await found_ids(store, since=at + _A_MOMENT), "")
    equal(await found_ids(store, until=at), "")


async def check_a_run_that_has_ended_can_be_deleted(store: CheckpointStore) -> None:
    """With all that is stored of it, whatever its end; its id and key are free again, and no other run is touched."""
    await started_fan(store, "other")
    before = await store.load("other")
    for status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED, RunStatus.DEAD):
        lease, _ = await store.create(replace(new_run("run", key="once")))
        equal(lease is not None, True)
        lease = await claimed(store, "run")
        await store.commit(
            Commit(
                lease=lease,
                frame=a_frame(2),
                frozen=[an_item("fan", 0)],
                values=[StoredValue("", 2, None, b"1")],
                effects=[Effect("step", "key", EffectStatus.INTENT)],
            )
        )
        await store.wait(lease, NewWait("step", WaitKind.SIGNAL, "name"))
        await store.signal("run", "other name", b"1")
        await store.commit(Commit(lease=lease, closing=Closing(status, heard=1)))
        await store.delete("run")
        with refuses(RunNotFound):
            await store.load("run")
        with refuses(RunNotFound):
            await store.delete("run")
    equal(await found_ids(store), "other")
    equal(await store.load("other"), before)


async def check_an_open_run_is_not_deleted(store: CheckpointStore) -> None:
    """Neither while it runs nor while it rests."""
    lease = await started_fan(store, "run")
    before = await store.load("run")
    with refuses(RunNotEnded):
        await store.delete("run")
    equal(await store.load("run"), before)
    await store.wait(lease, NewWait("step", WaitKind.ANSWER, "step"))
    await store.park(lease, 0)
    with refuses(RunNotEnded):
        await store.delete("run")


async def check_prune_deletes_what_ended_before_a_time(store: CheckpointStore) -> None:
    """The oldest first, in small numbers; neither later ones nor open ones."""
    for run_id in "abcde":
        await started(store, run_id)
    for run_id in "dbca":
        await end(store, run_id, RunStatus.COMPLETED)
    ends = {run.run_id: run.finished_at for run in (await store.find()).items if run.finished_at is not None}
    equal(await store.prune(min(ends.values())), 0)
    after_all = max(ends.values()) + _A_MOMENT
    equal(await store.prune(after_all, limit=1), 1)
    equal(len(await found_ids(store)), 4)
    equal(await store.prune(after_all), 3)
    equal(await store.prune(after_all), 0)
    equal(await found_ids(store), "e")


async def check_a_run_that_was_opened_again_is_not_pruned(store: CheckpointStore) -> None:
    """Its end is forgotten when it is resumed."""
    await started(store, "run")
    await end(store, "run", RunStatus.FAILED)
    await claimed(store, "run", reopen=True)
    equal(await store.prune(datetime(3000, 1, 1, tzinfo=UTC)), 0)
    equal(await found_ids(store), "run")


async def check_runs_below_another_are_deleted_with_it(store: CheckpointStore) -> None:
    """Those that have ended; neither runs that are open nor other ones with a similar id."""
    for run_id in ("run", "run.a", "run.a.b", "run.open", "run-a", "run0"):
        await started(store, run_id)
        if run_id != "run.open":
            await end(store, run_id, RunStatus.COMPLETED)
    await store.delete("run")
    equal(sorted(run.run_id for run in (await store.find()).items), ["run-a", "run.open", "run0"])


async def check_runs_below_another_are_not_pruned_before_it(store: CheckpointStore) -> None:
    """However long ago they have ended; without any run around them they are like others."""
    for run_id in ("run", "run.a", "run.a.b", "gone.a"):
        await started(store, run_id)
        if run_id != "run":
            await end(store, run_id, RunStatus.COMPLETED)
    equal(await store.prune(datetime(3000, 1, 1, tzinfo=UTC)), 1)
    equal(sorted(run.run_id for run in (await store.find()).items), ["run", "run.a", "run.a.b"])
    await end(store, "run", RunStatus.COMPLETED)
    ended = (await store.info("run")).finished_at
    equal(ended is not None and await store.prune(ended), 0)
    equal(await store.prune(datetime(3000, 1, 1, tzinfo=UTC)), 3)


async def check_a_run_that_keeps_nothing_takes_those_below_it_along(store: CheckpointStore) -> None:
    """When it completes."""
    lease, _ = await store.create(replace(new_run("run"), keep=Keep.NONE))
    await started(store, "run.a")
    await end(store, "run.a", RunStatus.COMPLETED)
    await started(store, "other.a")
    await store.commit(Commit(lease=lease_of(lease), closing=Closing(RunStatus.COMPLETED)))
    equal(sorted(run.run_id for run in (await store.find()).items), ["other.a"])


CHECKS: Final[tuple[Check, ...]] = (
    check_find_takes_several_statuses,
    check_find_takes_a_time,
    check_a_run_that_has_ended_can_be_deleted,
    check_an_open_run_is_not_deleted,
    check_prune_deletes_what_ended_before_a_time,
    check_a_run_that_was_opened_again_is_not_pruned,
    check_runs_below_another_are_deleted_with_it,
    check_runs_below_another_are_not_pruned_before_it,
    check_a_run_that_keeps_nothing_takes_those_below_it_along,
)
