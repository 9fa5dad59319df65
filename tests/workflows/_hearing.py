"""Listeners of runs, as the tests of listening and of streams need them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from stagepost.checkpoint import Commit, MemoryStore, RunStatus, Snapshot
from stagepost.workflows import Heard, Listening, RunPart, RunStream


@dataclass
class Ear:
    """What one listener has heard and read so far."""

    heard: list[Heard] = field(default_factory=list)
    seen: list[Snapshot] = field(default_factory=list)

    @property
    def told(self) -> list[object]:
        return [told.what for heard in self.heard for told in heard.told]

    @property
    def last(self) -> Snapshot:
        return self.seen[-1]

    async def hear(self, listening: Listening, until: Callable[["Ear"], object]) -> "Ear":
        """Hear, and read after each ring, until something is so and nothing more has come."""
        while not (until(self) and listening.buffer.is_empty):
            heard = await listening.next()
            self.heard.append(heard)
            if heard.rung:
                self.seen.append(await listening.source.snapshot(listening.run_id))
        return self


def stands_at(place: str | None) -> Callable[[Ear], bool]:
    return lambda ear: bool(ear.seen) and ear.last.root.next == place


def has_ended(ear: Ear) -> bool:
    return bool(ear.seen) and not ear.last.run.status.is_open


def is_at_rest(ear: Ear) -> bool:
    return bool(ear.seen) and ear.last.run.status is RunStatus.WAITING


class HeldStore(MemoryStore):
    """Holds one commit, before or after it is saved, until it is let go.

    Args:
        number: Which, from 1.
        saved: Whether it is saved already while it is held.
    """

    def __init__(self, number: int, *, saved: bool) -> None:
        super().__init__()
        self._left = number
        self._saved = saved
        self.held = anyio.Event()
        self.go_on = anyio.Event()

    async def commit(self, commit: Commit) -> None:
        self._left -= 1
        if self._left != 0:
            return await super().commit(commit)
        if self._saved:
            await super().commit(commit)
        self.held.set()
        await self.go_on.wait()
        if not self._saved:
            await super().commit(commit)
        return None


class CountingStore(MemoryStore):
    """Counts reads."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = 0

    async def head(self, run_id: str) -> Snapshot:
        self.heads += 1
        return await super().head(run_id)


async def all_parts(stream: RunStream) -> list[RunPart]:
    async with stream:
        return [part async for part in stream]


def said(part: RunPart) -> dict[str, object]:
    """A part without what differs from run to run."""
    return {key: value for key, value in part.to_dict().items() if key not in ("timestamp", "run_id", "wait_id")}
