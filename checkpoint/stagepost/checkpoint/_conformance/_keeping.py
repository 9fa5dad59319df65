"""What stays of a run: its result, its whole history, or nothing."""

from dataclasses import replace
from typing import Final

from .._outside import Ref, StoredValue
from .._records import Closing, Commit, Keep, Lease, RunStatus
from .._store import CheckpointStore
from ..errors import RunNotFound, StaleCheckpoint
from ._words import Check, a_frame, claimed, equal, lease_of, new_run, refuses, started


async def kept(store: CheckpointStore, run_id: str, keep: Keep) -> Lease:
    """The lease of a run of which this stays."""
    lease, info = await store.create(replace(new_run(run_id), keep=keep))
    equal(info.keep, keep)
    return lease_of(lease)


async def check_a_run_that_keeps_all_has_every_version(store: CheckpointStore) -> None:
    """Of all its branches, in the order in which they were saved, those of an ended branch and by a later owner too."""
    lease = await kept(store, "run", Keep.ALL)
    frames = [a_frame(1), a_frame(2, x=1), a_frame(1, "fan[0]", y=1), a_frame(2, "fan[0]", y=2), a_frame(3, x=2)]
    for frame in frames[1:4]:
        await store.commit(Commit(lease=lease, frame=frame))
    lease = await claimed(store, "run")
    await store.commit(Commit(lease=lease, frame=frames[4], ended="fan[0]", closing=Closing(RunStatus.COMPLETED)))
    history = (await store.history("run")).items
    equal([version.frame for version in history], frames)
    equal([version.number for version in history], [1, 2, 3, 4, 6])  # 5 is that it was claimed
    equal([version.number for version in (await store.history("run", after="2", limit=2)).items], [3, 4])
    equal((await store.load("run")).frames, {"": frames[4]})


async def check_a_version_has_all_its_values(store: CheckpointStore) -> None:
    """Also those that live outside of the frame and were written again, or grew, later."""
    lease = await kept(store, "run", Keep.ALL)
    first = a_frame(2, x=1)._replace(refs={"large": Ref(2), "list": Ref(4, 1)})
    second = a_frame(3, x=2)._replace(refs={"large": Ref(3), "list": Ref(4, 2)})
    rows = [StoredValue("", 2, None, b"20"), StoredValue("", 4, 0, b"0")]
    await store.commit(Commit(lease=lease, frame=first, values=rows))
    rows = [StoredValue("", 3, None, b"30"), StoredValue("", 4, 1, b"1")]
    await store.commit(Commit(lease=lease, frame=second, values=rows))
    _, *versions = (await store.history("run")).items
    equal(
        [dict(version.frame.state) for version in versions],
        [{"x": b"1", "large": b"20", "list": b"[0]"}, {"x": b"2", "large": b"30", "list": b"[0,1]"}],
    )


async def check_a_refused_commit_is_no_history(store: CheckpointStore) -> None:
    """All or nothing holds for the history as well."""
    lease = await kept(store, "run", Keep.ALL)
    for frame in (a_frame(3), a_frame(1)):
        with refuses(StaleCheckpoint):
            await store.commit(Commit(lease=lease, frame=frame))
    equal(len((await store.history("run")).items), 1)


async def check_a_run_that_keeps_its_result_has_no_history(store: CheckpointStore) -> None:
    """That is what is kept if nothing is said."""
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2)))
    equal(((await store.load("run")).run.keep, list((await store.history("run")).items)), (Keep.RESULT, []))
    with refuses(RunNotFound):
        await store.history("unknown")


async def check_a_run_that_keeps_nothing_is_gone_at_its_end(store: CheckpointStore) -> None:
    """When it has completed or was cancelled, and whoever claimed it; a failed one stays, to be resumed."""
    for status in (RunStatus.COMPLETED, RunStatus.CANCELLED, RunStatus.FAILED, RunStatus.DEAD):
        await kept(store, status, Keep.NONE)
        lease = await claimed(store, status)
        await store.commit(Commit(lease=lease, frame=a_frame(2), closing=Closing(status)))
    for status in (RunStatus.COMPLETED, RunStatus.CANCELLED):
        with refuses(RunNotFound):
            await store.load(status)
    equal(sorted(run.run_id for run in (await store.find()).items), [RunStatus.DEAD, RunStatus.FAILED])
    lease = await claimed(store, RunStatus.FAILED, reopen=True)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))
    equal(sorted(run.run_id for run in (await store.find()).items), [RunStatus.DEAD])


CHECKS: Final[tuple[Check, ...]] = (
    check_a_run_that_keeps_all_has_every_version,
    check_a_version_has_all_its_values,
    check_a_refused_commit_is_no_history,
    check_a_run_that_keeps_its_result_has_no_history,
    check_a_run_that_keeps_nothing_is_gone_at_its_end,
)
