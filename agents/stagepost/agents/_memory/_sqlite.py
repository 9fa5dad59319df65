"""A memory in SQLite: a table of texts, and beside it an index of their words by FTS5, where SQLite has it.

The index has no texts of its own. Each of its rows has a word that stands for the scope: a search is for this word and
any of the others, so it takes no longer because others remember the same words. Words are quoted, so nothing that a
model writes is syntax of FTS5.

An entry that is not in the index says so. The next one that is added brings it in: SQLite may have had no FTS5 before.
Numbers are used once only, so a word of an entry that was removed without FTS5 finds nothing.
"""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

from pydantic_core import to_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Cell, Statement

from ._backend import Query
from ._entry import MemoryEntry
from ._words import Place

_TABLE: Final = """
CREATE TABLE IF NOT EXISTS app_stagepost_memories (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    memory TEXT NOT NULL,
    scope TEXT NOT NULL,
    token TEXT NOT NULL,
    id TEXT NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    run TEXT,
    agent TEXT,
    indexed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (memory, scope, id)
) STRICT
"""
_IN_ORDER: Final = (
    "CREATE INDEX IF NOT EXISTS app_stagepost_memories_in_order ON app_stagepost_memories (memory, scope, number)"
)
_NOT_INDEXED: Final = (
    "CREATE INDEX IF NOT EXISTS app_stagepost_memories_not_indexed ON app_stagepost_memories (number) WHERE NOT indexed"
)
_WORDS: Final = """
CREATE VIRTUAL TABLE IF NOT EXISTS app_stagepost_memory_words
USING fts5(scope, text, content='', tokenize='porter unicode61 remove_diacritics 2')
"""
_PROBE: Final = """
SELECT (SELECT count(*) FROM sqlite_master WHERE name = 'app_stagepost_memories'),
    (SELECT count(*) FROM sqlite_master WHERE name = 'app_stagepost_memory_words'),
    (SELECT count(*) FROM pragma_module_list WHERE name = 'fts5')
"""
_ADD: Final = """
INSERT INTO app_stagepost_memories (memory, scope, token, id, text, at, run, agent) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (memory, scope, id) DO NOTHING
"""
_INDEX: Final = (
    """
INSERT INTO app_stagepost_memory_words (rowid, scope, text)
SELECT number, token, text FROM app_stagepost_memories WHERE NOT indexed
""",
    "UPDATE app_stagepost_memories SET indexed = 1 WHERE NOT indexed",
)
_HERE: Final = "memory = ? AND scope = ?"
_LEAVE_INDEX: Final = f"""
INSERT INTO app_stagepost_memory_words (app_stagepost_memory_words, rowid, scope, text)
SELECT 'delete', number, token, text FROM app_stagepost_memories WHERE indexed AND {_HERE}
"""
_REMOVE: Final = f"DELETE FROM app_stagepost_memories WHERE {_HERE}"
_ONE: Final = " AND id = ?"
_MERGE: Final = "INSERT INTO app_stagepost_memory_words (app_stagepost_memory_words) VALUES ('optimize')"
_COLUMNS: Final = "id, text, at, run, agent, number"
_BY_WORDS: Final = f"""
SELECT {_COLUMNS.replace("text", "app_stagepost_memories.text AS text")}
FROM app_stagepost_memory_words JOIN app_stagepost_memories ON number = app_stagepost_memory_words.rowid
WHERE app_stagepost_memory_words MATCH ? AND memory = ? AND app_stagepost_memories.scope = ?
ORDER BY bm25(app_stagepost_memory_words, 0, 1), number DESC LIMIT ?
"""
_CONTAINING: Final = f"""
SELECT {_COLUMNS} FROM (
    SELECT *, (SELECT count(*) FROM json_each(?) AS word WHERE instr(lower(text), word.value)) AS hits
    FROM app_stagepost_memories WHERE {_HERE}
) WHERE hits ORDER BY hits DESC, number DESC LIMIT ?
"""
_LATEST: Final = (
    f"SELECT {_COLUMNS} FROM app_stagepost_memories WHERE {_HERE} AND number < ? ORDER BY number DESC LIMIT ?"
)
_COUNT: Final = f"""
SELECT EXISTS (SELECT 1 FROM app_stagepost_memories WHERE {_HERE}{_ONE}),
    (SELECT count(*) FROM app_stagepost_memories WHERE {_HERE} AND id NOT IN (SELECT value FROM json_each(?)))
"""
_SCOPES: Final = (
    "SELECT DISTINCT scope FROM app_stagepost_memories WHERE memory = ? AND scope > ? ORDER BY scope LIMIT ?"
)
_QUOTE: Final = '"'
_LAST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class SqliteMemory:
    """The statements for SQLite.

    Attributes:
        is_made: Whether the table of texts exists.
        has_index: Whether the index exists.
        has_fts5: Whether this SQLite can use and make the index.
    """

    is_made: bool
    has_index: bool
    has_fts5: bool

    @classmethod
    async def found(cls, query: Query) -> "SqliteMemory":
        """What there is in a database."""
        ((table, index, module),) = await query(_PROBE)
        return cls(bool(table), bool(index), bool(module))

    def make(self) -> Sequence[Statement]:
        """Make the tables, if they do not exist."""
        texts = (_TABLE, _IN_ORDER, _NOT_INDEXED, *((_WORDS,) if self.has_fts5 else ()))
        return [] if self.is_made and self.has_index >= self.has_fts5 else [Statement(text) for text in texts]

    def add(self, place: Place, entry: MemoryEntry) -> Sequence[Statement]:
        """Add an entry."""
        at = round(entry.created_at.timestamp() * 1_000_000)
        values = (*place, place.token, entry.id, entry.text, at, entry.run_id, entry.agent)
        index = [Statement(text) for text in _INDEX] if self.has_fts5 else []
        return [*self.make(), Statement(_ADD, values), *index]

    def remove(self, place: Place, entry_id: str) -> Sequence[Statement]:
        """Remove an entry."""
        return self._removed(_ONE, (*place, entry_id))

    def clear(self, place: Place) -> Sequence[Statement]:
        """Remove all entries of a place; the index is written anew, because it keeps removed words for a while."""
        return [*self._removed("", place), *([Statement(_MERGE)] if self._is_indexed else [])]

    def search(self, place: Place, words: Sequence[str], limit: int) -> Sequence[Statement]:
        """By whole words, the rarest words count most; else by parts of words."""
        parts = to_json([_lower(word) for word in words]).decode()
        ways = [Statement(_CONTAINING, (parts, *place, limit))]
        if self._is_indexed:
            quoted = " OR ".join(f'"{word.replace(_QUOTE, _QUOTE * 2)}"' for word in words)
            ways.insert(0, Statement(_BY_WORDS, (f'scope : "{place.token}" AND text : ({quoted})', *place, limit)))
        return ways

    def latest(self, place: Place, before: int | None, limit: int) -> Statement:
        """The newest entries."""
        return Statement(_LATEST, (*place, _LAST if before is None else before, limit))

    def count(self, place: Place, entry_id: str, beside: Collection[str]) -> Statement:
        """Whether an entry exists, and how many others."""
        return Statement(_COUNT, (*place, entry_id, *place, to_json(sorted(beside)).decode()))

    def scopes(self, memory: str, after: str, limit: int) -> Statement:
        """The scopes of a memory."""
        return Statement(_SCOPES, (memory, after, limit))

    def entry(self, row: Sequence[Cell]) -> MemoryEntry:
        """The entry of a row."""
        entry_id, text, at, run, agent, _ = row
        created_at = datetime.fromtimestamp(int(at or 0) / 1_000_000, UTC)
        return MemoryEntry(str(entry_id), str(text), created_at, _text(run), _text(agent))

    @property
    def _is_indexed(self) -> bool:
        return self.has_index and self.has_fts5

    def _removed(self, which: str, values: Sequence[str]) -> Sequence[Statement]:
        texts = (*((_LEAVE_INDEX,) if self._is_indexed else ()), _REMOVE)
        return [Statement(text + which, values) for text in texts]


def _lower(word: str) -> str:
    """As SQLite writes it in small letters: those of ASCII."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in word)


def _text(cell: Cell) -> str | None:
    return None if cell is None else str(cell)
