"""Items: frozen, settled once, deleted by their join and nothing else with them."""

from dataclasses import replace
from typing import Final

from .._ownership import Cancelled
from .._records import Closing, Commit, ItemStatus, Joined, RunStatus
from .._store import CheckpointStore
from .._waiting import NewWait, WaitKind
from ..errors import CancelRequested, StaleCheckpoint, WaitNotFound
from ._words import Check, a_frame, an_item, equal, lease_of, new_run, refuses, started


async def check_items_wait_until_they_are_settled(store: CheckpointStore) -> None:
    """Items are frozen as waiting, in order; outcomes carry a value or an error."""
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2), frozen=[an_item("fan", idx) for idx in (2, 0, 1)]))
    waiting = [an_item("fan", idx) for idx in range(3)]
    equal(list((await store.load("run")).items), waiting)
    settled = [
        waiting[0]._replace(status=ItemStatus.OK, value=b"7"),
        waiting[1]._replace(status=ItemStatus.FAILED, error="broken"),
        waiting[2]._replace(status=ItemStatus.CANCELLED),
    ]
    await store.commit(Commit(lease=lease, outcomes=settled[1:]))
    await store.commit(Commit(lease=lease, outcomes=settled[:1]))
    equal(list((await store.load("run")).items), settled)


async def check_a_stale_item_is_refused(store: CheckpointStore) -> None:
    """An item is frozen once and settled once."""
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frozen=[an_item("fan", 0), an_item("fan", 1)]))
    settled = an_item("fan", 0)._replace(status=ItemStatus.OK, value=b"1")
    await store.commit(Commit(lease=lease, outcomes=[settled]))
    before = await store.load("run")
    stale = {"frozen": [an_item("fan", 1)], "settled": [settled], "unknown": [settled._replace(idx=9)]}
    for name, items in stale.items():
        change = Commit(lease=lease, frozen=items) if name == "frozen" else Commit(lease=lease, outcomes=items)
        with refuses(StaleCheckpoint, name):
            await store.commit(change)
    equal(await store.load("run"), before)


async def check_a_join_deletes_its_items_and_all_below_them(store: CheckpointStore) -> None:
    """Frames and items of nested patterns go with the items that they belong to."""
    lease = await started(store, "run")
    below = ("fan[0]", "fan[10]", "fan[0]/inner[3]")
    for path in below:
        await store.commit(Commit(lease=lease, frame=a_frame(1, path), frozen=[an_item(f"{path}/inner", 0)]))
    await store.commit(Commit(lease=lease, frozen=[an_item("fan", 0), an_item("fan", 1)]))
    await store.commit(Commit(lease=lease, frame=a_frame(2), joined=Joined("fan", 0)))
    snapshot = await store.load("run")
    equal((snapshot.frames, list(snapshot.items)), ({"": a_frame(2)}, []))


async def check_a_join_deletes_nothing_else(store: CheckpointStore) -> None:
    """Siblings with similar names, other visits and other runs keep all they have."""
    lease, other = await started(store, "run"), await started(store, "other")
    names = ("fa", "fan-a", "fan_a", "fana", "fanA", "fan0", "FAN", "a-fan", "fan[", "x[0]/fan")
    for owner, paths in ((lease, names[:-2]), (lease, names[-1:]), (other, ("fan",))):
        for path in paths:
            change = Commit(lease=owner, frame=a_frame(1, f"{path}[0]"), frozen=[an_item(path, 0)])
            await store.commit(change)
    await store.commit(Commit(lease=lease, frozen=[an_item("fan", 0)._replace(visit=1)]))
    before = {run: await store.load(run) for run in ("run", "other")}
    await store.commit(Commit(lease=lease, joined=Joined("fan", 0)))
    for run, snapshot in before.items():
        equal(await store.load(run), snapshot)


async def check_a_join_ends_what_its_items_wait_for(store: CheckpointStore) -> None:
    """Open waits below go with the items; those that have ended stay, and so do those of others."""
    lease = await started(store, "run")
    below, others = ("fan[0]/ask#0.0", "fan[1]#0"), ("fan", "fan-a[0]#0", "a[0]/fan[1]#0")
    for place in (*below, "fan[2]#0", *others):
        await store.wait(lease, NewWait(place, WaitKind.ANSWER, "ask"))
    await store.answer("run", "fan[2]#0", b"1")
    await store.commit(Commit(lease=lease, frame=a_frame(2), joined=Joined("fan", 0)))
    waits = (await store.load("run")).waits
    equal(sorted(wait.place for wait in waits), sorted(("fan[2]#0", *others)))
    with refuses(WaitNotFound, "fan[1]#0"):
        await store.answer("run", "fan[1]#0", b"1")
    equal(await store.park(lease, 1), True)


async def check_a_join_cancels_what_its_lost_items_have_started(store: CheckpointStore) -> None:
    """Open runs that steps below them have started, and all below those; and no others. The owner hears of it."""
    me = await store.join("me")
    begun = {
        "run": None,
        "run.lost": "fan[0]/ask#0.0",
        "run.lost.below": "fan[1]",
        "run.itself": "fan[0]",
        "run.won": "fan[1]/ask",
        "run.tenth": "fan[10]",
        "run.elsewhere": "fan-a[0]",
        "run.nobodys": None,
        "runs.lost": "fan[0]",
        "run.over": "fan[0]/ask",
    }
    leases = {
        name: lease_of((await store.create(replace(new_run(name), owner=me.id, place=place)))[0])
        for name, place in begun.items()
    }
    await store.commit(Commit(lease=leases["run.over"], closing=Closing(RunStatus.COMPLETED)))
    await store.commit(Commit(lease=leases["run"], frozen=[an_item("fan", 0), an_item("fan", 1)]))
    changes = store.changes(me)
    await store.commit(Commit(lease=leases["run"], frame=a_frame(2), joined=Joined("fan", 0, lost=[0])))
    lost = ("run.itself", "run.lost", "run.lost.below")
    equal(tuple(sorted([name for name in begun if (await store.info(name)).cancelling])), lost)
    for name in lost:
        with refuses(CancelRequested, name):
            await store.commit(Commit(lease=leases[name], frame=a_frame(2)))
    equal({await anext(changes) for _ in lost}, {Cancelled(name, 1) for name in lost})


CHECKS: Final[tuple[Check, ...]] = (
    check_items_wait_until_they_are_settled,
    check_a_stale_item_is_refused,
    check_a_join_deletes_its_items_and_all_below_them,
    check_a_join_deletes_nothing_else,
    check_a_join_ends_what_its_items_wait_for,
    check_a_join_cancels_what_its_lost_items_have_started,
)
