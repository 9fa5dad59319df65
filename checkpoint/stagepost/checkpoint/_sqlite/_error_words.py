"""The words of the errors that runs have failed with, by which these are found.

The index is a table of FTS5. A trigger may not write to one where the schema is not trusted, so triggers only note
whose error has changed, and whoever changes errors or deletes runs calls `index_errors` in the same transaction. What
somebody has changed by hand is indexed with the next one.
"""

import re
import sqlite3
from typing import Final

from ..errors import SqliteWithoutFts5

MODULE: Final = "fts5"
_HAS_MODULE: Final = "SELECT 1 FROM pragma_module_list WHERE name = ?"
_STALE: Final = "SELECT 1 FROM failures_stale LIMIT 1"
_MOST: Final = 10_000  # characters of an error
_INDEX: Final = (
    "DELETE FROM failures WHERE rowid IN (SELECT rk FROM failures_stale)",
    f"""
    INSERT INTO failures (rowid, words)
    SELECT rk, substr(error, 1, min(instr(error || char(30), char(30)) - 1, {_MOST})) -- the traceback follows
    FROM runs WHERE rk IN (SELECT rk FROM failures_stale) AND error IS NOT NULL
    AND error NOT GLOB 'sealed[12]/*' -- of `EncryptedStore`: it has no words
    """,
    "DELETE FROM failures_stale",
)
_BETWEEN: Final = re.compile(r"[\s\0]+")


def check_fts5(connection: sqlite3.Connection) -> None:
    """Refuse an SQLite that was built without FTS5.

    Raises:
        SqliteWithoutFts5: It was.
    """
    if connection.execute(_HAS_MODULE, (MODULE,)).fetchone() is None:
        raise SqliteWithoutFts5(sqlite3.sqlite_version)


def index_errors(connection: sqlite3.Connection) -> None:
    """Bring the index up to date, in the transaction that has changed errors or deleted runs."""
    if connection.execute(_STALE).fetchone() is not None:
        for text in _INDEX:
            connection.execute(text)


def match_of(text: str) -> str:
    """What finds the errors that have all words of a text, or words that begin so; nothing if there is no word.

    Whatever stands between spaces is one string of FTS5, in which nothing is syntax; several strings have to be found
    all, and one without letters and digits counts for nothing.
    """
    readable = text.encode(errors="replace").decode()
    if not any(map(str.isalnum, readable)):
        return ""
    pieces = [piece for piece in _BETWEEN.split(readable) if any(map(str.isalnum, piece))]
    return " ".join('"' + piece.replace('"', '""') + '"*' for piece in pieces)
