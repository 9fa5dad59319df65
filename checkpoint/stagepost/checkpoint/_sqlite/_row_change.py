"""One row that a commit changes."""

import sqlite3
from typing import TypeAlias

from ._fence import Right, refusal

Row: TypeAlias = tuple[object, ...]


class RowChange:
    """One statement that changes a row.

    Attributes:
        text: The statement.
        values: What is bound to it.
        right: What it is done by.
        path: What it is about, for the refusal.
        expected: What the row should have been, or the change is refused; None if it may rightly change nothing.
    """

    __slots__ = ("expected", "path", "right", "text", "values")

    def __init__(self, text: str, values: Row, right: Right, path: str = "", expected: str | None = None) -> None:
        self.text = text
        self.values = values
        self.right = right
        self.path = path
        self.expected = expected

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Change the row.

        Raises:
            CheckpointError: It is not what was expected, or the run no longer ours to change.
        """
        changed = connection.execute(self.text, self.values).rowcount
        if changed != 1 and self.expected is not None:
            raise refusal(connection, self.right, self.path, self.expected)
