import copy
import inspect
import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from stagepost.checkpoint import CheckpointError, errors

FILE = Path("runs.db")
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (errors.CannotStore("page.tags[2]", "it is a set"), "page.tags[2] cannot be stored: it is a set"),
        (errors.RunNotFound("r"), "never started here, or was deleted"),
        (errors.WaitNotFound("r", ""), "'r' is no id of a wait, which is made of the run and the place"),
        (errors.RunNotOpen("r", "failed"), "'r' is failed"),
        (errors.OwnershipLost("r", 1, 2), "epoch 2, ours was 1"),
        (errors.StaleCheckpoint("r", "", "at version 1"), "the root frame is no longer at version 1"),
        (errors.StaleCheckpoint("r", "fan[2]", "waiting"), "fan[2] is no longer waiting"),
        (errors.StoreClosed("runs.db"), "use it inside `async with`"),
        (errors.StoreInUse("runs.db", "other"), "leave that one first"),
        (errors.StoreLocked(FILE, "process 7", 1.5), "process 7, which did not let go within 1.5 s"),
        (errors.StoreLocked(FILE, "process 7", 5, is_writing=True), "is being written to by process 7"),
        (errors.StoreLocked(FILE, "process 7", 5, is_ours=True), "is open in this process already (process 7)"),
        (errors.RunOwned("r", "worker-1"), "'r' is worked on by 'worker-1'"),
        (errors.NewsFirst("r"), "hear it (news), and commit again"),
        (errors.OwnerExpired("worker-1"), "join again"),
        (errors.StoreNotWritable(FILE, "Permission denied"), "give a file in a folder that this user may write"),
        (errors.StoreNotReadable(FILE, "there is no such file"), "a store that this user may read"),
        (errors.StoreTakenOver(FILE), "this process must not go on"),
        (errors.StoreLost(FILE, "it was deleted or moved"), "put the file back"),
        (errors.StoreLost(FILE, "its file runs.db-wal was deleted or moved", is_whole=True), "leave the store, which"),
        (errors.CorruptStore("row 1 missing from index runs_key"), "restore a copy"),
        (errors.CorruptSchedule("daily", "why"), "'daily' cannot be used (why), and it starts nothing: make it again"),
        (
            errors.CannotDecrypt("ab", ["cd"]).of("r"),
            "run 'r': a stored value was encrypted by key ab",
        ),
        (errors.OrphanedRows("frames", 3, 2), "run `DELETE FROM frames WHERE rk NOT IN (SELECT rk FROM runs)`"),
        (errors.KeyRemembered("r", "failed", NOON, is_same=True), "it ended 2026-01-02 12:00 UTC (failed)"),
        (errors.StoreFull(FILE), "free some space and resume the run"),
        (errors.StoreFailed(FILE, "disk I/O error"), "reopen the store, recover the runs"),
        (errors.NotAStore(FILE, "why"), "not usable as a checkpoint store: why"),
        (errors.SqliteTooOld("3.36.0", "3.37.0"), "use a Python built with a newer SQLite"),
        (errors.BackendNotSupported(), "under trio use MemoryStore"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_error_says_what_is_wrong_and_what_to_do(error: CheckpointError, words: str) -> None:
    assert words in str(error)


EXAMPLES = [
    errors.CannotStore("page", "it is a set"),
    errors.StaleCheckpoint("r", "", "at version 1"),
    errors.OwnershipLost("r", 1, 2),
    errors.StoreLocked(FILE, "process 7", 1.5),
    errors.StoreLocked(FILE, "process 7", 5, is_writing=True),
    errors.RunOwned("r", "worker-1"),
    errors.NewsFirst("r"),
    errors.OwnerExpired("worker-1"),
    errors.StoreNotWritable(FILE, "Permission denied"),
    errors.StoreFull(FILE),
    errors.StoreLost(FILE, "why", is_whole=True),
    errors.OrphanedRows("frames", 3, 2),
    errors.KeyRemembered("r", "failed", NOON, is_same=True),
    errors.ScheduleNotFound("key"),
    errors.ScheduleChanged("key", 3),
    errors.RunNotFound("r"),
    errors.BackendNotSupported(),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying_with_their_facts(error: CheckpointError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  # our own bytes
        assert (type(twin), str(twin), vars(twin)) == (type(error), str(error), vars(error))


def test_facts_are_attributes_of_their_error() -> None:
    stale = errors.StaleCheckpoint("run", "fan[2]", "waiting")
    assert (stale.run_id, stale.path, stale.expected) == ("run", "fan[2]", "waiting")
    locked = errors.StoreLocked(FILE, "process 7", 1.5)
    assert (locked.path, locked.holder, locked.waited) == (FILE, "process 7", 1.5)
    assert isinstance(locked, TimeoutError)


def test_every_error_stands_in_the_tree() -> None:
    classes = [kind for kind in vars(errors).values() if inspect.isclass(kind) and issubclass(kind, CheckpointError)]
    tree = inspect.getdoc(errors) or ""
    assert [kind.__name__ for kind in classes if kind.__name__ not in tree] == []
    assert sorted(kind.__name__ for kind in classes) == errors.__all__
