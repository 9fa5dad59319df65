"""Bars on a terminal that show how far runs are."""

from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Self

from stagepost.hub import Event

from ._events import ChainProgress, ItemEnded, ItemsFrozen, PatternEnded, PatternStarted, RunEnded, RunEvent
from .errors import ExtraMissing

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

_SHOWN = ("chain", "fold", "parallel")


class ProgressObserver:
    """Shows a bar for each chain, fold and fan-out that is under way, nested as they are; on a terminal only.

    A context manager::

        with ProgressObserver() as bars:
            await digest.run(observer=bars)

    The bar of a run stays when the run has ended, those of its parts go. Needs the extra ``progress`` (rich), which
    draws in a thread of its own.

    Args:
        console: Where to draw; by default standard error. Where that is no terminal, nothing is drawn.
        most: How many bars there are at most. What begins when there are so many is not shown, and runs that have
            ended make room.

    Raises:
        ExtraMissing: rich is not installed.
    """

    def __init__(self, console: "Console | None" = None, *, most: int = 20) -> None:
        self._progress = _progress(console)
        self._most = most
        self._roots: dict[str, str] = {}  # path of the outermost pattern by run
        self._bars: dict[tuple[str, str], TaskID] = {}  # by run and path
        self._ended: deque[TaskID] = deque()

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def on_event(self, event: Event, /) -> None:
        """Move the bars."""
        match event:
            case PatternStarted():
                self._roots.setdefault(event.run_id, event.path)
                if event.kind in _SHOWN:
                    self._begin(event)
            case ChainProgress():
                self._move(event, event.path, event.index + 1, event.total)
            case ItemsFrozen() | ItemEnded():
                self._move(event, event.path, event.done, event.total)
            case PatternEnded() if event.path != self._roots.get(event.run_id):
                self._remove(event.run_id, event.path)
            case RunEnded():
                self._leave(event.run_id)

    def _begin(self, event: PatternStarted) -> None:
        key = (event.run_id, event.path)
        if key in self._bars or not self._has_room():
            return
        depth = sum(run_id == event.run_id and _encloses(path, event.path) for run_id, path in self._bars)
        name = event.path.rpartition("/")[2] or event.name
        self._bars[key] = self._progress.add_task("  " * depth + name, total=None)

    def _has_room(self) -> bool:
        if len(self._bars) + len(self._ended) >= self._most and self._ended:
            self._progress.remove_task(self._ended.popleft())
        return len(self._bars) + len(self._ended) < self._most

    def _move(self, event: RunEvent, path: str, done: int, total: int) -> None:
        bar = self._bars.get((event.run_id, path))
        if bar is not None:
            self._progress.update(bar, completed=done, total=total)

    def _remove(self, run_id: str, path: str) -> None:
        bar = self._bars.pop((run_id, path), None)
        if bar is not None:
            self._progress.remove_task(bar)

    def _leave(self, run_id: str) -> None:
        """The bar of a run itself stays where it stands."""
        root = self._bars.pop((run_id, self._roots.pop(run_id, "")), None)
        if root is not None:
            self._ended.append(root)
        for _, path in [bar for bar in self._bars if bar[0] == run_id]:
            self._remove(run_id, path)


def _progress(console: "Console | None") -> "Progress":
    try:
        from rich.console import Console  # noqa: PLC0415  # an extra
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415  # the same
    except ImportError:
        raise ExtraMissing("ProgressObserver", "rich", "progress") from None
    console = Console(stderr=True) if console is None else console
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, console=console, disable=not console.is_terminal)


def _encloses(outer: str, inner: str) -> bool:
    return not outer or inner.startswith((f"{outer}/", f"{outer}["))
