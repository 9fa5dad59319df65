"""Where what is told of a running step belongs among the numbered parts of its task.

The bell of a run says two kinds of things, in the order in which they happened: values that a step tells and that are
not stored, and that something may be stored. `Merging` puts the values in their places:

- The pieces of an answer come after the numbered parts of the turn before, and before the message that they become. So
  what was told before a ring waits until the source was read for it. A read may see more than the ring was for: then
  the pieces of each answer that it has brought are put before that answer.
- What was told after a ring that has come since the read began waits for the next read, unless its answer is there.
- What is told of an answer that was read before is obsolete: it is in the message. The source says the number of each
  run's next turn. A run that it no longer names is covered by the result of the call that has started it, and so is
  what was told of it. What was told of an agent's last turn, if that has failed, comes before the end of the agent.
- Pieces of one answer are numbered. Number 0 starts it anew, and what came before is void. Where numbers are missing,
  the reader was too slow; it is told which, before the next piece. If there is no next piece it is told before the
  message; how many are missing is then known only within a bound.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias

from stagepost.workflows import Told

from .._context._view import WHOLE
from .._delegation._calls import is_of_program
from .._live._told import Piece, ProgressMade, TurnBegun
from ._compactions import compactions
from ._part import StreamPart
from ._partial import Partials
from ._parts import (
    AgentFinished,
    Gap,
    MessageSaid,
    PartialOutput,
    TokenArrived,
    ToolCalled,
    ToolProgressed,
    ToolReturned,
    TurnBegan,
)
from ._standing import Standing


class _Answer(NamedTuple):
    """An answer under way, as far as the reader has been told of it.

    Attributes:
        path: Names of the agents from the root to the one that answers.
        turn: Number of the turn.
        expected: Number of its next piece.
        missed: How many told values were dropped since its last piece; some of them may have been pieces of it.
    """

    path: tuple[str, ...]
    turn: int
    expected: int
    missed: int = 0


class Merging:
    """What one reader of a task has been told of what is not stored.

    Args:
        task_id: The task.
        clock: Seconds since 1970.
        partials: Reads what has arrived of typed answers; None if nobody wants to know.
    """

    def __init__(self, task_id: str, clock: Callable[[], float], partials: Partials | None = None) -> None:
        self._task_id = task_id
        self._clock = clock
        self._partials = partials
        self._runs: Mapping[str, Standing] | None = None
        self._answers: dict[str, _Answer] = {}
        self._returned: dict[str, set[str]] = {}
        self._waiting: list[Told] = []
        self._state: object = None  # once others have it, too

    @property
    def state(self) -> object:
        """What it makes of anything depends on this alone, as long as it lives; nothing may want partial objects."""
        if self._state is not None:
            return self._state
        returned = tuple([(run_id, frozenset(calls)) for run_id, calls in self._returned.items()])
        return id(self._runs), tuple(self._answers.items()), returned, tuple(map(id, self._waiting))

    @property
    def may_share(self) -> bool:
        """Whether others that are in the same state make the same of anything."""
        return self._partials is None

    def copy(self) -> "Merging":
        """Another one in the same state."""
        copied = Merging(self._task_id, self._clock)
        copied._runs, copied._answers, copied._waiting = self._runs, {**self._answers}, [*self._waiting]
        copied._returned = {run_id: {*calls} for run_id, calls in self._returned.items()}
        return copied

    def share(self) -> "Merging":
        """This, for others too: nothing more is told to it, but to copies."""
        self._state = self.state
        return self

    def own(self) -> "Merging":
        """This, or if others have it too a copy, which may be told something."""
        return self if self._state is None else self.copy()

    def hear(self, told: Sequence[Told], missed: int = 0) -> None:
        """Something was told; `flush` or `read` puts it in its place.

        Args:
            told: What was told.
            missed: How many values before it were dropped, since the reader was too slow.
        """
        self._waiting += told
        if missed:
            for run_id, answer in self._answers.items():
                self._answers[run_id] = answer._replace(missed=answer.missed + missed)

    def flush(self) -> Sequence[StreamPart]:
        """The parts of what was told, without what is obsolete, if there is nothing to read."""
        waiting, self._waiting = self._waiting, []
        out: list[StreamPart] = []
        for told in waiting:
            if self._is_news(told):
                self._put(told, out)
        return out

    def read(
        self, parts: Sequence[StreamPart], runs: Mapping[str, Standing] | None, later: Sequence[Told] = ()
    ) -> Sequence[StreamPart]:
        """The numbered parts of a read, with what was told in between.

        Args:
            parts: The numbered parts.
            runs: Where the runs stand that no told result covers, by their ids; None if there is more to read first.
            later: What was told after a ring that has come since the read began.
        """
        out: list[StreamPart] = []
        if runs is None:
            self._put_numbered(parts, {}, out)
            return out
        if self._runs is not None and any(each.view is not WHOLE for each in runs.values()):
            out += compactions(self._runs, runs, task_id=self._task_id, at=self._now())
        self._enter(runs)
        told = self._placed(parts, later) if self._waiting or later else {}
        self._put_numbered(parts, told, out)
        over = {self._run_of(part) for part in parts if isinstance(part, AgentFinished)}
        self._runs = under_way = {run_id: each for run_id, each in runs.items() if run_id not in over} if over else runs
        for run_id in [run_id for run_id in self._answers if run_id not in under_way]:
            del self._answers[run_id]
        return out

    def _put_numbered(
        self, parts: Sequence[StreamPart], told: Mapping[int, Sequence[Told]], out: list[StreamPart]
    ) -> None:
        """Numbered parts, with what was told in between, by the indexes of the parts after it."""
        for index, part in enumerate(parts):
            for each in told.get(index, ()):
                self._put(each, out)
            if _is_of_answer(part):
                self._end(self._run_of(part), out)
            elif isinstance(part, ToolReturned):
                self._returned.setdefault(self._run_of(part), set()).add(part.tool_call_id)
            out.append(part)
        for each in told.get(len(parts), ()):
            self._put(each, out)

    def _placed(self, parts: Sequence[StreamPart], later: Sequence[Told]) -> Mapping[int, Sequence[Told]]:
        """What was told, by the indexes of the parts before which it belongs; the rest of `later` waits."""
        places = _places(parts, self._runs or {}, self._run_of)
        end = len(parts) - 1 if parts and parts[-1].is_last else len(parts)
        placed: dict[int, list[Told]] = {}
        waiting, self._waiting = self._waiting, []
        for told in waiting:
            index = places.get(_place_of(told))
            if index is None and self._is_news(told):
                index = places.get((told.run_id, AgentFinished), end)
            if index is not None:
                placed.setdefault(index, []).append(told)
        for told in later:
            if (found := places.get(_place_of(told))) is not None:
                placed.setdefault(found, []).append(told)
            else:
                self._waiting.append(told)
        return placed

    def _put(self, told: Told, out: list[StreamPart]) -> None:
        """The part of something that was told, and what is to be said with it."""
        run_id, what = told.run_id, told.what
        if isinstance(what, Piece):
            self._put_piece(run_id, what, out)
        elif isinstance(what, TurnBegun):
            self._answers[run_id] = _Answer(tuple(what.path), what.turn, 0)
            out.append(TurnBegan(**self._common(run_id, what.path), iteration=what.turn))
        elif isinstance(what, ProgressMade):
            progressed = ToolProgressed(
                **self._common(run_id, what.path),
                call_id=what.call_id,
                name=what.tool,
                progress=what.progress,
                total=what.total,
                message=what.message,
            )
            out.append(progressed)

    def _enter(self, runs: Mapping[str, Standing]) -> None:
        """Forget what is obsolete where the runs stand now."""
        before, self._runs = self._runs or {}, runs
        for run_id in list(self._returned):
            if run_id not in runs or run_id not in before or runs[run_id].turn != before[run_id].turn:
                del self._returned[run_id]

    def _put_piece(self, run_id: str, piece: Piece, out: list[StreamPart]) -> None:
        """A piece, and before it the gap that it shows."""
        known = self._answers.get(run_id)
        expected = 0 if known is None or known.turn != piece.turn else known.expected
        if 0 < piece.number < expected:
            return  # it was told before
        if piece.number > expected:
            out.append(self._gap(run_id, piece.path, piece.turn, (expected, piece.number - 1)))
        self._answers[run_id] = _Answer(tuple(piece.path), piece.turn, piece.number + piece.pieces)
        arrived = TokenArrived(
            **self._common(run_id, piece.path),
            token=piece.text,
            index=piece.number,
            kind=piece.kind,
            agent=piece.agent,
            turn=piece.turn,
            tool=piece.tool,
            call=piece.call,
        )
        out.append(arrived)
        if self._partials is not None:
            outputs = self._partials.add(run_id, piece, follows=piece.number in {0, expected})
            out += [PartialOutput(**self._common(run_id, piece.path), output=output) for output in outputs]

    def _end(self, run_id: str, out: list[StreamPart]) -> None:
        """An answer is told whole now: what is missing at its end."""
        answer = self._answers.pop(run_id, None)
        if self._partials is not None:
            self._partials.forget(run_id)
        if answer is not None and answer.missed:
            last = answer.expected + answer.missed - 1
            out.append(self._gap(run_id, answer.path, answer.turn, (answer.expected, last)))

    def _is_news(self, told: Told) -> bool:
        """Whether what it is about was not told yet."""
        run_id, what = told.run_id, told.what
        if self._runs is None:
            return True
        if run_id not in self._runs:
            return False
        turn = self._runs[run_id].turn
        if isinstance(what, Piece | TurnBegun):
            return what.turn >= turn
        if not isinstance(what, ProgressMade):
            return False
        is_last = int(what.call.partition("-")[0]) + 1 >= turn
        return is_last and what.call_id not in self._returned.get(run_id, ())

    def _gap(self, run_id: str, path: Sequence[str], turn: int, missing: tuple[int, int]) -> Gap:
        first, last = missing
        return Gap(**self._common(run_id, path), from_=first, to=last, generation=turn)

    def _common(self, run_id: str, path: Sequence[str]) -> dict[str, Any]:
        """What all parts of a run have."""
        visit = run_id[len(self._task_id) + 1 :]  # the run's id below the task's
        return {"timestamp": self._now(), "task_id": self._task_id, "path": tuple(path), "visit": visit}

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock(), UTC)

    def _run_of(self, part: StreamPart) -> str:
        return f"{self._task_id}.{part.visit}" if part.visit else self._task_id


Places: TypeAlias = Mapping[tuple[str, object], int]
"""Indexes of numbered parts: by the run, of the first of each answer by its turn, of each result by the id of its call,
and of the end of its agent."""


def _places(parts: Sequence[StreamPart], runs: Mapping[str, Standing], run_of: Callable[[StreamPart], str]) -> Places:
    """Where the parts of a read are before which something may have been told."""
    answers: dict[str, dict[int | None, int]] = {}
    places: dict[tuple[str, object], int] = {}
    for index, part in enumerate(parts):
        if _is_of_answer(part):
            answers.setdefault(run_of(part), {}).setdefault(part.seq, index)
        elif isinstance(part, ToolReturned):
            places[run_of(part), part.tool_call_id] = index
        elif isinstance(part, AgentFinished):
            places[run_of(part), AgentFinished] = index
    for run_id, indexes in answers.items():
        if run_id in runs:  # the next turn comes after the last of its answers
            first = runs[run_id].turn - len(indexes)
            places |= {(run_id, turn): index for turn, index in enumerate(indexes.values(), first)}
    return places


def _place_of(told: Told) -> tuple[str, object]:
    """What to look up for something that was told."""
    match told.what:
        case Piece() | TurnBegun() as what:
            return told.run_id, what.turn
        case ProgressMade() as what:
            return told.run_id, what.call_id
    return told.run_id, None


def _is_of_answer(part: StreamPart) -> bool:
    """Whether a part says that an answer of a model is whole."""
    if isinstance(part, ToolCalled):
        return not is_of_program(part.tool_call_id)
    return isinstance(part, MessageSaid) and part.role == "assistant"
