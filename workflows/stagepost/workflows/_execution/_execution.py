"""What all branches of one run share while a process works on it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import count
from time import time
from typing import Any, TypeAlias

from anyio import move_on_after

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import (
    Closing,
    Frame,
    Item,
    Keep,
    Limits,
    NewsFirst,
    RunStatus,
    Snapshot,
    StoredWait,
)
from stagepost.hub import Emitter, Hub, get_logger, traceback_text

from .._bell import Bell
from .._events import Checkpointed, EventKind
from .._listening._followed import Standing
from .._listening._room import Room
from .._pattern_errors import describe
from .._tracing import RunTracer, Tracer
from .._values._secrets import NO_SECRETS, Secrets
from .._values._state import Value
from ._blobs import Blobs
from ._children import Children
from ._chronicle import Chronicle
from ._items import ItemRecord
from ._journal import Journal, MemoryJournal, Parts, StoredJournal
from ._ledger import Ledger
from ._shown import shown
from ._signal_box import SignalBox
from ._signals import Parked

Listener: TypeAlias = Callable[[Sequence[str]], None]

_CHEAP = 0.005  # seconds: a run that was taken up in less rests in the store at once
_LIMITS = Limits()


@dataclass(slots=True)
class Execution:
    """One run in this process.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        emitter: Where events go.
        deps: What the process gives to steps.
        hub: Where agents are asked.
        resources: What the workflow's lifespan gives.
        memo: What steps put aside for each other; never stored.
        secrets: What steps may use and nobody may keep.
        clock: Seconds since 1970.
        trace: The trace that it belongs to; its own, named after it, where none is given.
        keep: What stays of it.
        children: Starts the runs that its steps want.
        journal: Where the run is saved, if it is.
        ledger: Its waits and effects.
        limits: How large values may be.
        frames: Frames of items that a process before this one left, by path.
        items: Items of fan-outs under way, by the fan-out's path.
        intermediates: Where the states behind its steps go; None if nobody wants them.
        news: How often it was told of waits that have ended.
        settled_news: The same when it last had nothing left to do.
        patience: Seconds that taking it up took. For as long it stays in memory before it rests in the store, since
            news that comes meanwhile would have it taken up again. Whatever comes, this takes at most twice as long as
            the best choice would have, made by somebody who knew when news comes (the ski rental problem).
        straight: Paths of steps behind which nothing may come before the next one is begun.
        begun: Ids of the children that its steps have wanted, if it was claimed once.
        reopened: Ids of the children that were opened again; None unless the run itself was.
        is_observed: Whether anybody hears its events: worth asking before their details are put together.
        check_states: Whether steps that change their state in place fail; for tests.
        traceback: Traceback of the error that it has failed with.
        signal_box: Makes what knows its signals, once somebody asks.
        listeners: Are told the places of waits that end.
        kept: Bytes beside the state of a run in memory, by digest.
        labels: What it can be found by, and its children too.
        chronicle: What it says of itself; None if it keeps no history.
        numbers: Counts its values and lists with rows of their own.
        room: Those who listen to it, or to the run around it; None if nobody does.
        stand: Makes what shows it to those who listen, once its root branch is there.
        tracer: Traces the runs of its runner, or those below it; None if they are not traced.
        tracing: What traces it; None if it is not traced.
    """

    run_id: str
    workflow: str
    emitter: Emitter
    deps: Any = None
    hub: Hub | None = None
    secrets: Secrets = field(default_factory=lambda: NO_SECRETS)
    clock: Callable[[], float] = time
    trace: str = ""
    keep: Keep = Keep.RESULT
    children: Children | None = None
    journal: Journal = field(default_factory=MemoryJournal)
    ledger: Ledger = field(default_factory=lambda: Ledger(None))
    limits: Limits = _LIMITS
    frames: dict[str, Frame] = field(default_factory=dict)
    items: dict[str, list[ItemRecord]] = field(default_factory=dict)
    intermediates: list[Any] | None = None
    news: int = 0
    settled_news: int = -1
    patience: float = 0.0
    straight: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    reopened: set[str] | None = None
    is_observed: bool = False
    check_states: bool = False
    traceback: str | None = None
    resources: Any = None
    memo: dict[str, object] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    signal_box: Callable[[], SignalBox] = field(init=False)
    kept: dict[str, bytes] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=partial(count, 1))
    chronicle: Chronicle | None = None
    room: Room | None = None
    stand: Callable[[], Standing] | None = None
    tracer: Tracer | None = None
    tracing: RunTracer | None = None
    _standing: Standing | None = None
    _blobs: Blobs | None = None
    _signals: SignalBox | None = None
    _told: Bell = field(default_factory=Bell)
    _cancelled: list[Item] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.trace = self.trace or self.run_id
        self.is_observed = self.emitter.enabled
        if self.is_observed and self.journal.is_stored:
            self.journal.saved = self._tell_saved
        if self.keep is Keep.ALL and self.journal.is_stored:
            self.chronicle = self.journal.chronicle = Chronicle(self.clock, self.secrets.mask)

    def restore(self, snapshot: Snapshot) -> None:
        """Take up what a process before this one has left."""
        self.frames = {path: frame for path, frame in snapshot.frames.items() if path}
        self.numbers = numbers_behind(snapshot)
        for item in snapshot.items:
            value = None if item.value is None else Value(item.value)
            record = ItemRecord(item.idx, Value(item.input), item.status, value, item.error)
            self.items.setdefault(item.path, []).append(record)
        self.ledger.restore(snapshot)

    @property
    def standing(self) -> Standing | None:
        """It as those see it who listen; None as long as its root branch is not there, and in memory."""
        if self._standing is None and self.stand is not None:
            self._standing = self.stand()
        return self._standing

    @property
    def blobs(self) -> Blobs:
        """The bytes that it refers to."""
        if self._blobs is None:
            self._blobs = Blobs(self.journal if self.journal.is_stored else None, self.kept)
        return self._blobs

    @property
    def signals(self) -> SignalBox:
        """What was sent to it."""
        if self._signals is None:
            self._signals = self.signal_box()
        return self._signals

    @property
    def stored(self) -> StoredJournal:
        """Where it is saved, for what only a stored run does."""
        assert self.journal.is_stored  # noqa: S101  # a run in memory cannot wait, and is sent nothing
        return self.journal

    def goes_straight_on(self, path: str) -> bool:
        """Whether the step there has asked that nothing comes between it and the next one; told once."""
        asked = path in self.straight
        self.straight.discard(path)
        return asked

    def _tell_saved(self, parts: Parts, seconds: float) -> None:
        path, seq = _saved(parts)
        self.emit(Checkpointed, path=path, seq=seq, seconds=seconds)

    def emit(self, kind: EventKind, /, **details: object) -> None:
        """Build an event and tell the observer, if there is one that wants to hear of such events."""
        level = kind.level  # of what is no event this fails, whether anybody listens or not
        if self.is_observed and self.emitter.wants(level):
            run_id = self.run_id
            if self.secrets.has_any:
                run_id = self.secrets.mask(run_id)  # of a run that was stored before this was a secret
                details = {name: shown(value, self.secrets.mask) for name, value in details.items()}
            self.emitter.emit(kind(run_id=run_id, workflow=self.workflow, **details))

    def admit(self, room: Room | None) -> None:
        """Have those listen who are in a room; None for nobody."""
        self.room = room
        if self.journal.is_stored:
            self.journal.room = room

    def tell(self, place: str, what: object) -> None:
        """Tell whoever listens, if anybody does; of plain values a copy, without secrets."""
        if self.room is not None:
            self.room.tell(self.run_id, place, shown(what, self.secrets.mask))

    def note_cancelled(self, item: Item) -> None:
        """Remember an item that was cancelled, for the commit that says why: a failure beside it, or the run's end."""
        self._cancelled.append(item)

    def take_cancelled(self) -> tuple[Item, ...]:
        """What has been noted since the last call."""
        items, self._cancelled = tuple(self._cancelled), []
        return items

    def forget_below(self, path: str) -> None:
        """Forget what is under way in the items of a fan-out, none of which will be worked on again."""
        below = f"{path}["
        for known in (self.frames, self.items):
            for inner in [inner for inner in known if inner.startswith(below)]:
                del known[inner]
        self._cancelled = [item for item in self._cancelled if not f"{item.path}[".startswith(below)]
        self.ledger.forget_below(below)

    def opens_again(self, child: str) -> bool:
        """Whether a child that has failed is opened again: once, if somebody has resumed this run."""
        if self.reopened is None or child in self.reopened:
            return False
        self.reopened.add(child)
        return True

    async def fail(self, error: BaseException, place: str) -> None:
        """Commit that the run has failed, and log it: whoever started it may never ask.

        Args:
            error: Why.
            place: Where in the workflow.
        """
        self.traceback = traceback = traceback_text(error, self.secrets.mask)
        await self._end(RunStatus.FAILED, self.secrets.mask(describe(error)), traceback)
        get_logger("workflows", mask=self.secrets.mask).error(
            "run failed",
            run_id=self.run_id,
            workflow=self.workflow,
            place=place,
            attempt=self.journal.epoch,
            trace=self.trace,
            error=describe(error),
            exception=traceback,
        )

    async def complete(self) -> None:
        """Commit that the run has completed, of one that began at its end: a fork of a run that had ended."""
        await self._end(RunStatus.COMPLETED)

    async def cancel(self) -> None:
        """Commit that the run was cancelled, and which of its items with it."""
        await self._end(RunStatus.CANCELLED)

    async def rest(self) -> bool:
        """Stay in memory with nothing left to do, for as long as `patience` says; returns whether news has come."""
        if self.patience >= _CHEAP:
            news = self.news
            with move_on_after(self.patience):
                while self.news == news and not self.journal.stopping:
                    await self._told.wait()
            if self.news != news:
                return True
        self.settled_news = self.news
        return False

    async def park(self) -> None:
        """Let the run rest in the store until one of its waits ends; returns if there is news that comes first.

        Raises:
            Parked: It rests.
        """
        if self.settled_news != self.news and await self.rest():
            return
        if await self.stored.park():
            raise Parked
        await self.listen()

    async def listen(self) -> None:
        """Read what has ended or come since the last time, and tell those who wait for it."""
        journal = self.stored
        while True:
            before = journal.heard
            waits, count = await journal.news()
            if journal.heard == before:  # otherwise somebody has heard meanwhile, and this may be older
                break
        journal.heard = count
        if count - before > len(waits):
            self.signals.notice()
        self.hear([wait if wait.checked else await journal.fitting(wait) for wait in waits])

    def hear(self, waits: Iterable[StoredWait]) -> None:
        """Tell those who wait which waits have ended."""
        ended = self.ledger.hear(waits)
        self.news += 1
        for listener in tuple(self.listeners):
            listener(ended)
        self._told.ring()
        if self.room is not None:  # which was rung when that was stored, before it was known here
            self.room.ring()

    def stop(self) -> None:
        """Begin no further step."""
        self.journal.stopping = True
        self._told.ring()

    def interrupt(self) -> None:
        """Cancel what this process does of it."""
        self.stored.scope.cancel()

    async def _end(self, status: RunStatus, error: str | None = None, traceback: str | None = None) -> None:
        outcomes = self.take_cancelled()
        while True:
            try:
                closing = Closing(status, error, traceback, self.journal.heard)
                return await self.stored.save(Parts(closing=closing, outcomes=outcomes))
            except NewsFirst:  # nothing that has come changes this end
                await self.listen()


def numbers_behind(snapshot: Snapshot) -> Iterator[int]:
    """Counts on from the values and lists that a run has."""
    named = [ref.number for frame in snapshot.frames.values() for ref in frame.refs.values() if not ref.maker]
    return count(1 + max(snapshot.numbers, *named, 0))


def _saved(parts: Parts) -> tuple[str, int | None]:
    """What a commit was about: a branch, or an item, or else the run."""
    frame, outcomes = parts.get("frame"), parts.get("outcomes")
    if frame is not None:
        return frame.path, frame.seq
    return (f"{outcomes[0].path}[{outcomes[0].idx}]" if outcomes else ""), None
