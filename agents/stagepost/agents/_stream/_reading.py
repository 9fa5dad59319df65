"""Reading what is told next of a run: new messages, and the runs below whose results were not told."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pydantic import TypeAdapter

from .._definition._definition import MESSAGE_AGENT
from .._delegation._calls import call_number
from .._loop._history import MESSAGES, is_unanswered
from .._loop._loop import AgentLoop
from .._models._messages import AssistantMessage, ChatMessage
from ._asked_runs import AskedRuns, Request, Requested
from ._handovers import first_holder
from ._position import CallTold, Position
from ._source import LoopOf, Source
from ._stored import StoredRun
from ._tree import Tree

_PAGE: Final = 100  # messages
_MOST: Final = 300  # new messages that are in memory at once, roughly
_MESSAGE: Final = TypeAdapter[ChatMessage](ChatMessage)
_NOTHING: Final = CallTold()


class MisplacedPosition(Exception):
    """A position is none of a run."""


class Reading:
    """Reads a run and those below it, once.

    Args:
        source: Where they are.
        loop_of: The loops of workflows.
    """

    def __init__(self, source: Source, loop_of: LoopOf) -> None:
        self._source = source
        self._loop_of = loop_of
        self._asked = AskedRuns(source)
        self._left = _MOST

    async def root(self, run_id: str, position: Position | None) -> Tree:
        """The task, from a position on.

        Raises:
            RunNotFound: There is none.
            LookupError: Nobody knows its workflow.
            MisplacedPosition: The position is none of it.
        """
        known: Sequence[Any] = ()
        if position is None:
            snapshot = await self._source.snapshot(run_id)
        else:
            snapshot, found = await self._source.snapshot_with(run_id, MESSAGES, _first(position), _count(position))
            known = found.items
        run = StoredRun(snapshot)
        return await self._tree(run, self._loop_of(run.info.workflow, run.info.version), position, known)

    async def _tree(
        self, run: StoredRun, loop: AgentLoop | None, position: Position | None, known: Sequence[Any] = ()
    ) -> Tree:
        """A run, from a position on, of which messages may be known; None for its beginning."""
        if position is None:
            first, count = await self._start(run), _PAGE + 1
            name = Tree(run, loop, 0, (), {}, Position(-1)).name
            begin = Position(first - 1, run.first_turn, 0, {}, first_holder(run, first, name))
        else:
            _check(run, position)
            first, count, begin = run.length if run.asks_nothing else _first(position), _count(position), position
        tree = Tree(run, loop, first, await self._messages(run, first, count, known), {}, begin)
        _check_calls(tree)
        self._left -= len(tree.messages) - (position is not None)
        if self._left > 0 and not _may_ask(tree):
            return tree
        return await self._with_below(tree)

    async def _start(self, run: StoredRun) -> int:
        """Place of the first own message of a run: before are those of a run that it continues."""
        if run.asks_nothing:
            return run.length
        continued = run.begun_with.get(MESSAGES)
        if isinstance(continued, dict):
            length: int = continued["length"]
            return length
        start = request = run.view.request
        before = min(request, _PAGE)
        for message in reversed(await self._messages(run, request - before, before)):
            if not is_unanswered(message):
                break
            start -= 1
        return start

    async def _messages(
        self, run: StoredRun, first: int, count: int, known: Sequence[Any] = ()
    ) -> Sequence[ChatMessage]:
        """A page of messages; the results of an answer come with it, if it has them.

        Args:
            run: The run.
            first: Place of the first one.
            count: How many at least, if there are as many.
            known: The first ones, as far as they were read before.
        """
        length = run.length - first
        wanted = min(count, length)
        found: list[ChatMessage] = [_read(element) for element in known[: max(wanted, 0)]]
        if found and len(found) == wanted:
            wanted = max(wanted, min(_with_results(found), length))
        while len(found) < wanted:
            page = await self._source.elements(run.info.run_id, MESSAGES, first + len(found), wanted - len(found))
            found += map(_read, page.items)
            if not page.items and page.next is None:
                break
            if len(found) == wanted:
                wanted = max(wanted, min(_with_results(found), length))
        return found

    async def _with_below(self, tree: Tree) -> Tree:
        """A run with those below it whose results were not told; without messages that there is no room for."""
        below: dict[int, Tree | None] = {}
        position, turn = tree.position, tree.position.turn
        for offset, message in enumerate(tree.messages):
            if not isinstance(message, AssistantMessage):
                continue
            place = tree.first + offset
            is_known = place <= position.upto
            calls = position.calls if is_known else {}
            turn += not is_known and message.is_answer
            talked, before = Counter[str](), message.calls_before or 0
            for index, call in enumerate(message.calls):
                at = place + 1 + index
                told = calls.get(at, _NOTHING)
                request = Request.of(tree, Requested(call, at, call_number(turn - 1, before + index), talked))
                if told.result or told.agent > 1 or request is None:
                    continue
                if self._left <= 0:
                    below[at] = None
                elif (run := await self._asked.run(request)) is not None:
                    below[at] = await self._tree(run, self._loop(run), told.below)
            if self._left <= 0:
                return tree._replace(below=below, messages=tree.messages[: offset + 1 + len(message.calls)])
        return tree._replace(below=below)

    def _loop(self, run: StoredRun) -> AgentLoop | None:
        try:
            return self._loop_of(run.info.workflow, run.info.version)
        except LookupError:
            return None


def _read(element: Any) -> ChatMessage:
    """A message, which may have been read already."""
    return _MESSAGE.validate_json(element) if isinstance(element, bytes) else element


def _first(position: Position) -> int:
    """Place of the first message that is read from a position on: the last one that was told."""
    return max(position.upto, 0)


def _count(position: Position) -> int:
    """How many messages are read from a position on: a page, and those that were told, results too."""
    return _PAGE + 1 + len(position.calls)


def _check(run: StoredRun, position: Position) -> None:
    if position.upto >= run.length:
        why = f"it comes after message {position.upto}, and run {run.info.run_id!r} has {run.length} messages, from 0"
        raise MisplacedPosition(why)


def _check_calls(tree: Tree) -> None:
    """See that the calls of a position are those of its message."""
    position = tree.position
    answer = tree.message(position.upto)
    known = len(answer.calls) if isinstance(answer, AssistantMessage) else 0
    if any(place > position.upto + known for place in position.calls):
        why = f"message {position.upto} of run {tree.run.info.run_id!r} has not the calls that it tells of"
        raise MisplacedPosition(why)


def _may_ask(tree: Tree) -> bool:
    """Whether messages have calls that may ask other agents."""
    asking = None if tree.loop is None else tree.loop.asking
    for message in tree.messages:
        for call in message.calls if isinstance(message, AssistantMessage) else ():
            if asking is None or call.name in asking or call.name == MESSAGE_AGENT:
                return True
    return False


def _with_results(found: Sequence[ChatMessage]) -> int:
    """How many messages there are with the results of the last answer."""
    for offset, message in enumerate(reversed(found)):
        if isinstance(message, AssistantMessage):
            return len(found) - offset + len(message.calls)
    return 0
