"""SQLite's errors as the store's."""

import sqlite3
from pathlib import Path

from ..errors import NotAStore, StoreError, StoreFailed, StoreFull, StoreLocked, StoreNotReadable, StoreNotWritable
from ._batch import is_fatal, primary_code

BUSY_TIMEOUT = 5.0  # seconds that SQLite itself waits for another program's write
TRY = 1.0  # seconds that it waits at a time, once the file is open
ANOTHER_PROGRAM = "a program that writes to it beside stagepost"


_REFUSED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})


def translate(error: Exception, path: Path) -> Exception:
    """The error that a caller can act on; ours pass unchanged."""
    if not isinstance(error, sqlite3.Error):
        return error
    translated = _translate(error, path)
    translated.__cause__ = error
    return translated


def _translate(error: sqlite3.Error, path: Path) -> StoreError:
    if is_fatal(error):
        return StoreFailed(path, str(error))
    match primary_code(error):
        case sqlite3.SQLITE_FULL:
            return StoreFull(path)
        case code if code in _REFUSED:
            return StoreNotWritable(path, str(error))
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:  # the last: many open it at once
            return StoreLocked(path, ANOTHER_PROGRAM, BUSY_TIMEOUT, is_writing=True)
    return StoreError(f"{path}: {error}")


def is_damage(error: BaseException | None) -> bool:
    """Whether SQLite has found a part of the file that is not what it wrote."""
    return isinstance(error, sqlite3.Error) and primary_code(error) == sqlite3.SQLITE_CORRUPT


def translate_read(error: sqlite3.Error, path: Path) -> StoreError:
    """The same for a connection that only reads."""
    translated = _translate_read(error, path)
    translated.__cause__ = error
    return translated


def _translate_read(error: sqlite3.Error, path: Path) -> StoreError:
    match primary_code(error):
        case sqlite3.SQLITE_NOTADB:
            return NotAStore(path, "it is no SQLite database; give another file name")
        case code if code in _REFUSED:
            return StoreNotReadable(path, str(error))
    return _translate(error, path)
