"""Reading the parts of a run from what is stored of it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from stagepost.checkpoint import Page, RunInfo, RunStatus, Snapshot

from .._loop._loop import AgentLoop
from ._part import StreamPart

LoopOf: TypeAlias = Callable[[str, int], AgentLoop]
"""The loop of a workflow, by its name and version; raises `LookupError` if nobody knows it."""


class Source(Protocol):
    """What is stored of runs, or known of runs in memory."""

    async def snapshot(self, run_id: str) -> Snapshot:
        """A run without the elements of its lists."""
        ...

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        """Elements of one of its lists."""
        ...

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """The runs that its steps have started, by their ids."""
        ...


class Batch(NamedTuple):
    """Parts that were read.

    Attributes:
        parts: The numbered parts after the cursor, each with the cursor after it, in the order of commits.
        cursor: What to go on after; None while there is no part.
        is_over: Whether the last part of the run was told, with these or before.
        has_more: Whether there is more to read at once: a batch has a limited number of parts.
        status: Where the run stands.
    """

    parts: Sequence[StreamPart]
    cursor: str | None
    is_over: bool
    has_more: bool
    status: RunStatus
