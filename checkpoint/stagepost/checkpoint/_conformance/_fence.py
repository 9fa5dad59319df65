"""The fence, all-or-nothing, and the ends of runs."""

from typing import Final

from .._records import Closing, Commit, ItemStatus, Joined, RunStatus
from .._store import CheckpointStore
from ..errors import CancelRequested, OwnershipLost, RunNotFound, RunNotOpen, StaleCheckpoint
from ._words import Check, a_frame, an_item, claimed, end, equal, one_of_each, refuses, started, started_fan


async def check_a_claim_fences_the_owner_before(store: CheckpointStore) -> None:
    """Every part of a commit by an older claim is refused, and nothing of it is saved."""
    old = await started_fan(store, "run")
    new = await claimed(store, "run")
    before = await store.load("run")
    equal((new.epoch, before.run.epoch, before.run.owner), (old.epoch + 1, old.epoch + 1, None))
    for change in one_of_each(old):
        with refuses(OwnershipLost, change):
            await store.commit(change)
        equal(await store.load("run"), before)
    await store.commit(Commit(lease=new, frame=a_frame(3)))


async def check_a_cancelling_run_takes_no_commit_but_its_end(store: CheckpointStore) -> None:
    """The wish is kept, refuses every part of any other commit, and passes over to whoever claims the run."""
    old = await started_fan(store, "run")
    await store.cancel("run")
    await store.cancel("run")  # a wish may be said twice
    lease = await claimed(store, "run")
    before = await store.load("run")
    equal((before.run.cancelling, before.run.status), (True, RunStatus.RUNNING))
    for change in one_of_each(lease):
        with refuses(CancelRequested, change):
            await store.commit(change)
        equal(await store.load("run"), before)
    gone = an_item("fan", 0)._replace(status=ItemStatus.CANCELLED)
    end = Commit(lease=lease, outcomes=[gone], closing=Closing(RunStatus.CANCELLED))
    with refuses(OwnershipLost, end):
        await store.commit(end._replace(lease=old))
    await store.commit(end)
    after = await store.load("run")
    equal((after.run.status, after.items[0].status), (RunStatus.CANCELLED, ItemStatus.CANCELLED))


async def check_only_an_open_run_can_be_cancelled(store: CheckpointStore) -> None:
    """One that has ended is refused, and so is one that never was."""
    for status in (RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED):
        lease = await started(store, status)
        await store.commit(Commit(lease=lease, closing=Closing(status)))
        with refuses(RunNotOpen):
            await store.cancel(status)
    with refuses(RunNotFound):
        await store.cancel("unknown")


async def check_a_refused_commit_saves_nothing(store: CheckpointStore) -> None:
    """All or nothing: what came before the refused part is undone."""
    lease = await started_fan(store, "run")
    before = await store.load("run")
    settled = an_item("fan", 0)._replace(status=ItemStatus.OK, value=b"1")
    good = Commit(lease=lease, frame=a_frame(3), frozen=[an_item("new", 0)], outcomes=[settled], ended="fan[1]")
    unknown = settled._replace(idx=9)
    for bad in (
        good._replace(frozen=[an_item("new", 0), an_item("fan", 1)]),
        good._replace(outcomes=[settled, unknown]),
        good._replace(outcomes=[settled, unknown], closing=Closing(RunStatus.COMPLETED)),
        good._replace(frame=None, outcomes=[unknown], joined=Joined("fan", 0)),
    ):
        with refuses(StaleCheckpoint):
            await store.commit(bad)
        equal(await store.load("run"), before)
    await store.commit(good)


async def check_closing_writes_status_error_and_time(store: CheckpointStore) -> None:
    """The last step's commit carries the run's end; any text is good enough for an error."""
    for status, error in ((RunStatus.COMPLETED, None), (RunStatus.FAILED, "no such file: 'caf\udce9\x00'")):
        lease = await started(store, status)
        await store.commit(Commit(lease=lease, frame=a_frame(2), closing=Closing(status, error)))
        snapshot = await store.load(status)
        equal((snapshot.run.status, snapshot.root), (status, a_frame(2)))
        equal((snapshot.run.error or "")[:15], (error or "")[:15])
        finished = snapshot.run.finished_at
        equal(finished is not None and finished >= snapshot.run.created_at, True)


async def check_an_ended_run_takes_no_commits(store: CheckpointStore) -> None:
    """Neither by any part of a commit nor by a claim."""
    for status in (RunStatus.COMPLETED, RunStatus.FAILED):
        lease = await started_fan(store, status)
        await store.commit(Commit(lease=lease, closing=Closing(status)))
        before = await store.load(status)
        for change in one_of_each(lease):
            with refuses(RunNotOpen, change):
                await store.commit(change)
        with refuses(RunNotOpen):
            await claimed(store, status)
        equal(await store.load(status), before)


async def check_a_completed_run_is_never_reopened(store: CheckpointStore) -> None:
    """Only failures can be resumed."""
    await started(store, "run")
    await end(store, "run", RunStatus.COMPLETED)
    with refuses(RunNotOpen):
        await claimed(store, "run", reopen=True)


async def check_a_failed_run_is_reopened_with_its_items_waiting(store: CheckpointStore) -> None:
    """Failed and cancelled items wait again; those that are ok keep their values."""
    lease = await started(store, "run")
    fan = [an_item("fan", idx) for idx in range(4)]
    ok = fan[0]._replace(status=ItemStatus.OK, value=b"7")
    ends = [ok, fan[1]._replace(status=ItemStatus.FAILED, error="broken"), fan[2]._replace(status=ItemStatus.CANCELLED)]
    await store.commit(Commit(lease=lease, frame=a_frame(2), frozen=fan))
    await store.commit(Commit(lease=lease, outcomes=ends, closing=Closing(RunStatus.FAILED, "broken")))
    new = await claimed(store, "run", reopen=True)
    snapshot = await store.load("run")
    run = snapshot.run
    equal((run.status, run.error, run.finished_at, run.owner), (RunStatus.RUNNING, None, None, None))
    equal((new.epoch, run.epoch, list(snapshot.items)), (lease.epoch + 1, lease.epoch + 1, [ok, *fan[1:]]))
    await store.commit(
        Commit(lease=new, frame=a_frame(3), outcomes=[fan[1]._replace(status=ItemStatus.OK, value=b"1")])
    )


async def check_a_failure_keeps_its_error_and_its_traceback(store: CheckpointStore) -> None:
    """Both come back, also where they hold characters that mean something to whoever stores them."""
    for number, (error, traceback) in enumerate([("why", "a\nb"), ("why\x1e", "\udce9"), ("why", None), ("", "")]):
        lease = await started(store, f"run-{number}")
        await store.commit(Commit(lease=lease, closing=Closing(RunStatus.FAILED, error, traceback)))
        info = await store.info(f"run-{number}")
        shown = traceback and traceback.encode(errors="backslashreplace").decode()
        equal((info.error, info.traceback), (error.replace("\x1e", " "), shown))


async def check_reopening_a_running_run_claims_it(store: CheckpointStore) -> None:
    """So that `resume` of a run whose process died needs no second way."""
    lease = await started_fan(store, "run")
    items = (await store.load("run")).items
    new = await claimed(store, "run", reopen=True)
    equal((new.epoch, (await store.load("run")).items), (lease.epoch + 1, items))


CHECKS: Final[tuple[Check, ...]] = (
    check_a_claim_fences_the_owner_before,
    check_a_cancelling_run_takes_no_commit_but_its_end,
    check_only_an_open_run_can_be_cancelled,
    check_a_refused_commit_saves_nothing,
    check_closing_writes_status_error_and_time,
    check_an_ended_run_takes_no_commits,
    check_a_completed_run_is_never_reopened,
    check_a_failed_run_is_reopened_with_its_items_waiting,
    check_a_failure_keeps_its_error_and_its_traceback,
    check_reopening_a_running_run_claims_it,
)
