"""Those who listen to one root run, and what is told and rung to all of them."""

from collections import deque
from collections.abc import Sequence
from heapq import merge
from itertools import count
from threading import get_ident
from typing import Final, NamedTuple, Protocol

import anyio.from_thread
from anyio.lowlevel import EventLoopToken, current_token

from .._ids import is_within
from ._buffer import Buffer
from ._followed import Followed
from ._group import Group
from ._saved import Saved, SavedItem
from ._told import Told

_KEPT: Final = 1_000  # told values of one run since its last commit
_RUNS_KEPT: Final = 1_000


class Listener(Protocol):
    """Whoever is in a room."""

    run_id: str
    buffer: Buffer
    hears: bool
    follows: bool

    def wake(self) -> None:
        """Something has come into the buffer."""
        ...

    def end(self, error: BaseException) -> None:
        """Nothing more will come, and why."""
        ...


class _Kept(NamedTuple):
    """What was told since the last commit of its run.

    Attributes:
        number: When, among all that was told.
        told: It.
    """

    number: int
    told: Told


class Room:
    """Those who listen to one root run, or to runs below it.

    Args:
        run_id: The root run.

    Attributes:
        run_id: The root run.
        memo: What listeners have read and made since the bell rang last.
        followed: The runs that are followed in memory, by their ids.
        rings: How often the bell has rung.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.memo: dict[object, object] = {}
        self.followed: dict[str, Followed] = {}
        self.rings = 0
        self._listeners: dict[Listener, None] = {}
        self._groups: dict[object, Group] = {}
        self._hearing = 0
        self._kept: dict[str, deque[_Kept]] = {}
        self._numbers = count()
        self._loop: tuple[int, EventLoopToken] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nobody listens."""
        return not self._listeners

    @property
    def has_one(self) -> bool:
        """Whether one listens, and no more."""
        return len(self._listeners) == 1

    @property
    def is_heard(self) -> bool:
        """Whether told values are of use to anybody: not if all who listen want rings only."""
        return self._hearing > 0 or self.is_empty

    def listened_to(self) -> Sequence[str]:
        """The runs that somebody listens to."""
        return tuple({listener.run_id for listener in self._listeners})

    def enter(self, listener: Listener) -> None:
        """Somebody listens from now on, and gets first what runs have told since their last commits."""
        self._hearing += listener.hears and listener not in self._listeners
        self.open()
        self._listeners[listener] = None
        for kept in merge(*self._kept.values(), key=_number):
            if listener.hears and is_within(kept.told.run_id, listener.run_id):
                listener.buffer.put(kept.told)

    def open(self) -> None:
        """The run is worked on in the event loop that calls this: what steps tell in threads is passed to it."""
        self._loop = (get_ident(), current_token())

    def leave(self, listener: Listener) -> None:
        """Somebody listens no longer."""
        self._hearing -= listener.hears and listener in self._listeners
        self._listeners.pop(listener, None)

    def tell(self, run_id: str, place: str, what: object) -> None:
        """A step tells something; in a thread, too."""
        if self._loop is not None and get_ident() != self._loop[0]:
            anyio.from_thread.run_sync(self.tell, run_id, place, what, token=self._loop[1])
            return
        if not self.is_heard:
            return
        told = Told(run_id, place, what)
        self._keep(told)
        for listener in self._listeners:
            if listener.hears and is_within(run_id, listener.run_id):
                listener.buffer.put(told)
                listener.wake()
        for group in self._groups.values():
            group.tell()

    def ring(self) -> None:
        """Something more may be stored."""
        self.memo.clear()
        self.rings += 1
        for listener in self._listeners:
            listener.buffer.ring()
            listener.wake()
        for group in self._groups.values():
            group.ring()

    def group(self, key: object) -> Group:
        """Those who wait for the same."""
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group()
        return group

    def tidy(self, key: object) -> None:
        """Forget a group in which nobody waits any more."""
        group = self._groups.get(key)
        if group is not None and not group.size:
            del self._groups[key]

    @property
    def is_followed(self) -> bool:
        """Whether anybody follows a run step by step."""
        return any(listener.follows for listener in self._listeners)

    def committed(self, run_id: str, saved: Saved | None) -> None:
        """A run has committed its root frame; told as a whole to those who follow it."""
        self.forget(run_id)
        if saved is not None:
            self._note(Told(run_id, saved.step or "", saved))
        self.ring()

    def ended(self, run_id: str, saved: SavedItem) -> None:
        """An item of a fan-out of a run has ended; told to those who follow the run."""
        self._note(Told(run_id, saved.item.path, saved))
        self.ring()

    def _note(self, told: Told) -> None:
        for listener in self._listeners:
            if listener.follows and listener.run_id == told.run_id:
                listener.buffer.note(told)

    def forget(self, run_id: str) -> None:
        """A run has committed what its steps have done: what they told of it is of no use to whoever comes later."""
        self._kept.pop(run_id, None)

    def finish(self, run_id: str) -> None:
        """A run is no longer executed here: from now on it is read from the store, which may know more of it."""
        self.forget(run_id)
        self.followed.pop(run_id, None)
        self.ring()

    def end(self, run_id: str, error: BaseException) -> None:
        """Those who listen to a run will hear nothing more, and why."""
        for listener in [listener for listener in self._listeners if listener.run_id == run_id]:
            self.leave(listener)
            listener.end(error)

    def _keep(self, told: Told) -> None:
        """Keep what was told for who comes late.

        Pieces that belong together, such as those of a text, are kept as one: a value that may be such a piece has a
        method ``grown(more)``, which gives both as one value, or None if they do not belong together.
        """
        kept = self._kept.get(told.run_id)
        if kept is None:
            kept = self._kept[told.run_id] = deque(maxlen=_KEPT)
            if len(self._kept) > _RUNS_KEPT:
                del self._kept[next(iter(self._kept))]
        last = kept[-1] if kept else None
        grow = None if last is None or last.told.place != told.place else getattr(last.told.what, "grown", None)
        grown = None if grow is None else grow(told.what)
        if last is None or grown is None:
            kept.append(_Kept(next(self._numbers), told))
        else:
            kept[-1] = _Kept(last.number, Told(told.run_id, told.place, grown))


def _number(kept: _Kept) -> int:
    return kept.number
