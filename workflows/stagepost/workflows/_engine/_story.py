"""What observers hear of a branch on its way: which patterns begin, get on and end."""

from collections.abc import Collection, Sequence
from time import perf_counter

from .._events import ChainProgress, NodeEntered, NodeRevisited, PatternEnded, PatternStarted
from .._plans._passage import passage
from .._plans._plan import Position
from .._plans._within import Level
from ._branch import Branch


class Story:
    """Tells of one branch in this process, if anybody listens.

    Args:
        branch: The branch, before its first step in this process.
    """

    def __init__(self, branch: Branch) -> None:
        self._branch = branch
        self._run = branch.execution
        self._position: Position | None = None
        self._levels: Sequence[Level] = ()
        self._started: dict[str, float] = {}

    def begin(self) -> None:
        """The branch begins, or goes on where a process before this one has left it."""
        levels, resumed = self._around(), self._branch.seq > (0 if self._branch.path else 1)
        self._move(levels, () if resumed else [level.child_path for level in levels], resumed=resumed)

    def go_on(self) -> None:
        """Something has been saved, and the branch may stand elsewhere."""
        if self._position is not self._branch.position:
            self._move(self._around(), self._branch.position.entered)

    def fail(self) -> None:
        """The branch has failed where it stands."""
        self.go_on()  # a step may have gone well, and the arrow behind it not
        for level in reversed(self._levels):
            self._end(level, ok=False)

    def _around(self) -> Sequence[Level]:
        self._position, place = self._branch.position, self._branch.place
        return () if place is None else [level for level in place.within.levels if level.path is not None]

    def _move(self, levels: Sequence[Level], entered: Collection[str], *, resumed: bool = False) -> None:
        way = passage(self._levels, levels, entered)
        self._levels = levels
        for level in way.left:
            self._pass(level)
            self._end(level, ok=True)
        if way.passed is not None and way.into is not None:
            self._pass(way.passed)
            self._enter(way.into, entered)
        for level in way.begun:
            self._begin(level, resumed=resumed)
            self._enter(level, entered)

    def _begin(self, level: Level, *, resumed: bool) -> None:
        path = self._path(level)
        self._started[path] = perf_counter()
        pattern = level.pattern
        self._run.emit(PatternStarted, path=path, kind=pattern.kind, name=pattern.name, resumed=resumed)

    def _end(self, level: Level, *, ok: bool) -> None:
        path, pattern = self._path(level), level.pattern
        seconds = perf_counter() - self._started.pop(path)
        self._run.emit(PatternEnded, path=path, kind=pattern.kind, name=pattern.name, ok=ok, seconds=seconds)

    def _enter(self, level: Level, entered: Collection[str]) -> None:
        """A child of a pattern begins; of those that may begin again, the observer hears."""
        visits = self._branch.position.visits.get(level.child_path)
        if visits is not None and level.child_path in entered:
            kind = NodeEntered if visits == 1 else NodeRevisited
            self._run.emit(kind, path=self._branch.full_path(level.child_path), visits=visits)

    def _pass(self, level: Level) -> None:
        """A child of a pattern has ended well."""
        order = level.pattern.order(level.child)
        if order is not None:
            index, total = order
            self._run.emit(ChainProgress, path=self._path(level), index=index, total=total)

    def _path(self, level: Level) -> str:
        """Where a pattern stands, from the run's root."""
        return self._branch.full_path(level.path) if level.path else self._branch.path
