"""Where the parts of a run are read from."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

from stagepost.checkpoint import Page, RunInfo, Snapshot

from .._loop._loop import AgentLoop

LoopOf: TypeAlias = Callable[[str, int], AgentLoop]
"""The loop of a workflow, by its name and version; raises `LookupError` if nobody knows it."""


class Source(Protocol):
    """What is stored of runs, or known of runs in memory."""

    async def snapshot(self, run_id: str) -> Snapshot:
        """A run without the elements of its lists."""
        ...

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[Any]:
        """Elements of one of its lists: as values of their type where these are known, otherwise as JSON."""
        ...

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[Any]]:
        """Both in one read; the elements may be more than the snapshot knows of."""
        ...

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """The runs that its steps have started, by their ids."""
        ...
