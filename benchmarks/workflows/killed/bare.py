"""The least one can do: a row in a table says which step is next."""

import sqlite3
import sys
from contextlib import closing
from time import monotonic, sleep

IMPORTED = monotonic()


def main() -> None:
    """Do the first step unless it is done, announce the second, and wait for the kill."""
    with closing(sqlite3.connect(sys.argv[1], isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE IF NOT EXISTS states (run INTEGER PRIMARY KEY, done INTEGER NOT NULL)")
        if connection.execute("SELECT done FROM states WHERE run = 1").fetchone() is None:
            connection.execute("INSERT INTO states VALUES (1, 1)")
        print(IMPORTED, monotonic(), flush=True)
        sleep(3600)


if __name__ == "__main__":
    main()
