"""Recoveries are counted, shapes are kept, and a run can become one of another version of its workflow."""

from dataclasses import replace
from typing import Final

from .._outside import Ref, StoredValue
from .._records import Closing, Commit, ItemStatus, Migrated, RunStatus, Shape
from .._store import CheckpointStore
from .._waiting import NewWait, WaitKind
from ..errors import OwnershipLost, RunNotFound
from ._words import Check, a_frame, an_item, claimed, equal, new_run, refuses, started, started_fan


async def check_deaths_of_owners_count_until_a_commit_gets_somewhere(store: CheckpointStore) -> None:
    """Not so claims after an owner has left, or again by the same one; a dead run begins anew when it is reopened."""
    for run_id in ("run", "dead"):
        await started(store, run_id)  # by an owner that is none any more
        lease = await claimed(store, run_id)
        equal((await store.info(run_id)).attempts, 1)
        lease = await claimed(store, run_id)
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.DEAD, "too often")))
    await claimed(store, "dead", reopen=True)
    equal((await store.info("dead")).attempts, 0)
    owner = await store.join("me")
    for _ in range(2):
        lease = await store.claim(owner, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2)))
    equal((await store.info("run")).attempts, 1)
    await store.commit(Commit(lease=lease, frame=a_frame(3), progresses=True))
    equal((await store.info("run")).attempts, 0)


async def check_what_is_known_of_a_run_is_read_alone(store: CheckpointStore) -> None:
    """The same as with its state."""
    await started_fan(store, "run")
    equal(await store.info("run"), (await store.load("run")).run)
    with refuses(RunNotFound):
        await store.info("unknown")


async def check_the_shape_of_a_workflow_is_kept(store: CheckpointStore) -> None:
    """That with which a run was created, until a claim brings another."""
    await store.create(replace(new_run("run"), shape=Shape("one", b'{"steps": 1}')))
    equal((await store.load("run")).shape, b'{"steps": 1}')
    await claimed(store, "run")
    equal((await store.load("run")).shape, b'{"steps": 1}')
    await claimed(store, "run", shape=Shape("two", b'{"steps": 2}'))
    equal((await store.load("run")).shape, b'{"steps": 2}')
    await started(store, "without")
    equal((await store.load("without")).shape, None)


async def check_a_migrated_run_is_replaced_as_a_whole(store: CheckpointStore) -> None:
    """Frames, values, items, and waits that are lost; only by its owner."""
    old = await started_fan(store, "run")
    lease = await claimed(store, "run")
    for place in ("kept", "lost"):
        await store.wait(lease, NewWait(place, WaitKind.ANSWER, place))
    frame = a_frame(7, x=1)._replace(refs={"large": Ref(7)})
    item = an_item("other", 0)._replace(status=ItemStatus.OK, value=b"2")
    migrated = Migrated(2, [frame], [StoredValue("", 7, None, b"10")], [item], ["lost"])
    with refuses(OwnershipLost):
        await store.migrate(old, migrated)
    equal(len((await store.load("run")).frames), 2)
    await store.migrate(lease, migrated)
    snapshot = await store.load("run")
    equal((snapshot.run.version, list(snapshot.frames), list(snapshot.items)), (2, [""], [item]))
    equal((dict(snapshot.root.state), snapshot.root.seq), ({"x": b"1", "large": b"10"}, 7))
    equal([wait.place for wait in snapshot.waits], ["kept"])
    await store.commit(Commit(lease=lease, frame=a_frame(8)))


CHECKS: Final[tuple[Check, ...]] = (
    check_deaths_of_owners_count_until_a_commit_gets_somewhere,
    check_what_is_known_of_a_run_is_read_alone,
    check_the_shape_of_a_workflow_is_kept,
    check_a_migrated_run_is_replaced_as_a_whole,
)
