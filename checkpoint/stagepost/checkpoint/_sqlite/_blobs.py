"""Looking at the bytes that runs refer to."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, TypeAlias

from anyio.to_thread import run_sync

from .._blobs import is_intact
from ..errors import CorruptBlob, StoreFailed
from ._faults import is_damage
from ._queries import SELECT_BLOB, Query, Row, as_bytes, digests_query, referring_query

Read: TypeAlias = Callable[[Query], Awaitable[Sequence[Row]]]

_PAGE: Final = 200  # digests looked at in one query


async def damaged_blobs(read: Read) -> Sequence[CorruptBlob]:
    """What runs refer to and is gone, or other than its digest says."""
    found, after = list[CorruptBlob](), ""
    while digests := [str(digest) for (digest,) in await read(digests_query(after, _PAGE))]:
        for digest in digests:
            why = await _damage(read, digest)
            runs = [str(run_id) for (run_id,) in await read(referring_query(digest))] if why else []
            if why and runs:  # references without a run are told of as rows
                found.append(CorruptBlob(digest, runs, why))
        after = digests[-1]
    return found


async def _damage(read: Read, digest: str) -> str | None:
    try:
        rows = await read(Query(SELECT_BLOB, (as_bytes(digest),)))
    except StoreFailed as error:
        if not is_damage(error.__cause__):
            raise
        return f"cannot be read ({error.reason})"
    if not rows:
        return "are gone"
    data = bytes(rows[0][0])
    return None if await run_sync(is_intact, data, digest) else "are not what was stored"
