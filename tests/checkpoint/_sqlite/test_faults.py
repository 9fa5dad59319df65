import sqlite3
from pathlib import Path

import pytest
from tests.checkpoint._builders import sqlite_error

from stagepost.checkpoint import StoreError, StoreFailed, StoreFull, StoreLocked, StoreNotWritable
from stagepost.checkpoint._sqlite._faults import translate

FILE = Path("runs.db")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (sqlite3.SQLITE_IOERR | 3 << 8, StoreFailed),
        (sqlite3.SQLITE_CORRUPT, StoreFailed),
        (sqlite3.SQLITE_NOTADB, StoreFailed),
        (sqlite3.SQLITE_FULL, StoreFull),
        (sqlite3.SQLITE_READONLY | 1 << 8, StoreNotWritable),
        (sqlite3.SQLITE_CANTOPEN, StoreNotWritable),
        (sqlite3.SQLITE_PERM, StoreNotWritable),
        (sqlite3.SQLITE_BUSY | 2 << 8, StoreLocked),
        (sqlite3.SQLITE_LOCKED, StoreLocked),
        (sqlite3.SQLITE_MISUSE, StoreError),
    ],
)
def test_each_code_of_sqlite_is_an_error_to_act_on(code: int, kind: type[StoreError]) -> None:
    error = sqlite_error(code, "what sqlite says")
    translated = translate(error, FILE)
    assert type(translated) is kind
    assert translated.__cause__ is error
    assert "runs.db" in str(translated)


def test_other_errors_pass_unchanged() -> None:
    error = ValueError("ours")
    assert translate(error, FILE) is error
