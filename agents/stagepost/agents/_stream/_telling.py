"""What is told of a run: a pure function of what was read of it.

The rules:

- Each message is told when it is committed, with the calls of an answer. Only a run's own messages are told: a run that
  continues another one begins with that one's transcript.
- What belongs to a call is told when it is committed: what it asks people, that it asks an agent, and its result, which
  may be known before the results of the other calls of the answer. The calls of an answer wait for each other no more
  than they do in the run; all that an answer has called is told before the next message.
- All parts of a run below are told after the start of its agent and before the result of the call that has started it.
- Nothing is told twice: each part comes with the position after it.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from stagepost.checkpoint import RunStatus

from .._definition._definition import MESSAGE_AGENT
from .._delegation._calls import call_number
from .._delegation._why import own_error
from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage
from ._asked import Made, approvals, arguments_of, doubts, questions
from ._handovers import HandedAt, handoff_of
from ._part import StreamPart
from ._parts import AgentFinished, AgentStarted, HandedOver, MessageSaid, ToolCalled, ToolReturned
from ._phrase import phrase
from ._position import CallTold, Position
from ._standing import Standing
from ._tree import Tree

Draft: TypeAlias = tuple[type[StreamPart], dict[str, Any], Position]
"""A part: its type, its fields without task and cursor, and how much of its run was told with it."""

LONGEST: Final = 1_000  # characters of a result
_NOTHING: Final = CallTold()
_RETURNED: Final = CallTold(result=True)
_Counted: TypeAlias = Literal["approvals", "questions", "doubts"]


class Telling:
    """Tells a run.

    Args:
        tree: What was read of it.
        root_id: The task.
        above: Names of the agents above its own.
        mask: Hides secrets.
        longest: How many characters of a result are told; None for all.

    Attributes:
        position: How much was told.
        is_whole: Whether that is all that was stored when it was read.
        runs: Where the run and those below it stand that were told of, by their ids.
    """

    def __init__(
        self,
        tree: Tree,
        root_id: str,
        above: tuple[str, ...] = (),
        mask: Callable[[str], str] | None = None,
        *,
        longest: int | None = LONGEST,
    ) -> None:
        self.position = tree.position
        self.is_whole = True
        self.runs: dict[str, Standing] = {}
        self._tree = tree
        self._run = tree.run
        self._root_id = root_id
        self._above = above
        self._mask = mask
        self._longest = longest
        self._visit = tree.run.info.run_id[len(root_id) + 1 :]

    @property
    def path(self) -> tuple[str, ...]:
        """Names of the agents from the root to the one that has the run."""
        return (*self._above, self.position.holder or self._tree.name)

    def parts(self) -> Iterator[Draft]:
        """The parts after the position."""
        while (yield from self._calls()):
            place = self.position.upto + 1
            if place >= self._run.length:
                break
            message = self._tree.message(place)
            if message is None:
                self.is_whole = False
                break
            yield from self._message(place, message)
        self.runs[self._run.info.run_id] = Standing(self.path, self.position.turn, self._run.view)

    def _message(self, place: int, message: ChatMessage) -> Iterator[Draft]:
        """A message that is no result of an own call, and the calls that it makes."""
        before, is_answer = self.position, isinstance(message, AssistantMessage) and message.is_answer
        is_request = before.turn == self._run.first_turn and not isinstance(message, AssistantMessage)
        at = self._run.info.created_at if is_request else self._run.saved_at
        said = [] if isinstance(message, ToolMessage) else [_said(message)]
        made = message.calls if isinstance(message, AssistantMessage) else ()
        if said and made and not (said[0]["text"] or said[0]["thinking"]):
            said = []
        after = Position(place, before.turn + is_answer, 0, {}, before.holder)
        count, told = len(said) + len(made), before.said
        if isinstance(message, ToolMessage):  # of a call of the run that this one continues
            self.position = after
            yield self._part(ToolReturned, at, place, message.call_id, _returned(message, self._longest))
        for number in range(told, count):
            self.position = after if number == count - 1 else before._replace(said=number + 1)
            if number < len(said):
                yield self._part(MessageSaid, at, place, None, said[number])
            else:
                call = made[number - len(said)]
                yield self._part(ToolCalled, at, place, call.id, self._called(call))

    def _called(self, call: ToolCall) -> dict[str, Any]:
        arguments = arguments_of(call)
        about = self._tree.description(call.name, self.position.holder)
        text = phrase(call.name, about, arguments, self._mask)
        return {"name": call.name, "arguments": arguments, "phrase": text, "tool_call_id": call.id}

    def _calls(self) -> Generator[Draft, None, bool]:
        """What belongs to the calls of the last message; returns whether the next message may be told."""
        answer, upto = self._tree.message(self.position.upto), self.position.upto
        if not isinstance(answer, AssistantMessage) or not answer.calls:
            return True
        end = upto + len(answer.calls)
        is_joined = end < self._run.length
        if is_joined and self._tree.message(end) is None:
            self.is_whole = False
            return False
        handed = self._handoff(answer) if is_joined else None
        places = range(upto + 1, end + 1)
        for index, call in enumerate(answer.calls):
            if not self._has_result(places[index]):
                number = call_number(self.position.turn - 1, (answer.calls_before or 0) + index)
                yield from self._call(
                    places[index], index, number, call, places if is_joined and handed is None else ()
                )
            if self.position.upto == end:
                return True
        if not is_joined or not all(map(self._has_result, places)):
            return False
        if handed is not None:
            yield from self._handed(handed, answer.calls[handed.place - upto - 1].id)
        self._pass(end)
        return True

    def _has_result(self, place: int) -> bool:
        return self.position.calls.get(place, _NOTHING).result

    def _pass(self, end: int) -> None:
        """All is told that belongs to the calls of an answer, of which the last result is at a place."""
        self.position = Position(end, self.position.turn, 0, {}, self.position.holder)

    def _call(self, place: int, index: int, number: str, call: ToolCall, places: Sequence[int]) -> Iterator[Draft]:
        """What belongs to a call whose result was not told.

        Args:
            place: Place of the result.
            index: Place of the call among those of the answer.
            number: Its number.
            call: The call.
            places: Those of all results of the answer, if nothing is told after these; otherwise nothing.
        """
        if self._run.has_asked:
            yield from self._asking_people(place, number, call)
        below = self._tree.below.get(place)
        if self.position.calls.get(place, _NOTHING).agent > 1:
            is_whole = True
        elif below is not None:
            is_whole = yield from self._asking(place, call, below)
        else:
            is_whole = place not in self._tree.below
        if not is_whole:
            self.is_whole = False
            return
        result, at = self._result(place, index)
        told = self.position.calls.get(place, _NOTHING)
        is_last = result is not None or self._run.info.status is RunStatus.CANCELLED
        if below is not None and is_last and told.agent == 1 and not below.run.info.status.is_open:
            told = self._tell(place, told._replace(agent=2, below=None))
            ended_at, info = below.run.info.finished_at or at, below.run.info
            error = None if info.error is None else own_error(info.error)
            answer = below.run.output if info.status is RunStatus.COMPLETED else None
            fields = {**self._agent(below, call), "status": info.status.value, "error": error, "result": answer}
            yield self._part(AgentFinished, ended_at, place, call.id, fields)
        if result is not None:
            self._tell(place, _RETURNED)
            if places and all(map(self._has_result, places)):
                self._pass(places[-1])
            yield self._part(ToolReturned, at, place, call.id, _returned(result, self._longest))

    def _asking_people(self, place: int, number: str, call: ToolCall) -> Iterator[Draft]:
        """What a call asks people, and what was in doubt of it."""
        yield from self._asked("approvals", approvals(self._run, call, number), place, call)
        yield from self._asked("questions", questions(self._run, call, number), place, call)
        yield from self._asked("doubts", doubts(self._run, number), place, call)

    def _asked(self, counted: _Counted, made: Made, place: int, call: ToolCall) -> Iterator[Draft]:
        """What a call asks people."""
        told = self.position.calls.get(place, _NOTHING)
        known: int = getattr(told, counted)
        for count, asked in enumerate(made, 1):
            if count > known:
                changed: Mapping[str, Any] = {counted: count}
                told = self._tell(place, told._replace(**changed))
                again = {"visit": f"{self._visit}#{asked.number}"} if asked.number else {}
                yield self._part(asked.kind, asked.at, place, call.id, {**asked.fields, **again})

    def _asking(self, place: int, call: ToolCall, below: Tree) -> Generator[Draft, None, bool]:
        """The run of the agent that a call asks, as far as it has come; returns whether all of that was read."""
        told = self.position.calls.get(place, _NOTHING)
        if not told.agent:
            told = self._tell(place, told._replace(agent=1))
            yield self._part(AgentStarted, below.run.info.created_at, place, call.id, self._agent(below, call))
        telling = Telling(below, self._root_id, self.path, self._mask, longest=self._longest)
        for kind, fields, position in telling.parts():
            told = self._tell(place, told._replace(below=position))
            yield kind, fields, self.position
        self.runs |= telling.runs
        return telling.is_whole

    def _handoff(self, answer: AssistantMessage) -> HandedAt | None:
        """The handoff by the calls of an answer that is to be told; None if there is none."""
        if any(told.handoff for told in self.position.calls.values()):
            return None
        return handoff_of(self._tree, self.position.upto, answer, self.position.holder)

    def _handed(self, handed: HandedAt, call_id: str) -> Iterator[Draft]:
        told = self.position.calls[handed.place]._replace(handoff=True)
        fields = {"agent": handed.agent, "by": handed.by, "path": self.path}
        after = self.position.with_call(handed.place, told)
        self.position = after._replace(holder="" if handed.agent == self._tree.name else handed.agent)
        yield self._part(HandedOver, self._run.saved_at, handed.place, call_id, fields)

    def _agent(self, below: Tree, call: ToolCall) -> dict[str, Any]:
        """What is told of the agent that a call asks."""
        run_id = below.run.info.run_id
        conversation = run_id.rpartition(".")[2].rpartition("-")[0] if call.name == MESSAGE_AGENT else None
        return {"agent": below.name, "conversation_id": conversation, "visit": run_id[len(self._root_id) + 1 :]}

    def _result(self, place: int, index: int) -> tuple[ToolMessage | None, datetime]:
        """The result of a call, which may be known before those of the other calls are; None if there is none."""
        message = self._tree.message(place)
        if isinstance(message, ToolMessage):
            return message, self._run.saved_at
        made = self._run.made.get(index)
        return (None, self._run.saved_at) if made is None else made

    def _tell(self, place: int, told: CallTold) -> CallTold:
        self.position = self.position.with_call(place, told)
        return told

    def _part(
        self,
        kind: type[StreamPart],
        at: datetime,
        place: int,
        call_id: str | None,
        fields: dict[str, Any],
    ) -> Draft:
        told = {"timestamp": at, "seq": place, "path": self.path, "call_id": call_id, "visit": self._visit, **fields}
        return kind, told, self.position


def _said(message: ChatMessage) -> dict[str, Any]:
    said = {"role": message.role, "text": getattr(message, "text", "")}
    return {**said, "thinking": message.thinking if isinstance(message, AssistantMessage) else ""}


def _returned(message: ToolMessage, longest: int | None) -> dict[str, Any]:
    return {
        "name": message.tool,
        "result": message.text[:longest],
        "tool_call_id": message.call_id,
        "success": not message.is_error,
    }
