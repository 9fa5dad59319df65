"""Who listens to which runs of a runner."""

from collections.abc import Awaitable, Callable
from time import time
from typing import Any

from .._execution._execution import Execution
from .._ids import root_of
from .._listening._followed import FollowedSource, Standing
from .._listening._listening import Entered, Listening
from .._listening._room import Room
from .._listening._source import Readable, StoredSource
from .._streams._stream import Past, RunStream


class Rooms:
    """The rooms of the runs that somebody listens to, by the ids of their outermost runs.

    Each execution knows its room, if it has one. So where nobody listens, nothing is looked up on the way of a commit.

    Args:
        store: Where the runs are.
        past: What is stored of them beside where they stand now.
        clock: Seconds since 1970.
    """

    def __init__(
        self, store: Readable | None = None, past: Past | None = None, clock: Callable[[], float] = time
    ) -> None:
        self._store = store
        self._clock = clock
        self._past = past
        self._rooms: dict[str, Room] = {}
        self._executions: dict[str, dict[str, Execution]] = {}
        self._why: Callable[[str], BaseException] | None = None

    # listeners

    def stream(self, run_id: str, after: str | None, *, size: int, outcome: Callable[[], Awaitable[Any]]) -> RunStream:
        """The stream of a run.

        Args:
            run_id: The run.
            after: Where to go on.
            size: How many told values are kept.
            outcome: Gives its final state once it has ended.
        """
        listening = Listening(run_id, self, size=size, follows=True)
        return RunStream(listening, after, outcome=outcome, past=self._past)

    def enter(self, listening: Listening) -> Entered:
        """Somebody listens from now on: whatever is stored from now on rings, also commits that are under way."""
        root = root_of(listening.run_id)
        room = self._rooms.get(root)
        if room is None:
            room = self._rooms[root] = Room(root)
            self._show(root, room)
        room.enter(listening)
        listening.buffer.ring()
        if self._why is not None:
            self.end(listening.run_id, self._why(listening.run_id))
        assert self._store is not None  # noqa: S101  # whoever listens does so by a runner, which has one
        stored = StoredSource(self._store, room.memo)
        return Entered(room, stored, FollowedSource(stored, self._standing, room.followed, self._clock))

    def _standing(self, run_id: str) -> Standing | None:
        """A run that is executed by this runner."""
        execution = self._executions.get(root_of(run_id), {}).get(run_id)
        return None if execution is None else execution.standing

    def leave(self, listening: Listening, room: Room) -> None:
        """Somebody listens no longer."""
        room.leave(listening)
        self._tidy(room)

    def works_on(self, run_id: str) -> bool:
        """Whether a run is executed by this runner."""
        return run_id in self._executions.get(root_of(run_id), {})

    def _tidy(self, room: Room) -> None:
        if room.is_empty and self._rooms.get(room.run_id) is room:
            del self._rooms[room.run_id]
            self._show(room.run_id, None)

    def _show(self, root: str, room: Room | None) -> None:
        for execution in self._executions.get(root, {}).values():
            execution.admit(room)

    # runs

    def begin(self, execution: Execution) -> None:
        """A run is executed from now on."""
        root = root_of(execution.run_id)
        execution.admit(self._rooms.get(root))
        self._executions.setdefault(root, {})[execution.run_id] = execution

    def finish(self, execution: Execution) -> None:
        """It no longer is."""
        root = root_of(execution.run_id)
        known = self._executions.get(root, {})
        if known.get(execution.run_id) is execution:  # else another process had it meanwhile, and this one has it again
            del known[execution.run_id]
            if not known:
                del self._executions[root]
        if execution.room is not None:
            execution.room.finish(execution.run_id)
            execution.admit(None)

    def ring(self, run_id: str) -> None:
        """Something more of a run may be stored."""
        room = self._rooms.get(root_of(run_id)) if self._rooms else None
        if room is not None:
            room.ring()

    def end(self, run_id: str, error: BaseException) -> None:
        """This runner does no more for a run, and why."""
        room = self._rooms.get(root_of(run_id)) if self._rooms else None
        if room is not None:
            room.end(run_id, error)
            self._tidy(room)

    def close(self, why: Callable[[str], BaseException], busy: Callable[[str], bool]) -> None:
        """Nothing goes on here any more, but for runs that are busy, whose ends are told.

        Args:
            why: Why not, for each run.
            busy: Whether a run is being worked on.
        """
        self._why = why
        for room in list(self._rooms.values()):
            for run_id in room.listened_to():
                if not busy(run_id):
                    self.end(run_id, why(run_id))

    def ended(self, run_id: str) -> None:
        """The end of a run is stored; where nothing goes on here any more, nothing else will be heard of it."""
        self.ring(run_id)
        if self._why is not None:
            self.end(run_id, self._why(run_id))
