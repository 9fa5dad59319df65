"""Values outside of their frame: large ones, and lists that grow by rows."""

from dataclasses import replace
from typing import Final

from .._outside import Ref, StoredValue
from .._records import Closing, Commit, Frame, Joined, RunStatus
from .._store import CheckpointStore
from ..errors import StaleCheckpoint
from ._words import Check, a_frame, an_item, equal, lease_of, new_run, refuses, started


def a_list(seq: int, length: int, path: str = "") -> Frame:
    """A frame with a list of so many elements."""
    return a_frame(seq, path)._replace(refs={"list": Ref(1, length)})


async def check_a_large_value_is_read_with_its_frame(store: CheckpointStore) -> None:
    """The newest one; also the one that a run begins with."""
    root = a_frame(1, x=1)._replace(refs={"large": Ref(1)})
    created, _ = await store.create(replace(new_run("run"), root=root, values=[StoredValue("", 1, None, b"10")]))
    lease = lease_of(created)
    equal(dict((await store.load("run")).root.state), {"x": b"1", "large": b"10"})
    frame = a_frame(2, x=2)._replace(refs={"large": Ref(2)})
    await store.commit(Commit(lease=lease, frame=frame, values=[StoredValue("", 2, None, b"20")]))
    await store.commit(Commit(lease=lease, frame=a_frame(3, x=3)._replace(refs={"large": Ref(2)})))
    equal(dict((await store.load("run")).root.state), {"x": b"3", "large": b"20"})


async def check_a_list_grows_by_its_elements(store: CheckpointStore) -> None:
    """What is added is all that is written."""
    lease = await started(store, "run")
    for seq in range(2, 6):
        row = StoredValue("", 1, seq - 2, b"%d" % seq)
        await store.commit(Commit(lease=lease, frame=a_list(seq, seq - 1), values=[row]))
    equal(dict((await store.load("run")).root.state), {"list": b"[2,3,4,5]"})


async def check_values_of_a_refused_commit_are_not_saved(store: CheckpointStore) -> None:
    """All or nothing."""
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_list(2, 1), values=[StoredValue("", 1, 0, b"0")]))
    with refuses(StaleCheckpoint):
        await store.commit(Commit(lease=lease, frame=a_list(9, 1), values=[StoredValue("", 1, 0, b"1")]))
    equal(dict((await store.load("run")).root.state), {"list": b"[0]"})


async def check_values_go_with_their_frame(store: CheckpointStore) -> None:
    """With an item that has ended, and with those that a join deletes; a frame of the same path begins anew."""
    lease = await started(store, "run")
    row = StoredValue("fan[0]", 1, 0, b"1")
    for gone in (Commit(lease=lease, ended="fan[0]"), Commit(lease=lease, joined=Joined("fan", 0))):
        await store.commit(Commit(lease=lease, frame=a_list(1, 1, "fan[0]"), values=[row], frozen=[an_item("fan", 0)]))
        equal(dict((await store.load("run")).frames["fan[0]"].state), {"list": b"[1]"})
        await store.commit(gone._replace(joined=Joined("fan", 0)))
        await store.commit(Commit(lease=lease, frame=a_frame(1, "fan[0]")))
        equal(dict((await store.load("run")).frames["fan[0]"].state), {})
        await store.commit(Commit(lease=lease, ended="fan[0]"))
    await store.commit(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))


CHECKS: Final[tuple[Check, ...]] = (
    check_a_large_value_is_read_with_its_frame,
    check_a_list_grows_by_its_elements,
    check_values_of_a_refused_commit_are_not_saved,
    check_values_go_with_their_frame,
)
