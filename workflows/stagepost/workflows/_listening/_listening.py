"""One listener of a run."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import TracebackType
from typing import Final, NamedTuple, Protocol, Self, TypeVar

from .._bell import Bell
from ._buffer import Buffer
from ._group import Group
from ._room import Room
from ._source import ReadSource, Source, shared
from ._told import Heard

T = TypeVar("T")

_READS: Final = 2


class Entered(NamedTuple):
    """What a listener finds where it has entered.

    Attributes:
        room: Those who listen to the same root run.
        source: Where it reads what is stored.
        followed: The same, but runs that are executed here are read from memory.
    """

    room: Room
    source: Source
    followed: ReadSource


class Door(Protocol):
    """Where listeners find the room of a run."""

    def enter(self, listening: "Listening") -> Entered:
        """Listen from now on."""
        ...

    def leave(self, listening: "Listening", room: Room) -> None:
        """Listen no longer."""
        ...

    def works_on(self, run_id: str) -> bool:
        """Whether a run is executed here."""
        ...


class Listening:
    """Hears what a run does while it works: a context manager that listens as long as it is entered.

    ::

        with runner.listen(run_id) as listening:
            while True:
                heard = await listening.next()
                if heard.rung:
                    snapshot = await listening.source.snapshot(run_id)

    One task at a time waits for `next`. Whoever listens keeps nobody waiting: who is slow loses told values, never a
    ring.

    Args:
        run_id: The run.
        door: Where its room is.
        size: How many told values it keeps; see `Heard.missed`. With 0 it hears rings only.
        follows: Whether it is told each commit of the run's root frame too, as a `Saved` that comes with the ring.

    Attributes:
        run_id: The run that is listened to, with those that its steps have started.
        buffer: What it has not heard yet.
        hears: Whether it hears told values.
        follows: Whether it is told commits.
    """

    def __init__(self, run_id: str, door: Door, *, size: int, follows: bool = False) -> None:
        if size < follows:
            raise ValueError(f"buffer={size}: give at least 1" + ("" if follows else ", or 0 to hear rings only"))
        self.run_id = run_id
        self.buffer = Buffer(size)
        self.hears = size > 0
        self.follows = follows
        self._door = door
        self._bell = Bell()
        self._group: Group | None = None
        self._inside: Entered | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._error = None
        self._inside = self._door.enter(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._door.leave(self, self._entered.room)
        self.end(RuntimeError("the block of this listener was left: make another one"))

    @property
    def source(self) -> Source:
        """Where to read what a ring has announced."""
        return self._entered.source

    @property
    def followed(self) -> ReadSource:
        """The same; but of a run that is executed here it has what the branches have committed, without a read.

        Of frames it has that of the root, and of items those of the fan-out there. Elements of lists come as values of
        their type where these are known, otherwise as JSON. It may not know yet of a commit that the store knows of.
        """
        return self._entered.followed

    @property
    def memo(self) -> dict[object, object]:
        """What listeners of the same root run have made of what they read, for each other; cleared by each ring."""
        return self._entered.room.memo

    @property
    def is_live(self) -> bool:
        """Whether the run is executed here, so that each further commit is told."""
        return self._door.works_on(self.run_id)

    async def next(self) -> Heard:
        """What has come since the last call; waits until there is something.

        The first call returns at once, with what steps have told since the last commits of their runs, and with a ring.
        After the end of the run it waits until somebody resumes it: look at the status first.

        Raises:
            RunnerStopped: The runner was left.
            RunLeftOpen: Nobody here goes on with the run.
            CheckpointError: A commit failed, or the store takes nothing more.
            RuntimeError: This was not entered, or was left.
        """
        _ = self._entered
        while self.buffer.is_empty:
            self._check()
            await self._bell.wait()
        return self.buffer.take()

    async def ready(self, key: object, read: Callable[[], Awaitable[object]]) -> None:
        """Wait until `next` returns at once, and `shared` with this key too if it has rung.

        Of those who wait with the same key one reads; the others are woken once. Who waits alone reads nothing here.

        Args:
            key: As for `shared`.
            read: As for `shared`.

        Raises:
            Exception: As by `next`. What `read` raises is left to `shared`.
        """
        room = self._entered.room
        while self.buffer.is_empty:
            self._check()
            if room.has_one:  # nobody to read for
                await self._bell.wait()
                continue
            group = self._group = room.group(key)
            try:
                reads = await group.wait()
            finally:
                self._group = None
                room.tidy(key)
            if reads:
                await self._read_for(group, key, read)

    async def _read_for(self, group: Group, key: object, read: Callable[[], Awaitable[object]]) -> None:
        """Read for a group; once more if it has rung since, which the others would have to do otherwise."""
        try:
            with suppress(Exception):  # who reads by himself meets it
                for _ in range(_READS):
                    if group.size and key not in self.memo:
                        await self.shared(key, read)
        finally:
            group.release()

    async def shared(self, key: object, read: Callable[[], Awaitable[T]]) -> T:
        """What a function reads or makes: of those who listen to the same root run one does so, until the next ring.

        Args:
            key: What it is; also what was read before, if that matters.
            read: Reads it.
        """
        return await shared(self.memo, key, read)

    @property
    def is_alone(self) -> bool:
        """Whether nobody else listens to the same root run."""
        return self._entered.room.has_one

    @property
    def rings(self) -> int:
        """How often the bell has rung for anybody who listens to the same root run: tells whether a read is current."""
        return self._entered.room.rings

    def wake(self) -> None:
        """Something has come into the buffer, for the room."""
        self._bell.ring()

    def end(self, error: BaseException) -> None:
        """Nothing more will come, for the room."""
        self._error = error
        self._bell.ring()
        if self._group is not None:
            self._group.wake()

    def _check(self) -> None:
        if self._error is not None:
            raise self._error.with_traceback(None)

    @property
    def _entered(self) -> Entered:
        if self._inside is None:
            raise RuntimeError("nobody listens yet: enter this first (`with runner.listen(run_id) as listening`)")
        return self._inside
