"""Frames: overwritten in place, compared and swapped."""

from typing import Final

import anyio

from .._records import Commit, Frame, ItemStatus
from .._store import CheckpointStore
from ..errors import StaleCheckpoint
from ._words import Check, a_frame, an_item, at_once, equal, json_of, refuses, started


async def check_a_commit_overwrites_its_frame(store: CheckpointStore) -> None:
    """The newest version replaces the one before, keys that are gone included."""
    lease = await started(store, "run")
    second = Frame("", 2, "review", json_of({"kept": 1, "gone": 2}), visits={"draft": 2, "check": 1}, width=3)
    third = Frame("", 3, None, json_of({"kept": 3}))
    for frame in (second, third):
        await store.commit(Commit(lease=lease, frame=frame))
        equal((await store.load("run")).frames, {"": frame})


async def check_values_come_back_byte_for_byte(store: CheckpointStore) -> None:
    """Numbers, text and nesting survive in every column that holds JSON."""
    values = {"text": 'ü"\\\n\u2028\x00😀', "big": 10**40, "small": -0.0, "nan": float("nan"), "inf": [float("-inf")]}
    state = json_of(values | {"empty": "", "nested": values, "a key.with[signs]": None})
    lease = await started(store, "run")
    item = an_item("fan", 0)._replace(input=state["nested"])
    settled = item._replace(status=ItemStatus.OK, value=state["inf"])
    await store.commit(Commit(lease=lease, frame=a_frame(2, old=1), frozen=[item]))
    await store.commit(Commit(lease=lease, frame=Frame("", 3, "next", state), outcomes=[settled]))
    snapshot = await store.load("run")
    equal((dict(snapshot.root.state), list(snapshot.items)), (state, [settled]))


async def check_branches_have_frames_of_their_own(store: CheckpointStore) -> None:
    """A frame is found by run and path, and an ended branch loses it."""
    lease, other = await started(store, "run"), await started(store, "other")
    await store.commit(Commit(lease=lease, frame=a_frame(1, "fan[0]", x=1)))
    await store.commit(Commit(lease=lease, frame=a_frame(1, "fan[1]", x=2)))
    await store.commit(Commit(lease=other, frame=a_frame(1, "fan[0]", x=3)))
    await store.commit(Commit(lease=lease, frame=a_frame(2, "fan[0]", x=4), ended="fan[1]"))
    equal((await store.load("run")).frames, {"": a_frame(1), "fan[0]": a_frame(2, "fan[0]", x=4)})
    equal((await store.load("other")).frames, {"": a_frame(1), "fan[0]": a_frame(1, "fan[0]", x=3)})


async def check_a_stale_frame_is_refused(store: CheckpointStore) -> None:
    """Version n is written over version n - 1 and over nothing else."""
    lease = await started(store, "run")
    await store.commit(Commit(lease=lease, frame=a_frame(2)))
    for frame in (a_frame(1), a_frame(2, x="again"), a_frame(4), a_frame(2, "unknown[0]")):
        with refuses(StaleCheckpoint):
            await store.commit(Commit(lease=lease, frame=frame))
    equal((await store.load("run")).frames, {"": a_frame(2)})


async def check_concurrent_commits_of_one_version_have_one_winner(store: CheckpointStore) -> None:
    """Compare and swap holds under concurrency."""
    lease = await started(store, "run")
    saved: list[int] = []

    async def commit(number: int) -> None:
        try:
            await store.commit(Commit(lease=lease, frame=a_frame(2, number=number)))
        except StaleCheckpoint:
            return
        saved.append(number)

    await at_once(commit, 10)
    equal(len(saved), 1)
    equal((await store.load("run")).root, a_frame(2, number=saved[0]))


async def check_a_refused_commit_harms_no_other(store: CheckpointStore) -> None:
    """Among commits of many runs at once only the refused ones are missing."""
    leases = [await started(store, f"run-{number:02}") for number in range(20)]
    refused: list[int] = []

    async def commit(number: int) -> None:
        version = 7 if number % 3 == 0 else 2
        try:
            await store.commit(Commit(lease=leases[number], frame=a_frame(version)))
        except StaleCheckpoint:
            refused.append(number)

    await at_once(commit, 20)
    equal(sorted(refused), list(range(0, 20, 3)))
    for number, lease in enumerate(leases):
        equal((await store.load(lease.run_id)).root.seq, 1 if number % 3 == 0 else 2)


async def check_a_cancelled_caller_learns_what_became_of_its_commit(store: CheckpointStore) -> None:
    """Cancellation never separates what is saved from what the caller knows."""
    lease = await started(store, "run")
    told = False
    with anyio.CancelScope() as scope:
        scope.cancel()
        await store.commit(Commit(lease=lease, frame=a_frame(2)))
        told = True
    equal((told, (await store.load("run")).root.seq), (True, 2))


CHECKS: Final[tuple[Check, ...]] = (
    check_a_commit_overwrites_its_frame,
    check_values_come_back_byte_for_byte,
    check_branches_have_frames_of_their_own,
    check_a_stale_frame_is_refused,
    check_concurrent_commits_of_one_version_have_one_winner,
    check_a_refused_commit_harms_no_other,
    check_a_cancelled_caller_learns_what_became_of_its_commit,
)
