"""What all branches of one run share while a process works on it."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from itertools import count
from operator import attrgetter
from time import perf_counter, time
from typing import Any, TypeAlias

from anyio import CancelScope, move_on_after
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import (
    Closing,
    Frame,
    Item,
    ItemStatus,
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
from .._pattern_errors import describe
from .._values._secrets import NO_SECRETS, Secrets
from .._values._state import Value
from ._blobs import Blobs
from ._children import Children
from ._journal import Journal, Parts
from ._ledger import Ledger
from ._signal_box import SignalBox
from ._signals import Parked, Stopping

Listener: TypeAlias = Callable[[Sequence[str]], None]

_FAIR = 0.001  # seconds that the engine works before it lets others run
_ASK_EVERY = 16  # commits
_FEW = 8  # scopes that are looked at sooner than the event loop is asked
_CHEAP = 0.005  # seconds: a run that was taken up in less rests in the store at once
_LIMITS = Limits()
_IS_CANCELLED = attrgetter("cancel_called")


@dataclass(slots=True)
class ItemRecord:
    """One item of a fan-out that is under way.

    Attributes:
        idx: Position.
        input: What the worker gets.
        status: Where it stands; changed once the commit says so.
        value: What the worker made.
        error: What went wrong.
    """

    idx: int
    input: Value
    status: ItemStatus = ItemStatus.WAITING
    value: Value | None = None
    error: BaseException | str | None = None

    def stored(self, path: str, visit: int) -> Item:
        """The item as the store keeps it."""
        error = describe(self.error) if isinstance(self.error, BaseException) else self.error
        value = None if self.value is None else self.value.data
        return Item(path, visit, self.idx, self.status, self.input.data, value, error)


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
        journal: Where the run is saved; None in memory.
        ledger: Its waits and effects.
        limits: How large values may be.
        frames: Frames of items that a process before this one left, by path.
        items: Items of fan-outs under way, by the fan-out's path.
        intermediates: Where the states behind its steps go; None if nobody wants them.
        stopping: Whether the runner is being left.
        news: How often it was told of waits that have ended.
        settled_news: The same when it last had nothing left to do.
        patience: Seconds that taking it up took. For as long it stays in memory before it rests in the store, since
            news that comes meanwhile would have it taken up again. Whatever comes, this takes at most twice as long as
            the best choice would have, made by somebody who knew when news comes (the ski rental problem).
        straight: Paths of steps behind which nothing may come before the next one is begun.
        reopened: Ids of the children that were opened again; None unless the run itself was.
        is_observed: Whether anybody hears its events: worth asking before their details are put together.
        check_states: Whether steps that change their state in place fail; for tests.
        traceback: Traceback of the error that it has failed with.
        signals: What was sent to it.
        scope: What a stored run is executed in; cancelling it cancels the run. In memory there is none: such a run is
            cancelled with whatever awaits it.
        scopes: This one, and those of the fan-outs under way.
        listeners: Are told the places of waits that end.
        kept: Bytes beside the state of a run in memory, by digest.
        labels: What it can be found by, and its children too.
        numbers: Counts its values and lists with rows of their own.
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
    journal: Journal | None = None
    ledger: Ledger = field(default_factory=lambda: Ledger(None))
    limits: Limits = _LIMITS
    frames: dict[str, Frame] = field(default_factory=dict)
    items: dict[str, list[ItemRecord]] = field(default_factory=dict)
    intermediates: list[Any] | None = None
    stopping: bool = False
    news: int = 0
    settled_news: int = -1
    patience: float = 0.0
    straight: set[str] = field(default_factory=set)
    reopened: set[str] | None = None
    is_observed: bool = False
    check_states: bool = False
    traceback: str | None = None
    scope: CancelScope = field(init=False)
    scopes: list[CancelScope] = field(default_factory=list)
    resources: Any = None
    memo: dict[str, object] = field(default_factory=dict)
    listeners: list[Listener] = field(default_factory=list)
    signals: SignalBox = field(init=False)
    kept: dict[str, bytes] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=partial(count, 1))
    _blobs: Blobs | None = None
    _told: Bell = field(default_factory=Bell)
    _pauses: int = 0
    _cancelled: list[Item] = field(default_factory=list)
    _worked_since: float = field(default_factory=perf_counter)

    def __post_init__(self) -> None:
        self.trace = self.trace or self.run_id
        self.is_observed = self.emitter.enabled
        if self.journal is not None:
            self.scope = CancelScope()
            self.scopes.append(self.scope)

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
    def blobs(self) -> Blobs:
        """The bytes that it refers to."""
        if self._blobs is None:
            self._blobs = Blobs(self.journal, self.kept)
        return self._blobs

    def save(self, parts: Parts) -> Coroutine[Any, Any, None]:
        """Commit a change of a stored run. Each step comes by, so nothing is awaited on the way to the store."""
        assert self.journal is not None  # noqa: S101  # of a run in memory nothing is committed
        if not self.emitter.enabled:
            return self.journal.save(parts)
        return self._save_observed(self.journal, parts)

    async def _save_observed(self, journal: Journal, parts: Parts) -> None:
        started = perf_counter()
        await journal.save(parts)
        path, seq = _saved(parts)
        self.emit(Checkpointed, path=path, seq=seq, seconds=perf_counter() - started)

    @property
    def must_pause(self) -> bool:
        """Whether it is time to `pause`: asked behind each commit."""
        if self.journal is None:
            return self.stopping or perf_counter() - self._worked_since > _FAIR
        return self.stopping or self._may_be_cancelled()

    def goes_straight_on(self, path: str) -> bool:
        """Whether the step there has asked that nothing comes between it and the next one; told once."""
        asked = path in self.straight
        self.straight.discard(path)
        return asked

    async def pause(self) -> None:
        """The engine's own cancellation point behind a commit: memory and disk agree here. Lets others run.

        Raises:
            Stopping: The runner is being left.
        """
        if self.journal is None:
            await checkpoint()
            self._worked_since = perf_counter()
        else:
            await checkpoint_if_cancelled()
        if self.stopping:
            raise Stopping

    def _may_be_cancelled(self) -> bool:
        """Whether one of the run's own scopes is cancelled; those around the runner are asked less often.

        To ask takes as long as a tenth of a step. Nothing is lost: who is cancelled while a commit is being saved is
        told so again by whatever the next step awaits.
        """
        self._pauses += 1
        scopes = self.scopes
        if len(scopes) == 1:  # without any on the way, as most are
            return self._pauses % _ASK_EVERY == 0 or self.scope.cancel_called
        ask = self._pauses % _ASK_EVERY == 0 or len(scopes) > _FEW
        return ask or any(map(_IS_CANCELLED, scopes))

    def emit(self, kind: EventKind, /, **details: object) -> None:
        """Build an event and tell the observer, if there is one that wants to hear of such events."""
        if self.emitter.wants(kind.level):
            run_id = self.run_id
            if self.secrets.mask:
                run_id = self.secrets.mask(run_id)  # of a run that was stored before this was a secret
                details = {name: self._shown(value) for name, value in details.items()}
            self.emitter.emit(kind(run_id=run_id, workflow=self.workflow, **details))

    def _shown(self, detail: object) -> object:
        match detail:
            case str():
                return self.secrets.mask(detail)
            case list() | tuple():
                return type(detail)(map(self._shown, detail)) if type(detail) in (list, tuple) else detail
            case dict():
                return {self._shown(key): self._shown(value) for key, value in detail.items()}
            case _:
                return detail

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
            attempt=0 if self.journal is None else self.journal.epoch,
            trace=self.trace,
            error=describe(error),
            exception=traceback,
        )

    async def cancel(self) -> None:
        """Commit that the run was cancelled, and which of its items with it."""
        await self._end(RunStatus.CANCELLED)

    @property
    def heard(self) -> int:
        """How much news of the run it has heard, as the store counts it."""
        return 0 if self.journal is None else self.journal.heard

    async def rest(self) -> bool:
        """Stay in memory with nothing left to do, for as long as `patience` says; returns whether news has come."""
        if self.patience >= _CHEAP:
            news = self.news
            with move_on_after(self.patience):
                while self.news == news and not self.stopping:
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
        assert self.journal is not None  # noqa: S101  # a run in memory cannot wait
        if self.settled_news != self.news and await self.rest():
            return
        if await self.journal.park():
            raise Parked
        await self.listen()

    async def listen(self) -> None:
        """Read what has ended or come since the last time, and tell those who wait for it."""
        assert self.journal is not None  # noqa: S101  # a run in memory is sent nothing
        while True:
            before = self.journal.heard
            waits, count = await self.journal.news()
            if self.journal.heard == before:  # otherwise somebody has heard meanwhile, and this may be older
                break
        self.journal.heard = count
        if count - before > len(waits):
            self.signals.notice()
        self.hear([wait if wait.checked else await self.journal.fitting(wait) for wait in waits])

    def hear(self, waits: Iterable[StoredWait]) -> None:
        """Tell those who wait which waits have ended."""
        ended = self.ledger.hear(waits)
        self.news += 1
        for listener in tuple(self.listeners):
            listener(ended)
        self._told.ring()

    def stop(self) -> None:
        """Begin no further step."""
        self.stopping = True
        self._told.ring()

    async def _end(self, status: RunStatus, error: str | None = None, traceback: str | None = None) -> None:
        outcomes = self.take_cancelled()
        while True:
            try:
                return await self.save(Parts(closing=Closing(status, error, traceback, self.heard), outcomes=outcomes))
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
