"""Where a run is saved, and where it pauses between what it saves."""

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from time import perf_counter
from typing import Any, Final, Literal, Protocol, TypeAlias, TypedDict

from anyio import CancelScope
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from stagepost.checkpoint import (
    Cell,
    CheckpointStore,
    Closing,
    Commit,
    Effect,
    Frame,
    Happening,
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

from .._listening._room import Room
from ._chronicle import Chronicle
from ._signals import Stopping

_FAIR: Final = 0.001  # seconds that the engine works on a run in memory before it lets others run
_ASK_EVERY: Final = 16  # commits
_FEW: Final = 8  # scopes that are looked at sooner than the event loop is asked
_IS_CANCELLED: Final = attrgetter("cancel_called")


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
    happened: tuple[Happening, ...]


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


class MemoryJournal:
    """Of a run in memory: nothing of it is saved, and it is cancelled with whatever awaits it.

    Attributes:
        is_stored: Whether anything is saved.
        stopping: Whether no further step is to begin.
        scopes: What its fan-outs under way run in.
        epoch: How often the run was claimed.
        heard: How much news of the run was heard: nobody sends it any.
    """

    is_stored: Literal[False] = False
    epoch = 0
    heard = 0

    def __init__(self) -> None:
        self.stopping = False
        self.scopes: list[CancelScope] = []
        self._worked_since = perf_counter()

    @property
    def must_pause(self) -> bool:
        """Whether it is time to `pause`: asked after each step."""
        return self.stopping or perf_counter() - self._worked_since > _FAIR

    async def pause(self) -> None:
        """Let others run.

        Raises:
            Stopping: No further step is to begin.
        """
        await checkpoint()
        self._worked_since = perf_counter()
        if self.stopping:
            raise Stopping


class StoredJournal:
    """Of a stored run: each change is one commit.

    Args:
        store: The store.
        lease: The right to commit to the run.
        watch: Is told of waits.
        is_attempt: Whether the run counts as an attempt to recover it until its first commit.
        heard: How much news of the run was known when it was read.
        misfit: Says why a step cannot read what has ended a wait; None if it can.

    Attributes:
        is_stored: Whether anything is saved.
        stopping: Whether the runner is being left, so that no further step is to begin.
        scope: What the run is executed in; cancelling it cancels the run.
        scopes: This one, and those of the fan-outs under way.
        heard: How much news of the run its execution has heard; only news after that is read.
        saved: Is told of each commit, and how many seconds it took; None if nobody wants to know.
        chronicle: What the run says of itself; None if it keeps no history.
        room: Those who listen to the run; None if nobody does. Branches ring there after their commits, the journal
            after what else it has stored.
    """

    is_stored: Literal[True] = True

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
        self._pauses = 0
        self.stopping = False
        self.scope = CancelScope()
        self.scopes = [self.scope]
        self.heard = heard
        self.saved: Callable[[Parts, float], None] | None = None
        self.chronicle: Chronicle | None = None
        self.room: Room | None = None

    @property
    def epoch(self) -> int:
        """How often the run was claimed."""
        return self._lease.epoch

    def save(self, parts: Parts) -> Coroutine[Any, Any, None]:
        """Commit one change; what raises here ends the run in this process.

        Each step comes by, so nothing is awaited on the way to the store.
        """
        if self._is_attempt or self.saved is not None or self.chronicle is not None:
            return self._save(parts)
        return self._store.commit(Commit(self._lease, **parts))

    async def _save(self, parts: Parts) -> None:
        """Commit, and say so. The first commit since the run was recovered says that it has got somewhere."""
        started, chronicle = perf_counter(), self.chronicle
        said = () if chronicle is None else chronicle.take()
        if said:
            parts = {**parts, "happened": (*said, *parts.get("happened", ()))}
        try:
            await self._store.commit(Commit(self._lease, **parts, progresses=self._is_attempt))
        except Exception:
            if chronicle is not None:
                chronicle.put_back(said)
            raise
        self._is_attempt = False
        if self.saved is not None:
            self.saved(parts, perf_counter() - started)

    @property
    def must_pause(self) -> bool:
        """Whether it is time to `pause`, asked after each commit: whether one of the run's own scopes is cancelled.

        Those around the runner are asked less often, since to ask takes as long as a tenth of a step. Nothing is lost:
        who is cancelled while a commit is being saved is told so again by whatever the next step awaits.
        """
        if self.stopping:
            return True
        self._pauses += 1
        scopes = self.scopes
        if len(scopes) == 1:  # without any on the way, as most are
            return self._pauses % _ASK_EVERY == 0 or self.scope.cancel_called
        ask = self._pauses % _ASK_EVERY == 0 or len(scopes) > _FEW
        return ask or any(map(_IS_CANCELLED, scopes))

    async def pause(self) -> None:
        """The engine's own cancellation point after a commit: memory and disk agree here.

        Raises:
            Stopping: The runner is being left.
        """
        await checkpoint_if_cancelled()
        if self.stopping:
            raise Stopping

    async def fitting(self, wait: StoredWait) -> StoredWait:
        """A wait; where somebody has ended it who could not check the value, and that misfits, it is open again."""
        while not wait.checked and wait.status is WaitStatus.ANSWERED and (why := self._misfit(wait)) is not None:
            wait = await self._store.reopen(self._lease, wait.place, why)  # answered again, if a signal is queued
            self._ring()
        return wait

    async def wait(self, wait: NewWait) -> StoredWait:
        """Open a wait, or get the one that a signal has answered already."""
        if wait.prompt is not None:
            self._check_size(wait.prompt, f"what {wait.place!r} shows")
        await self._watch.expect(wait)
        if self.chronicle is not None:
            self.chronicle.rest(wait.place)
            wait = replace(wait, happened=self.chronicle.take())
        stored = await self._store.wait(self._lease, wait)
        self._ring()
        return await self.fitting(stored)

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
        if effect.value is not None:
            self._check_size(effect.value, f"what effect {effect.key!r} of {effect.place!r} returned")
        parts = Parts(effects=(effect,))
        if blobs:
            parts["blobs"] = blobs
        await self.save(parts)
        self._ring()

    async def effects(self) -> Iterable[Effect]:
        """What is stored of effects."""
        return (await self._store.load(self._lease.run_id)).effects

    async def news(self) -> tuple[Sequence[StoredWait], int]:
        """The waits that have ended since `heard`, and how much news there is now."""
        return await self._store.news(self._lease.run_id, self.heard)

    def _ring(self) -> None:
        if self.room is not None:
            self.room.ring()

    def _check_size(self, data: bytes, where: str) -> None:
        limits = self._store.limits
        if len(data) > limits.least:
            limits.check(len(data), where)

    async def park(self) -> bool:
        """Let the run rest, unless there is news that its execution has not heard."""
        return await self._store.park(self._lease, self.heard)


Journal: TypeAlias = StoredJournal | MemoryJournal
