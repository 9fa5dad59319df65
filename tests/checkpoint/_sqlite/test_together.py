"""Changes of many rows by one statement: all of them, or the refused ones and the others one by one."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.checkpoint._builders import new_run, sqlite_error

from stagepost.checkpoint import (
    CancelRequested,
    Closing,
    Commit,
    Frame,
    Item,
    ItemStatus,
    Lease,
    OwnershipLost,
    Ref,
    RunNotOpen,
    RunStatus,
    Snapshot,
    StaleCheckpoint,
    StoreTakenOver,
)
from stagepost.checkpoint._sqlite import _batch
from stagepost.checkpoint._sqlite import _statements as statements
from stagepost.checkpoint._sqlite._batch import Outcome, is_fatal, run_batch
from stagepost.checkpoint._sqlite._connect import connector, create_file
from stagepost.checkpoint._sqlite._queries import snapshot_query
from stagepost.checkpoint._sqlite._row import RowChange, only_row
from stagepost.checkpoint._sqlite._rows import to_snapshot

Spoil = Callable[[sqlite3.Connection, Lease], object]
ITEMS = tuple(Item("fan", 0, idx, ItemStatus.WAITING, b'"in"') for idx in range(5))


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    create_file(file)
    connection = connector(file, "process")()
    yield connection
    connection.close()


def leases(connection: sqlite3.Connection, count: int = 5) -> list[Lease]:
    created = [statements.create(connection, new_run(f"run-{number}"), 0)[0] for number in range(count)]
    return [lease for lease in created if lease is not None]


def fan(connection: sqlite3.Connection) -> Lease:
    (lease,) = leases(connection, 1)
    statements.commit(connection, Commit(lease=lease, frozen=ITEMS), 0)
    return lease


def version(number: int, lease: Lease) -> Commit:
    content = {"n": b"%d" % number, "text": b'"caf\xc3\xa9"'}
    return Commit(lease=lease, frame=Frame("", number, f"step-{number}", content, {"node": number}, 7))


def outcome(idx: int, lease: Lease) -> Commit:
    return Commit(lease=lease, outcomes=[replace(ITEMS[idx], status=ItemStatus.OK, value=b"%d" % idx)])


def change(commit: Commit) -> RowChange:
    row = only_row(commit)
    assert row is not None
    return row


def stored(connection: sqlite3.Connection, lease: Lease) -> Snapshot:
    query = snapshot_query(lease.run_id)
    return to_snapshot(lease.run_id, connection.execute(query.text, query.values).fetchall())


def transactions(connection: sqlite3.Connection) -> list[str]:
    seen: list[str] = []
    connection.set_trace_callback(lambda text: seen.append(text) if text.startswith("BEGIN") else None)
    return seen


def kinds(outcomes: Sequence[Outcome]) -> list[type[Exception] | None]:
    return [None if outcome.error is None else type(outcome.error) for outcome in outcomes]


@pytest.mark.parametrize("count", [2, 3, 5, 64])
def test_frames_of_many_runs_are_saved_by_one_statement(connection: sqlite3.Connection, count: int) -> None:
    held = leases(connection, count)
    commits = [version(2, lease) for lease in held]
    seen = transactions(connection)
    assert kinds(run_batch(connection, [change(commit) for commit in commits])) == [None] * count
    assert seen == []
    assert [stored(connection, lease).root for lease in held] == [commit.frame for commit in commits]


def test_a_row_is_the_same_whether_it_was_changed_alone_or_with_others(connection: sqlite3.Connection) -> None:
    held = leases(connection, 4)
    frames = Frame("", 2, None, {"a": b"1"}, {}, None, {"far": Ref(3)}), Frame("", 2, "next", {}, {"node": 2}, 3)
    commits = [Commit(lease=lease, frame=frames[number % 2]) for number, lease in enumerate(held)]
    run_batch(connection, [change(commits[0])])
    run_batch(connection, [change(commits[1])])
    run_batch(connection, [change(commit) for commit in commits[2:]])
    found = connection.execute("SELECT path, seq, next, visits, width, state, refs FROM frames ORDER BY rk").fetchall()
    assert (found[0], found[1]) == (found[2], found[3])
    assert {row[1] for row in found} == {2}


def test_outcomes_of_many_items_are_saved_by_one_statement(connection: sqlite3.Connection) -> None:
    lease = fan(connection)
    seen = transactions(connection)
    failed = Commit(lease=lease, outcomes=[replace(ITEMS[4], status=ItemStatus.FAILED, error="broken")])
    changes = [change(commit) for commit in (*(outcome(idx, lease) for idx in range(4)), failed)]
    assert kinds(run_batch(connection, changes)) == [None] * 5
    assert seen == []
    expected = [replace(item, status=ItemStatus.OK, value=b"%d" % item.idx) for item in ITEMS[:4]]
    assert list(stored(connection, lease).items) == [*expected, *failed.outcomes]


def claim(connection: sqlite3.Connection, lease: Lease) -> None:
    statements.claim(connection, lease.run_id, "other", reopen=False, recovering=False, shape=None)


def end(connection: sqlite3.Connection, lease: Lease) -> None:
    statements.commit(connection, Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)), 0)


def save_before(connection: sqlite3.Connection, lease: Lease) -> None:
    change(version(2, lease))(connection)


def lose_frame(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.execute("DELETE FROM frames WHERE rk = ?", (lease.row,))


SPOILS: dict[str, tuple[Spoil, type[Exception]]] = {
    "claimed": (claim, OwnershipLost),
    "cancelled": (lambda connection, lease: statements.cancel(connection, lease.run_id), CancelRequested),
    "ended": (end, RunNotOpen),
    "stale": (save_before, StaleCheckpoint),
    "gone": (lose_frame, StaleCheckpoint),
}


@pytest.mark.parametrize(("spoil", "error"), SPOILS.values(), ids=SPOILS)
def test_a_refused_frame_is_named_and_the_others_are_saved(
    connection: sqlite3.Connection, spoil: Spoil, error: type[Exception]
) -> None:
    held = leases(connection)
    spoil(connection, held[2])
    outcomes = run_batch(connection, [change(version(2, lease)) for lease in held])
    assert kinds(outcomes) == [None, None, error, None, None]
    assert [stored(connection, lease).root.seq for lease in (*held[:2], *held[3:])] == [2] * 4


def test_an_unknown_item_is_named_and_the_others_are_saved(connection: sqlite3.Connection) -> None:
    lease = fan(connection)
    unknown = Commit(lease=lease, outcomes=[replace(ITEMS[0], idx=9, status=ItemStatus.OK, value=b"9")])
    changes = [change(outcome(0, lease)), change(unknown), change(outcome(1, lease))]
    assert kinds(run_batch(connection, changes)) == [None, StaleCheckpoint, None]
    assert [item.status for item in stored(connection, lease).items] == ["ok", "ok", "waiting", "waiting", "waiting"]


def test_an_item_that_has_ended_already_is_refused(connection: sqlite3.Connection) -> None:
    lease = fan(connection)
    change(outcome(0, lease))(connection)
    changes = [change(outcome(0, lease)), change(outcome(1, lease))]
    assert kinds(run_batch(connection, changes)) == [StaleCheckpoint, None]


def test_of_two_changes_of_one_row_the_second_is_refused(connection: sqlite3.Connection) -> None:
    held = leases(connection, 2)
    changes = [change(version(2, lease)) for lease in (*held, held[0])]
    assert kinds(run_batch(connection, changes)) == [None, None, StaleCheckpoint]


def test_changes_of_several_kinds_share_a_transaction(connection: sqlite3.Connection) -> None:
    (first, second), seen = leases(connection, 2), transactions(connection)
    batch = [change(version(2, first)), change(Commit(lease=second, frame=Frame("new", 1, "step", {})))]
    assert kinds(run_batch(connection, batch)) == [None, None]
    assert seen == ["BEGIN IMMEDIATE"]


def test_what_sqlite_cannot_keep_fails_alone(connection: sqlite3.Connection) -> None:
    held = leases(connection, 3)
    odd = Commit(lease=held[1], frame=Frame("", 2, "caf\udce9", {}))
    batch = [change(version(2, held[0])), change(odd), change(version(2, held[2]))]
    assert kinds(run_batch(connection, batch)) == [None, UnicodeEncodeError, None]


def test_an_earlier_owner_of_the_file_saves_nothing(connection: sqlite3.Connection, file: Path) -> None:
    held = leases(connection)
    connector(file, "process")().close()
    outcomes = run_batch(connection, [change(version(2, lease)) for lease in held])
    assert kinds(outcomes) == [StoreTakenOver] * 5
    assert [stored(connection, lease).root.seq for lease in held] == [1] * 5


def test_after_a_disk_error_nothing_is_tried_again(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_disk(*_: object) -> bool:
        raise sqlite_error(sqlite3.SQLITE_IOERR | 4 << 8, "disk I/O error")

    held, seen = leases(connection), transactions(connection)
    monkeypatch.setattr(_batch, "save_together", break_disk)
    outcomes = run_batch(connection, [change(version(2, lease)) for lease in held])
    assert [is_fatal(outcome.error) for outcome in outcomes] == [True] * 5
    assert seen == []
