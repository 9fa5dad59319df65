"""The pictures of a run: its places with where it stands, and when each worked and waited."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from markupsafe import Markup

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import AttemptOutcome
from stagepost.checkpoint.errors import RunNotFound
from stagepost.workflows import AttemptEntry

from .._drawing._boxes import Drawn
from .._drawing._outline import outline_of
from .._drawing._picture import draw_run
from .._drawing._standings import standings_of
from .._drawing._timeline import Row, RowKind, timeline, united
from .._drawing._waterfall import draw_waterfall
from .._verbs._inspected import Inspected
from ._asking import Ask

_NUMBERS: Final = re.compile(r"\[\d+\]")
_ROWS: Final = 30
_DRAWN: Final = 50  # places; of larger workflows, boxes are opened one by one
_BARS: Final = 30  # of the row that stands for all others
_OPENED: Final = 12  # items and steps that may be open at once
_BELOW: Final = 8  # runs of one step that are drawn
_DEEPEST: Final = 2


@dataclass(frozen=True, slots=True)
class Pictures:
    """Draws a run.

    Attributes:
        ask: What is asked; ``open=`` names what is open.
        found: The run.
    """

    ask: Ask
    found: Inspected

    async def graph(self) -> Markup | None:
        """Its places; None if it was never stored what it is made of."""
        drawn = await self._drawn(self.found, self._opened(), 0)
        return (
            None if drawn is None else draw_run(drawn, title=f"Where {self.found.shown.run.run_id} stands", most=_DRAWN)
        )

    def waterfall(self) -> Markup | None:
        """When its places worked and waited; None if nothing is known of that."""
        history, ended = self.found.history, self.found.snapshot.run.finished_at
        now, entries = ended or datetime.now(UTC), [*history.items, *history.under_way]
        rows = [_coarse(row) for row in timeline(entries, now=now, is_over=ended is not None, most=_ROWS)]
        if not rows:
            return None
        numbers = numbers_of(self.found)
        return draw_waterfall(
            rows, title="When each step worked, and when it waited", now=now.timestamp(), address=self._row(numbers)
        )

    def _row(self, numbers: Mapping[str, int]) -> "_RowAddress":
        return _RowAddress(self.ask, self.found.shown.run.run_id, numbers)

    def _opened(self) -> Sequence[str]:
        return self.ask.request.query_params.getlist("open")[:_OPENED]

    async def _drawn(self, found: Inspected, opened: Sequence[str], depth: int) -> Drawn | None:
        snapshot, history = found.snapshot, found.history
        if snapshot.shape is None:
            return None
        run_id = snapshot.run.run_id
        name = f"{run_id}/" if depth else ""
        own = frozenset(each.removeprefix(name) for each in opened if each.startswith(name))
        numbers = numbers_of(found)

        def address(path: str) -> str | None:
            number = numbers.get(path) or numbers.get(_NUMBERS.sub("[]", path))
            return None if number is None else self.ask.url("runs", run_id, "steps", str(number))

        return Drawn(
            outline=outline_of(snapshot.shape, snapshot.run.workflow),
            standings=standings_of(snapshot, history.items, history.under_way),
            address=address,
            toggle=lambda path: self._toggle(f"{name}{path}"),
            opened=own,
            children=await self._children(found, own, opened, depth),
            name=name,
        )

    async def _children(
        self, found: Inspected, own: frozenset[str], opened: Sequence[str], depth: int
    ) -> Mapping[str, Sequence[Drawn]]:
        """Runs of the steps that are open."""
        drawn: dict[str, list[Drawn]] = {}
        if depth >= _DEEPEST:
            return drawn
        for path, run_id in children_of(found):
            below = drawn.setdefault(path, []) if path in own else None
            if below is not None and len(below) < _BELOW:
                try:
                    child = await self._drawn(await self.ask.sight.inspect(self.ask.caller, run_id), opened, depth + 1)
                except RunNotFound:
                    continue
                below += [child] if child is not None else []
        return drawn

    def _toggle(self, path: str) -> str:
        """The address of the same page with something more, or less, open."""
        opened = self._opened()
        changed = [each for each in opened if each != path] if path in opened else [*opened, path]
        return self.ask.url("runs", self.found.shown.run.run_id, open=changed) + "#part-picture"


@dataclass(frozen=True, slots=True)
class _RowAddress:
    ask: Ask
    run_id: str
    numbers: Mapping[str, int]

    def __call__(self, row: Row) -> str | None:
        """The address of the page of a row's place."""
        number = self.numbers.get(row.path)
        return None if number is None else self.ask.url("runs", self.run_id, "steps", str(number))


def _coarse(row: Row) -> Row:
    """The row that stands for all others, with some bars in the place of very many."""
    if row.kind is not RowKind.MORE or len(row.work) <= _BARS:
        return row
    length = row.work[-1].end - row.work[0].begin
    return replace(row, work=united(row.work, length / _BARS))


def numbers_of(found: Inspected) -> Mapping[str, int]:
    """Which entry of the history tells of a place: the last one, or the last that failed.

    Places are there by their paths, and those in items also by the paths under which they are drawn once for all.
    """
    numbers: dict[str, int] = {}
    failed: set[str] = set()
    for entry in found.history.items:
        if not isinstance(entry, AttemptEntry) or entry.number is None:
            continue
        has_failed = entry.outcome is AttemptOutcome.FAILED
        for path in {entry.path, _NUMBERS.sub("[]", entry.path)}:
            if has_failed or path not in failed:
                numbers[path] = entry.number
        failed |= {_NUMBERS.sub("[]", entry.path)} if has_failed else set()
    return numbers


def children_of(found: Inspected) -> Sequence[tuple[str, str]]:
    """Runs that steps have started, with the paths of the steps."""
    pairs: dict[str, str] = {}
    for entry in (*found.history.items, *found.history.under_way):
        children = getattr(entry, "children", ()) or filter(None, (getattr(entry, "child", None),))
        for child in children:
            pairs[child.run_id] = str(getattr(entry, "path", ""))
    return [(path, run_id) for run_id, path in pairs.items()]
