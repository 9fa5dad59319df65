import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.checkpoint._builders import connect, insert, rows, sqlite_error

from stagepost.checkpoint import StaleCheckpoint
from stagepost.checkpoint._sqlite._batch import is_fatal, primary_code, run_batch

STALE = StaleCheckpoint("run", "", "at version 1")


@pytest.fixture
def connection(file: Path) -> Iterator[sqlite3.Connection]:
    connection = connect(file)()
    yield connection
    connection.close()


def refuse(connection: sqlite3.Connection) -> None:
    insert("refused")(connection)
    raise STALE


def fill(_: sqlite3.Connection) -> None:
    raise sqlite_error(sqlite3.SQLITE_FULL, "database or disk is full")


def break_disk(connection: sqlite3.Connection) -> None:
    raise sqlite_error(sqlite3.SQLITE_IOERR | 1 << 8, "disk I/O error")


def roll_everything_back(connection: sqlite3.Connection) -> None:
    connection.execute("ROLLBACK")
    fill(connection)


def commits(connection: sqlite3.Connection) -> list[str]:
    seen: list[str] = []
    connection.set_trace_callback(lambda statement: seen.append(statement) if statement == "COMMIT" else None)
    return seen


def test_a_batch_is_one_transaction(connection: sqlite3.Connection, file: Path) -> None:
    seen = commits(connection)
    outcomes = run_batch(connection, [insert(number) for number in range(5)])
    assert [outcome.result for outcome in outcomes] == [1] * 5
    assert (seen, rows(file)) == (["COMMIT"], list(range(5)))


def test_an_empty_batch_is_nothing(connection: sqlite3.Connection) -> None:
    assert run_batch(connection, []) == []


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        (refuse, StaleCheckpoint),
        (insert(0), sqlite3.IntegrityError),
        (insert("caf\udce9"), UnicodeEncodeError),
        (insert(2**70), OverflowError),
        (insert(object()), sqlite3.Error),
    ],
    ids=["refusal", "constraint", "text", "number", "object"],
)
def test_a_refused_request_spoils_no_other(
    connection: sqlite3.Connection, file: Path, work: object, kind: type[Exception]
) -> None:
    seen = commits(connection)
    outcomes = run_batch(connection, [insert(0), work, insert(2)])  # type: ignore[list-item]  # one of the above
    assert isinstance(outcomes[1].error, kind)
    assert [outcome.error is None for outcome in outcomes] == [True, False, True]
    assert (seen, rows(file)) == (["COMMIT"], [0, 2])


def test_after_a_full_rollback_each_request_runs_alone(connection: sqlite3.Connection, file: Path) -> None:
    seen = commits(connection)
    outcomes = run_batch(connection, [insert(0), roll_everything_back, insert(2)])
    assert [outcome.error is None for outcome in outcomes] == [True, False, True]
    assert (len(seen), rows(file)) == (2, [0, 2])


def test_a_full_disk_that_rolls_back_one_request_spoils_no_other(connection: sqlite3.Connection, file: Path) -> None:
    outcomes = run_batch(connection, [insert(0), fill, insert(2)])
    assert [outcome.error is None for outcome in outcomes] == [True, False, True]
    assert rows(file) == [0, 2]


def test_a_broken_disk_fails_the_whole_batch(connection: sqlite3.Connection, file: Path) -> None:
    outcomes = run_batch(connection, [insert(0), break_disk, insert(2)])
    assert [is_fatal(outcome.error) for outcome in outcomes] == [True] * 3
    assert (rows(file), connection.in_transaction) == ([], False)


def test_a_batch_that_cannot_begin_fails_as_a_whole(connection: sqlite3.Connection, file: Path) -> None:
    connection.execute("PRAGMA busy_timeout = 0")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    outcomes = run_batch(connection, [insert(0), insert(1)])
    other.close()
    assert [str(outcome.error) for outcome in outcomes] == ["database is locked"] * 2


def test_a_bug_in_a_request_leaves_no_transaction_open(connection: sqlite3.Connection, file: Path) -> None:
    def bug(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_batch(connection, [insert(0), bug])
    assert (rows(file), connection.in_transaction) == ([], False)


@pytest.mark.parametrize(
    ("error", "fatal"),
    [
        (sqlite_error(sqlite3.SQLITE_IOERR | 6 << 8, "short write"), True),
        (sqlite_error(sqlite3.SQLITE_CORRUPT, "malformed"), True),
        (sqlite_error(sqlite3.SQLITE_NOTADB, "not a database"), True),
        (sqlite_error(sqlite3.SQLITE_FULL, "full"), False),
        (sqlite3.ProgrammingError("no code"), False),
        (STALE, False),
        (None, False),
    ],
    ids=repr,
)
def test_fatal_is_what_makes_the_file_doubtful(error: Exception | None, fatal: bool) -> None:  # noqa: FBT001  # a table
    assert is_fatal(error) is fatal


def test_an_extended_code_has_its_primary_one() -> None:
    assert primary_code(sqlite_error(sqlite3.SQLITE_IOERR | 6 << 8, "")) == sqlite3.SQLITE_IOERR
    assert primary_code(sqlite3.ProgrammingError("no code")) == 0
