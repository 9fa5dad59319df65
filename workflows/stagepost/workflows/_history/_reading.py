"""Reading the history of a run."""

from typing import Final, Protocol

from stagepost.checkpoint import Happenings, JsonValue, Keep, Ref, Snapshot, read_frozen

from ._entries import RunHistory
from ._known import known_of
from ._telling import history_of
from ._values import RecordedValue

_SEALED: Final = b'"sealed'  # how a value begins that is encrypted, where nobody has its key


class Recorded(Protocol):
    """Where runs are stored: a store, or a reader of a file (``SqliteStore.reader(path)``)."""

    async def happenings(self, run_id: str, *, after: int | str = 0, limit: int = 100) -> Happenings:
        """What has happened to a run that keeps all."""
        ...

    async def head(self, run_id: str) -> Snapshot:
        """All that is stored of a run, without lists that have rows of their own."""
        ...

    async def value(self, run_id: str, path: str, ref: Ref, *, after: int = 0) -> bytes:
        """JSON of a value that has rows of its own."""
        ...


async def read_history(store: Recorded, run_id: str, *, after: int | str | None = None, limit: int = 100) -> RunHistory:
    """What has happened to a run, without a runner: also from a file alone, beside its living owner.

    ::

        async with SqliteStore.reader("runs.db") as reader:
            history = await read_history(reader, run_id)

    No definition of the workflow is needed. Of an encrypted file that is read without its keys, it is told what is
    known of a run that keeps no history: the details of what has happened are encrypted, too.

    Args:
        store: Where the run is: a store, or a reader of its file.
        run_id: The run.
        after: Only what came after this: `RunHistory.next` of the page before, or `HistoryEntry.number`.
        limit: At most so many entries.

    Raises:
        RunNotFound: There is no such run.
        CorruptRun: Its history is not what was written.
        ValueError: `limit` is less than 1, or `after` is no number.
    """
    found = await store.happenings(run_id, after=after or 0, limit=limit)
    if found.run.keep is Keep.ALL and not found.run.input.startswith(_SEALED):
        return history_of(found)
    return known_of(await store.head(run_id), found.children, int(after or 0), limit)


async def read_value(store: Recorded, run_id: str, recorded: RecordedValue, *, after: int = 0) -> JsonValue:
    """A value that a history names, also if it is large, or a list that grows.

    Args:
        store: Where the run is: a store, or a reader of its file.
        run_id: The run.
        recorded: `KeyChange.before` or `KeyChange.after`.
        after: How many elements of a list to leave out: of one that has grown those that were there before.

    Raises:
        RunNotFound: There is no such run.
        CorruptRun: The value is gone.
    """
    if recorded.ref is None:
        return recorded.value
    return read_frozen(await store.value(run_id, recorded.path, recorded.ref, after=after))
