"""Where a run is saved."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypedDict

from stagepost.checkpoint import (
    Cell,
    CheckpointStore,
    Closing,
    Commit,
    Effect,
    Frame,
    Item,
    Joined,
    Lease,
    NewWait,
    Ref,
    Statement,
    StoredValue,
    StoredWait,
    WaitStatus,
)


class Parts(TypedDict, total=False):
    """What a commit changes beside its lease; see `Commit`."""

    frame: Frame
    frozen: tuple[Item, ...]
    outcomes: tuple[Item, ...]
    values: tuple[StoredValue, ...]
    ended: str | None
    joined: Joined | None
    effects: tuple[Effect, ...]
    closing: Closing
    blobs: Mapping[str, bytes | None]
    dropped: tuple[Ref, ...]
    also: tuple[Statement, ...]


class Watch(Protocol):
    """Is told of the waits that a run opens, since some of them end by themselves."""

    async def expect(self, wait: NewWait) -> None:
        """A wait is about to be opened.

        Raises:
            ChildElsewhere: Nobody would hear of its end.
        """
        ...

    async def opened(self, wait: StoredWait) -> None:
        """A wait was opened."""
        ...


class Journal:
    """Where a run is saved.

    Args:
        store: The store.
        lease: The right to commit to the run.
        watch: Is told of waits.
        is_attempt: Whether the run counts as an attempt to recover it until its first commit.
        heard: How much news of the run was known when it was read.
        misfit: Says why a step cannot read what has ended a wait; None if it can.

    Attributes:
        heard: How much news of the run its execution has heard; only news after that is read.
    """

    def __init__(
        self,
        store: CheckpointStore,
        lease: Lease,
        watch: Watch,
        *,
        is_attempt: bool = False,
        heard: int = 0,
        misfit: Callable[[StoredWait], str | None] = lambda _: None,
    ) -> None:
        self._store = store
        self._lease = lease
        self._watch = watch
        self._is_attempt = is_attempt
        self._misfit = misfit
        self.heard = heard

    @property
    def epoch(self) -> int:
        """How often the run was claimed."""
        return self._lease.epoch

    def save(self, parts: Parts) -> Coroutine[Any, Any, None]:
        """Commit one change; what raises here ends the run in this process."""
        if self._is_attempt:
            return self._progress(parts)
        return self._store.commit(Commit(self._lease, **parts))

    async def fitting(self, wait: StoredWait) -> StoredWait:
        """A wait; where somebody has ended it who could not check the value, and that misfits, it is open again."""
        while not wait.checked and wait.status is WaitStatus.ANSWERED and (why := self._misfit(wait)) is not None:
            wait = await self._store.reopen(self._lease, wait.place, why)  # answered again, if a signal is queued
        return wait

    async def wait(self, wait: NewWait) -> StoredWait:
        """Open a wait, or get the one that a signal has answered already."""
        self._store.limits.check(len(wait.prompt or b""), f"what {wait.place!r} shows")
        await self._watch.expect(wait)
        return await self.fitting(await self._store.wait(self._lease, wait))

    async def opened(self, wait: StoredWait) -> None:
        """A wait was opened, and everybody here knows."""
        await self._watch.opened(wait)

    async def blob(self, digest: str) -> bytes:
        """Bytes that the run refers to."""
        return await self._store.blob(digest)

    async def query(self, text: str, *values: Cell) -> Sequence[tuple[Cell, ...]]:
        """The rows of a SELECT."""
        return await self._store.query(text, *values)

    async def note(self, effect: Effect, blobs: Mapping[str, bytes | None] | None = None) -> None:
        """Save what became of an effect, with bytes that it has brought."""
        self._store.limits.check(len(effect.value or b""), f"what effect {effect.key!r} of {effect.place!r} returned")
        parts = Parts(effects=(effect,))
        if blobs:
            parts["blobs"] = blobs
        await self.save(parts)

    async def effects(self) -> Iterable[Effect]:
        """What is stored of effects."""
        return (await self._store.load(self._lease.run_id)).effects

    async def news(self) -> tuple[Sequence[StoredWait], int]:
        """The waits that have ended since `heard`, and how much news there is now."""
        return await self._store.news(self._lease.run_id, self.heard)

    async def park(self) -> bool:
        """Let the run rest, unless there is news that its execution has not heard."""
        return await self._store.park(self._lease, self.heard)

    async def _progress(self, parts: Parts) -> None:
        """Make the first commit since the run was recovered, which so has got somewhere."""
        await self._store.commit(Commit(self._lease, **parts, progresses=True))
        self._is_attempt = False
