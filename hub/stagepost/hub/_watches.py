"""Who is to be told of the end of which agents."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from stagepost._dataclasses import dataclass

Reason: TypeAlias = Literal["unregistered", "failed", "absent", "hub_stopped"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AgentEnded:
    """An agent has ended, and will not come back under this registration; see `Hub.watch`.

    Attributes:
        agent: Its id.
        reason: It was ``"unregistered"``, or removed because it ``"failed"``; it was ``"absent"`` when the watch began;
            or ``"hub_stopped"``: its hub drains or has ended.
        error: What it failed by.
    """

    agent: str
    reason: Reason
    error: BaseException | None = None


Tell: TypeAlias = Callable[[AgentEnded], object]


class Watches:
    """Who is to be told of the ends of agents.

    A watch has a key, one for each watcher: a watcher is told once. A watcher that is an agent has its id as the key.

    Args:
        finish: Executes steps now or, if there are many, in a task.
    """

    __slots__ = ("_failures", "_finish", "_untold", "_watched", "_watchers")

    def __init__(self, finish: Callable[[Iterator[object]], None]) -> None:
        self._finish = finish
        self._untold: dict[AgentEnded, dict[object, Tell]] = {}
        self._watchers: dict[str, dict[object, Tell]] = {}
        self._watched: dict[object, dict[str, None]] = {}
        self._failures: dict[str, BaseException] = {}

    def add(self, agent: str, key: object, tell: Tell) -> None:
        """Begin a watch."""
        self._watchers.setdefault(agent, {})[key] = tell
        self._watched.setdefault(key, {})[agent] = None

    def discard(self, agent: str, key: object) -> None:
        """End a watch, if there is one."""
        _remove(self._watchers, agent, key)
        _remove(self._watched, key, agent)

    def note_failure(self, agent: str, error: BaseException) -> None:
        """An agent is being removed because it failed."""
        if agent in self._watchers:
            self._failures[agent] = error

    def leave(self, agent: str) -> None:
        """An agent watches nobody any more."""
        for watched in self._watched.pop(agent, ()):
            _remove(self._watchers, watched, agent)

    def end(self, agent: str) -> None:
        """Tell who watches an agent that it has ended."""
        error = self._failures.pop(agent, None)
        watchers = self._watchers.pop(agent, None)
        if watchers is None:
            return
        for key in watchers:
            _remove(self._watched, key, agent)
        ended = AgentEnded(agent=agent, reason="unregistered" if error is None else "failed", error=error)
        self._untold[ended] = watchers
        self._finish(self._tell(ended))

    def end_all(self) -> Iterator[None]:
        """Tell all watchers that the hub stops, one per step."""
        self._failures.clear()
        self._watched.clear()
        for agent in tuple(self._watchers):
            self._untold[AgentEnded(agent=agent, reason="hub_stopped")] = self._watchers.pop(agent)
        for ended in tuple(self._untold):
            yield from self._tell(ended)

    def _tell(self, ended: AgentEnded) -> Iterator[None]:
        """Tell of one end, one watcher per step. If others are faster, there is nothing left to do."""
        watchers = self._untold.get(ended, {})
        while watchers:
            watchers.pop(next(iter(watchers)))(ended)
            yield
        self._untold.pop(ended, None)


RowT = TypeVar("RowT")
ItemT = TypeVar("ItemT")


def _remove(table: dict[RowT, dict[ItemT, Any]], row: RowT, item: ItemT) -> None:
    """Take an item out of a row, and out of the table a row that is empty."""
    items = table.get(row)
    if items is not None:
        items.pop(item, None)
        if not items:
            del table[row]
