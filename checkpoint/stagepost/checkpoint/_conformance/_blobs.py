"""Bytes beside the JSON: kept once, for as long as a run refers to them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from .._blobs import digest_of
from .._records import Closing, Commit, Keep, Lease, RunStatus
from .._store import CheckpointStore
from .._waiting import Effect, EffectStatus
from ..errors import BlobNotFound, CancelRequested, OwnershipLost, RunNotFound, StaleCheckpoint
from ._words import Check, a_frame, an_item, claimed, end, equal, lease_of, new_run, refuses, started

_DATA: Final = b"\x00\xff bytes that are no text"
_DIGEST: Final = digest_of(_DATA)
_OTHER: Final = b""
_LATER: Final = datetime(3000, 1, 1, tzinfo=UTC)


async def started_with(store: CheckpointStore, run_id: str, data: bytes | None = _DATA) -> Lease:
    """The lease of a run that refers to bytes."""
    lease, _ = await store.create(replace(new_run(run_id), blobs={_DIGEST: data}))
    return lease_of(lease)


async def check_bytes_are_stored_with_a_commit(store: CheckpointStore) -> None:
    """Whatever else it changes, and however many there are; empty ones are bytes, too."""
    lease = await started(store, "run")
    with refuses(BlobNotFound):
        await store.blob(_DIGEST)
    blobs = {_DIGEST: _DATA, digest_of(_OTHER): _OTHER}
    await store.commit(Commit(lease=lease, frame=a_frame(2), blobs=blobs))
    equal(await store.blob(_DIGEST), _DATA)
    equal(await store.blob(digest_of(_OTHER)), _OTHER)
    for number, commit in enumerate(
        (
            Commit(lease=lease, frozen=[an_item("fan", 0)]),
            Commit(lease=lease, effects=[Effect("step", "key", EffectStatus.INTENT)]),
            Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)),
        )
    ):
        data = b"%d" % number
        await store.commit(commit._replace(blobs={digest_of(data): data}))
        equal(await store.blob(digest_of(data)), data)


async def check_bytes_are_stored_with_a_run(store: CheckpointStore) -> None:
    """Those of the run that was there before, if it has the same id."""
    await started_with(store, "run")
    equal(await store.blob(_DIGEST), _DATA)
    again, _ = await store.create(replace(new_run("run"), blobs={digest_of(_OTHER): _OTHER}))
    equal(again, None)
    with refuses(BlobNotFound):
        await store.blob(digest_of(_OTHER))


async def check_bytes_of_a_refused_commit_are_not_stored(store: CheckpointStore) -> None:
    """All or nothing: a stale one, one by an owner before, one of a run whose end is asked for."""
    lease = await started(store, "run")
    blobs = {_DIGEST: _DATA}
    with refuses(StaleCheckpoint):
        await store.commit(Commit(lease=lease, frame=a_frame(9), blobs=blobs))
    newer = await claimed(store, "run")
    with refuses(OwnershipLost):
        await store.commit(Commit(lease=lease, frame=a_frame(2), blobs=blobs))
    with refuses(OwnershipLost):
        await store.commit(Commit(lease=lease, blobs=blobs))
    await store.cancel("run")
    with refuses(CancelRequested):
        await store.commit(Commit(lease=newer, frame=a_frame(2), blobs=blobs))
    with refuses(BlobNotFound):
        await store.blob(_DIGEST)


async def check_a_run_can_refer_to_bytes_that_are_there(store: CheckpointStore) -> None:
    """Without bringing them; a run that refers to what is not there is not stored at all."""
    with refuses(BlobNotFound):
        await started_with(store, "first", None)
    with refuses(RunNotFound):
        await store.info("first")
    await started_with(store, "first")
    await started_with(store, "second", None)
    await end(store, "first", RunStatus.COMPLETED)
    await store.delete("first")
    equal(await store.blob(_DIGEST), _DATA)


async def check_a_commit_can_refer_to_bytes_that_are_there(store: CheckpointStore) -> None:
    """Without bringing them. What is not there is not referred to, and the commit is saved."""
    await started_with(store, "first")
    lease = await started(store, "second")
    nowhere = digest_of(_OTHER)
    await store.commit(Commit(lease=lease, frame=a_frame(2), blobs={_DIGEST: None, nowhere: None}))
    await end(store, "first", RunStatus.COMPLETED)
    await store.delete("first")
    equal(await store.blob(_DIGEST), _DATA)
    with refuses(BlobNotFound):
        await store.blob(nowhere)


async def check_bytes_go_with_the_last_run_that_refers_to_them(store: CheckpointStore) -> None:
    """However often each of them has referred to them, and whether it brought them or not."""
    for run_id in ("first", "second", "third"):
        lease = await started_with(store, run_id)
        await store.commit(Commit(lease=lease, frame=a_frame(2), blobs={_DIGEST: _DATA}))
        await end(store, run_id, RunStatus.COMPLETED)
    for run_id in ("second", "first"):
        await store.delete(run_id)
        equal(await store.blob(_DIGEST), _DATA)
    await store.delete("third")
    with refuses(BlobNotFound):
        await store.blob(_DIGEST)
    await started_with(store, "fourth")
    equal(await store.blob(_DIGEST), _DATA)


async def check_pruning_takes_bytes_along(store: CheckpointStore) -> None:
    """With the last run that refers to them, and not before."""
    for run_id in ("first", "second"):
        await started_with(store, run_id)
        await end(store, run_id, RunStatus.COMPLETED)
    equal(await store.prune(_LATER, limit=1), 1)
    equal(await store.blob(_DIGEST), _DATA)
    equal(await store.prune(_LATER, limit=1), 1)
    with refuses(BlobNotFound):
        await store.blob(_DIGEST)


async def check_bytes_of_runs_below_go_with_them(store: CheckpointStore) -> None:
    """Also those of a run that keeps nothing."""
    lease, _ = await store.create(replace(new_run("run"), keep=Keep.NONE))
    await started_with(store, "run.below")
    await end(store, "run.below", RunStatus.COMPLETED)
    await store.commit(
        Commit(
            lease=lease_of(lease),
            frame=a_frame(2),
            closing=Closing(RunStatus.COMPLETED),
            blobs={digest_of(_OTHER): _OTHER},
        )
    )
    for digest in (_DIGEST, digest_of(_OTHER)):
        with refuses(BlobNotFound):
            await store.blob(digest)


CHECKS: Final[tuple[Check, ...]] = (
    check_bytes_are_stored_with_a_commit,
    check_bytes_are_stored_with_a_run,
    check_bytes_of_a_refused_commit_are_not_stored,
    check_a_run_can_refer_to_bytes_that_are_there,
    check_a_commit_can_refer_to_bytes_that_are_there,
    check_bytes_go_with_the_last_run_that_refers_to_them,
    check_pruning_takes_bytes_along,
    check_bytes_of_runs_below_go_with_them,
)
