"""A run with what has happened to it, as pages draw it."""

from dataclasses import replace
from typing import Final

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Snapshot
from stagepost.workflows import Recorded, RunHistory, read_history

from .._wire._run import RunShown

_AT_ONCE: Final = 500
_MOST: Final = 1_500  # entries: what a page can draw


@dataclass(frozen=True, slots=True)
class Inspected:
    """A run with what has happened to it.

    Attributes:
        shown: All that is stored of it.
        snapshot: The same, as the store gives it.
        history: What has happened to it, from its beginning; of very much only the first part, which its ``next`` says.
    """

    shown: RunShown
    snapshot: Snapshot
    history: RunHistory


async def told(store: Recorded, run_id: str) -> RunHistory:
    """What has happened to a run, as far as a page can draw it."""
    found = await read_history(store, run_id, limit=_AT_ONCE)
    while found.next is not None and len(found.items) < _MOST:
        page = await read_history(store, run_id, after=found.next, limit=_AT_ONCE)
        found = replace(page, items=(*found.items, *page.items))
    return found
