"""Tables of the application in the store's own database: a step and what it writes there are one transaction."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

Cell: TypeAlias = str | int | float | bytes | None

PREFIX: Final = "app_"  # of the names of such tables and indexes; no table of the store's has it, now or later


class Statement(NamedTuple):
    """A statement on tables of the application in the store's own database.

    Attributes:
        text: SQL, with ``?`` for values.
        values: What is bound to these.
    """

    text: str
    values: Sequence[str | int | float | bytes | None] = ()


class Tables(Protocol):
    """Keeps tables of the application, whose names begin with ``app_``.

    Statements are SQL as SQLite understands it. What a commit has in `Commit.also` is saved with it, or nothing is.
    """

    async def execute(self, *statements: Statement) -> None:
        """Execute statements in one transaction: make tables and indexes, change rows.

        Virtual tables may be those of FTS5, for full-text search.

        Raises:
            StatementRefused: One does something else, such as to change a table of the store's; nothing was done.
            StatementFailed: One is no SQL, or not what a table accepts; nothing was done.
        """
        ...

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT, of these tables and any other.

        The store's own tables are not part of what is promised from one version to the next.

        Raises:
            StatementFailed: It is no SELECT that the database understands.
        """
        ...
