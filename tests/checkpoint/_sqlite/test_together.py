"""A batch by one statement: all of it, or the refused requests and the others one by one."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, cast

import pytest
from tests.checkpoint._builders import new_run, sqlite_error

from stagepost.checkpoint import (
    CancelRequested,
    Closing,
    Commit,
    Effect,
    EffectStatus,
    Frame,
    Item,
    ItemStatus,
    Joined,
    Keep,
    Lease,
    OwnershipLost,
    Ref,
    RunInfo,
    RunNotOpen,
    RunStatus,
    Shape,
    Snapshot,
    StaleCheckpoint,
    StoredValue,
    StoreTakenOver,
)
from stagepost.checkpoint._sqlite import _batch
from stagepost.checkpoint._sqlite import _words as words
from stagepost.checkpoint._sqlite._batch import Outcome, Work, is_fatal, run_batch
from stagepost.checkpoint._sqlite._changes import changes_of
from stagepost.checkpoint._sqlite._connect import connector, create_file
from stagepost.checkpoint._sqlite._creating import Creation
from stagepost.checkpoint._sqlite._queries import snapshot_query
from stagepost.checkpoint._sqlite._rows import to_snapshot

Spoil = Callable[[sqlite3.Connection, Lease], object]


class Parts(TypedDict, total=False):
    effects: list[Effect]
    closing: Closing
    frozen: Sequence[Item]


ITEMS = tuple(Item("fan", 0, idx, ItemStatus.WAITING, b'"in"') for idx in range(5))


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    create_file(file)
    connection = connector(file, "process")()
    yield connection
    connection.close()


def leases(connection: sqlite3.Connection, count: int = 5) -> list[Lease]:
    created = [Creation(new_run(f"run-{number}"), 0)(connection)[0] for number in range(count)]
    return [lease for lease in created if lease is not None]


def fan(connection: sqlite3.Connection) -> Lease:
    (lease,) = leases(connection, 1)
    change(Commit(lease=lease, frozen=ITEMS))(connection)
    return lease


def version(number: int, lease: Lease) -> Commit:
    content = {"n": b"%d" % number, "text": b'"caf\xc3\xa9"'}
    return Commit(lease=lease, frame=Frame("", number, f"step-{number}", content, {"node": number}, 7))


def outcome(idx: int, lease: Lease) -> Commit:
    return Commit(lease=lease, outcomes=[ITEMS[idx]._replace(status=ItemStatus.OK, value=b"%d" % idx)])


def change(commit: Commit) -> Work:
    return changes_of(commit, 0)


def stored(connection: sqlite3.Connection, lease: Lease) -> Snapshot:
    query = snapshot_query(lease.run_id)
    return to_snapshot(lease.run_id, connection.execute(query.text, query.values).fetchall())


def transactions(connection: sqlite3.Connection) -> list[str]:
    """What begins them. SQLite's own trace would write out all values of a statement for each of its rows: 10 s."""
    seen, execute = list[str](), connection.execute

    def noting(text: str, *values: Any) -> sqlite3.Cursor:
        if text.startswith("BEGIN"):
            seen.append(text)
        return execute(text, *values)

    connection.execute = noting  # type: ignore[method-assign]  # of this connection
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
    failed = Commit(lease=lease, outcomes=[ITEMS[4]._replace(status=ItemStatus.FAILED, error="broken")])
    changes = [change(commit) for commit in (*(outcome(idx, lease) for idx in range(4)), failed)]
    assert kinds(run_batch(connection, changes)) == [None] * 5
    assert seen == []
    expected = [item._replace(status=ItemStatus.OK, value=b"%d" % item.idx) for item in ITEMS[:4]]
    assert list(stored(connection, lease).items) == [*expected, *failed.outcomes]


def claim(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.execute("UPDATE runs SET epoch = epoch + 1 WHERE rk = ?", (lease.row,))


def end(connection: sqlite3.Connection, lease: Lease) -> None:
    change(Commit(lease=lease, closing=Closing(RunStatus.COMPLETED)))(connection)


def save_before(connection: sqlite3.Connection, lease: Lease) -> None:
    change(version(2, lease))(connection)


def lose_frame(connection: sqlite3.Connection, lease: Lease) -> None:
    connection.execute("DELETE FROM frames WHERE rk = ?", (lease.row,))


SPOILS: dict[str, tuple[Spoil, type[Exception]]] = {
    "claimed": (claim, OwnershipLost),
    "cancelled": (lambda connection, lease: words.cancel(connection, lease.run_id), CancelRequested),
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
    unknown = Commit(lease=lease, outcomes=[ITEMS[0]._replace(idx=9, status=ItemStatus.OK, value=b"9")])
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


def test_changes_of_several_kinds_are_saved_by_one_statement(connection: sqlite3.Connection) -> None:
    (first, second), seen = leases(connection, 2), transactions(connection)
    batch = [change(version(2, first)), change(Commit(lease=second, frame=Frame("new", 1, "step", {})))]
    assert kinds(run_batch(connection, batch)) == [None, None]
    assert seen == []


def everything(lease: Lease) -> list[Commit]:
    """Commits of every kind of change that one of them can have."""
    refs = {"list": Ref(5, 1), "far": Ref(4)}
    return [
        Commit(lease=lease, frame=Frame("", 2, "fan", {"n": b"1"}, {"node": 1}, 2), frozen=ITEMS),
        Commit(lease=lease, outcomes=[ITEMS[0]._replace(status=ItemStatus.FAILED, error="broken")]),
        Commit(lease=lease, frame=Frame("fan[1]", 1, "a", {}), values=[StoredValue("fan[1]", 1, 0, b"1")]),
        Commit(lease=lease, outcomes=[ITEMS[1]._replace(status=ItemStatus.OK, value=b"2")], ended="fan[1]"),
        Commit(lease=lease, frame=Frame("fan[2]", 1, "a", {}), values=[StoredValue("fan[2]", 2, None, b"1")]),
        Commit(lease=lease, frame=Frame("", 3, "b", {}), joined=Joined("fan", 0), progresses=True),
        Commit(lease=lease, effects=[Effect("b", key, EffectStatus.INTENT) for key in ("one", "two")]),
        Commit(
            lease=lease, effects=[Effect("b", "one", EffectStatus.DONE, b"3"), Effect("b", "two", EffectStatus.UNDONE)]
        ),
        Commit(lease=lease, frame=Frame("", 4, "c", {}, refs=refs), values=[StoredValue("", 3, None, b"4")]),
        Commit(
            lease=lease,
            frame=Frame("", 5, "d", {}, refs=refs),
            values=[StoredValue("", 4, None, b"5")],
            dropped=[Ref(3)],
        ),
        Commit(lease=lease, frame=Frame("", 6, "e", {}, refs=refs), values=[StoredValue("", 5, 0, b"6")]),
        Commit(lease=lease, frame=Frame("", 7, None, {}, refs=refs), closing=Closing(RunStatus.COMPLETED)),
    ]


def everywhere(connection: sqlite3.Connection, lease: Lease) -> list[list[object]]:
    of_run, of_lists = "SELECT * FROM {} WHERE rk = ?", "SELECT * FROM {} WHERE maker = ?"
    queries = [of_run.format(table) for table in ("frames", "items", "vals", "effects", "history")]
    queries += [of_lists.format(table) for table in ("lists", "elements", "element_blobs")]
    queries.append("SELECT rk, path, number, length FROM list_refs WHERE rk = ?")
    rows = [connection.execute(query, (lease.row,)).fetchall() for query in queries]
    status = connection.execute("SELECT status, attempts, finished_at FROM runs WHERE rk = ?", (lease.row,)).fetchall()
    return [[row[1:] for row in sorted(found)] for found in rows] + [status]


@pytest.mark.parametrize("until", range(2, 13))
def test_commits_leave_the_same_together_and_one_by_one(connection: sqlite3.Connection, until: int) -> None:
    alone, together = leases(connection, 2)
    connection.execute("UPDATE runs SET attempts = 1")
    for commit in everything(alone)[:until]:
        change(commit)(connection)
    seen = transactions(connection)
    outcomes = run_batch(connection, [change(commit) for commit in everything(together)[:until]])
    assert (kinds(outcomes), seen) == ([None] * until, [])
    assert everywhere(connection, together) == everywhere(connection, alone)


@pytest.mark.parametrize(("spoil", "error"), SPOILS.values(), ids=SPOILS)
def test_of_a_refused_commit_nothing_stays(
    connection: sqlite3.Connection, spoil: Spoil, error: type[Exception]
) -> None:
    held = leases(connection)
    spoil(connection, held[2])
    before = everywhere(connection, held[2])
    value, effect = StoredValue("", 1, None, b"1"), Effect("step", "key", EffectStatus.INTENT)
    commits = [version(2, lease)._replace(values=[value], effects=[effect]) for lease in held]
    assert kinds(run_batch(connection, [change(commit) for commit in commits])) == [None, None, error, None, None]
    assert everywhere(connection, held[2]) == before
    assert everywhere(connection, held[3]) == everywhere(connection, held[1])


@pytest.mark.parametrize(
    "parts",
    [
        {"effects": [Effect("step", "key", EffectStatus.INTENT)]},
        {"effects": [Effect("step", "key", EffectStatus.UNDONE)]},
        {"closing": Closing(RunStatus.COMPLETED)},
        {"frozen": ITEMS},
    ],
    ids=["effect", "undone effect", "closing", "items"],
)
def test_every_commit_to_a_run_that_was_claimed_again_is_refused(connection: sqlite3.Connection, parts: Parts) -> None:
    held = leases(connection, 3)
    claim(connection, held[1])
    outcomes = run_batch(connection, [change(Commit(lease=lease, **parts)) for lease in held])
    assert kinds(outcomes) == [None, OwnershipLost, None]


def test_a_commit_behind_the_end_of_its_run_is_refused(connection: sqlite3.Connection) -> None:
    first, second = leases(connection, 2)
    closing = Commit(lease=first, closing=Closing(RunStatus.COMPLETED))
    batch = [change(closing), change(version(2, second)), change(version(2, first))]
    assert kinds(run_batch(connection, batch)) == [None, None, RunNotOpen]


def test_the_end_of_a_run_whose_end_was_asked_for_is_saved_with_others(connection: sqlite3.Connection) -> None:
    first, second = leases(connection, 2)
    words.cancel(connection, first.run_id)
    seen = transactions(connection)
    closing = Commit(lease=first, closing=Closing(RunStatus.CANCELLED))
    assert kinds(run_batch(connection, [change(closing), change(version(2, second))])) == [None, None]
    assert (stored(connection, first).run.status, seen) == (RunStatus.CANCELLED, [])


def test_runs_begun_at_once_are_stored_by_one_statement(connection: sqlite3.Connection) -> None:
    shape = Shape("digest-1", b"[]")
    new = [
        replace(new_run(f"run-{number}"), shape=shape, values=[StoredValue("", 1, None, b"1")]) for number in range(5)
    ]
    alone = Creation(replace(new[0], run_id="alone"), 7)(connection)[0]
    seen = transactions(connection)
    outcomes = run_batch(connection, [Creation(run, 7) for run in new])
    assert (kinds(outcomes), seen) == ([None] * 5, [])
    assert alone is not None
    for run, outcome in zip(new, outcomes, strict=True):
        lease, info = cast("tuple[Lease, RunInfo]", outcome.result)
        snapshot = stored(connection, lease)
        assert (snapshot.run, snapshot.shape) == (info, b"[]")
        assert (info.run_id, snapshot.root) == (run.run_id, run.root)
        assert everywhere(connection, lease) == everywhere(connection, alone)


def test_a_run_without_a_shape_is_begun_with_others(connection: sqlite3.Connection) -> None:
    shaped = [replace(new_run(name), shape=Shape(name, b"[]")) for name in ("a", "b")]
    run_batch(connection, [Creation(run, 0) for run in (*shaped, new_run("c"))])
    found = connection.execute("SELECT run_id, skeleton FROM runs LEFT JOIN shapes ON id = shape").fetchall()
    assert found == [("a", b"[]"), ("b", b"[]"), ("c", None)]


def test_runs_that_are_there_already_are_found_and_the_others_begun(connection: sqlite3.Connection) -> None:
    (lease,) = leases(connection, 1)
    keyed = [replace(new_run(name), key="once") for name in ("first", "second")]
    outcomes = run_batch(connection, [Creation(run, 0) for run in (*keyed, new_run(lease.run_id), new_run("new"))])
    results = [cast("tuple[Lease | None, RunInfo]", outcome.result) for outcome in outcomes]
    assert [held is not None for held, _ in results] == [True, False, False, True]
    assert [info.run_id for _, info in results] == ["first", "first", lease.run_id, "new"]


def test_a_run_that_keeps_its_history_has_it_in_a_batch_as_well(connection: sqlite3.Connection) -> None:
    batch = [Creation(new_run("a"), 0), Creation(replace(new_run("b"), keep=Keep.ALL), 0)]
    assert kinds(run_batch(connection, batch)) == [None, None]
    assert connection.execute("SELECT count(*) FROM history").fetchone() == (1,)


def many_items(lease: Lease) -> Commit:
    return Commit(lease=lease, frozen=[ITEMS[0]._replace(idx=idx) for idx in range(1100)])


def test_more_rows_than_a_statement_takes_share_a_transaction(connection: sqlite3.Connection) -> None:
    (lease,), seen = leases(connection, 1), transactions(connection)
    assert kinds(run_batch(connection, [change(many_items(lease))])) == [None]
    assert seen == ["BEGIN IMMEDIATE"]
    assert len(stored(connection, lease).items) == 1100


def test_many_rows_of_which_a_late_one_is_refused_are_not_saved(connection: sqlite3.Connection) -> None:
    (lease,) = leases(connection, 1)
    change(Commit(lease=lease, frozen=[ITEMS[0]._replace(idx=1000)]))(connection)
    assert kinds(run_batch(connection, [change(many_items(lease))])) == [StaleCheckpoint]
    assert [item.idx for item in stored(connection, lease).items] == [1000]


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
