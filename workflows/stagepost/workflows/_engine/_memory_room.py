"""Listening to runs in memory, which are read from what their branches have."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from secrets import token_hex
from typing import Protocol

from stagepost.checkpoint import (
    Item,
    Page,
    Ref,
    RunInfo,
    RunNotFound,
    RunStatus,
    Snapshot,
    join_values,
)
from stagepost.hub import traceback_text

from .._listening._listening import Entered, Listening
from .._listening._room import Room
from .._pattern_errors import describe
from .._values._append import Elements
from .._values._layout import LARGE
from .._values._state import GatheredValue, Stored
from ..errors import WorkflowError
from ._branch import Branch, to_bytes
from ._standing import frame_of


class Kind(Protocol):
    """What a run is of."""

    name: str
    version: int


class MemoryRun:
    """A run in memory, as it stands and as it has ended.

    Args:
        kind: Its workflow.
        branch: Its root.
    """

    def __init__(self, kind: Kind, branch: Branch) -> None:
        run = branch.execution
        self.branch = branch
        self._mask = run.secrets.mask
        self._info = RunInfo(
            run_id=run.run_id,
            workflow=kind.name,
            version=kind.version,
            status=RunStatus.RUNNING,
            key=None,
            input=join_values(to_bytes(branch.own)),
            error=None,
            cancelling=False,
            owner=None,
            epoch=1,
            attempts=0,
            created_at=datetime.fromtimestamp(run.clock(), UTC),
            finished_at=None,
            trace=run.trace,
        )

    @property
    def info(self) -> RunInfo:
        """What is known of it beside its state."""
        return self._info

    def end(self, status: RunStatus, error: BaseException | None = None) -> None:
        """It has ended."""
        self._info = self._info._replace(
            status=status,
            error=None if error is None else self._mask(describe(error)),
            traceback=None if error is None else traceback_text(error, self._mask),
            finished_at=datetime.fromtimestamp(self.branch.execution.clock(), UTC),
        )

    def snapshot(self) -> Snapshot:
        """It as `CheckpointStore.head` shows a stored run."""
        branches = list(_branches(self.branch))
        frames = {branch.path: frame_of(branch, _refs(branch.own)) for branch in branches if branch.seq}
        return Snapshot(self._info, frames, [item for branch in branches for item in _items(branch)])


class MemorySource:
    """Reads a run in memory and the runs that its steps have started.

    Args:
        runs: They, by their ids.
    """

    def __init__(self, runs: Mapping[str, MemoryRun]) -> None:
        self._runs = runs

    async def snapshot(self, run_id: str) -> Snapshot:
        """As of `Source`."""
        return self._find(run_id).snapshot()

    async def elements(self, run_id: str, key: str, after: int, limit: int = 100) -> Page[bytes]:
        """As of `Source`."""
        value = self._find(run_id).branch.own.get(key)
        parts = () if value is None else (_parts(value) or ())
        found = parts[after : after + limit]
        return Page(found, str(after + limit) if len(parts) > after + limit else None)

    async def snapshot_with(self, run_id: str, key: str, after: int, limit: int = 100) -> tuple[Snapshot, Page[bytes]]:
        """As of `Source`."""
        return await self.snapshot(run_id), await self.elements(run_id, key, after, limit)

    async def below(self, run_id: str) -> Sequence[RunInfo]:
        """As of `Source`."""
        return tuple(run.info for below, run in sorted(self._runs.items()) if below.rpartition(".")[0] == run_id)

    def _find(self, run_id: str) -> MemoryRun:
        run = self._runs.get(run_id)
        if run is None:
            raise RunNotFound(run_id)
        return run


class MemoryRoom:
    """Those who listen to a run in memory.

    ::

        room = MemoryRoom()
        async with anyio.create_task_group() as group:
            group.start_soon(show, room)  # with room.listen() as listening: …
            result = await digest.run(state, room=room)

    A room is for one run. Whoever listens before the run has begun hears nothing until then.

    Attributes:
        run_id: The run's id.
    """

    def __init__(self) -> None:
        self.run_id = f"memory-{token_hex(16)}"
        self._room = Room(self.run_id)
        self._runs: dict[str, MemoryRun] = {}
        self._is_taken = False
        self._error: BaseException | None = None

    def listen(self, *, buffer: int = 1000, follows: bool = False) -> Listening:
        """Listen to the run and to those that its steps start.

        Args:
            buffer: How many told values are kept until the next call; of more the oldest are dropped and counted.
            follows: Whether the listener is told each commit too.
        """
        return Listening(self.run_id, self, size=buffer, follows=follows)

    def enter(self, listening: Listening) -> Entered:
        """Somebody listens from now on."""
        self._room.enter(listening)
        if self._runs:
            listening.buffer.ring()
        if self._error is not None:
            self._room.end(self.run_id, self._error)
        source = MemorySource(self._runs)
        return Entered(self._room, source, source)

    def leave(self, listening: Listening, room: Room) -> None:  # there is one room
        """Somebody listens no longer."""
        room.leave(listening)

    def works_on(self, run_id: str) -> bool:
        """Whether a run is under way."""
        run = self._runs.get(run_id)
        return run is not None and run.info.status.is_open

    def take(self) -> Room:
        """Have a run told of here.

        Raises:
            ValueError: Another run has been already.
        """
        if self._is_taken:
            raise ValueError("a MemoryRoom is for one run: make another one")
        self._is_taken = True
        self._room.open()
        return self._room

    @contextmanager
    def told_of(self, kind: Kind, branch: Branch) -> Iterator[None]:
        """The run, or one that its steps have started, is worked on in this."""
        run = self._runs[branch.execution.run_id] = MemoryRun(kind, branch)
        self._room.ring()
        status, failure = RunStatus.CANCELLED, None
        try:
            yield
            status = RunStatus.COMPLETED
        except WorkflowError as error:
            status, failure = RunStatus.FAILED, error
            raise
        finally:
            run.end(status, failure)
            self._room.forget(run.info.run_id)
            self._room.ring()

    def give_up(self, error: BaseException) -> None:
        """The run cannot begin."""
        if not self._runs:
            self._error = error
            self._room.end(self.run_id, error)


def _branches(branch: Branch) -> Iterator[Branch]:
    """A branch and those of the items that it works on."""
    yield branch
    if _is_frozen(branch):
        for inner in branch.inner.values():
            yield from _branches(inner)


def _items(branch: Branch) -> Sequence[Item]:
    if branch.frozen is None or not _is_frozen(branch):
        return ()
    path, visit, items = branch.frozen
    return [item.stored(path, visit) for item in items]


def _is_frozen(branch: Branch) -> bool:
    """Whether the branch still stands at the fan-out whose items it has frozen last."""
    place = branch.place
    if branch.frozen is None or place is None:
        return False
    return branch.frozen[:2] == (branch.full_path(place.path), branch.visit(place.within))


def _refs(own: Mapping[str, Stored]) -> Mapping[str, Ref]:
    """Which values would have rows of their own in a store."""
    found = dict[str, Ref]()
    for key, value in own.items():
        parts = _parts(value)
        if parts is not None:
            found[key] = Ref(len(found) + 1, len(parts))
        elif not isinstance(value, Elements) and len(value.data) > LARGE:
            found[key] = Ref(len(found) + 1)
    return found


def _parts(value: Stored) -> Sequence[bytes] | None:
    """The elements of what would be stored as a list with rows of its own; None for anything else."""
    if isinstance(value, Elements):
        return value.parts if value.length else None
    if isinstance(value, GatheredValue) and len(value.data) > LARGE:
        return value.parts
    return None
