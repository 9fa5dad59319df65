"""What a program under way has called so far, read from the transcript: that is its journal.

Calls that wait together are a message of the transcript, which says how many calls were before them; their results
follow it. So a program that runs again, in another process perhaps, is given what was committed, call by call.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from stagepost.programs import CallAnswer, CallRequest

from .._delegation._calls import call_number, program_call_id
from .._models._messages import AssistantMessage, ChatMessage, ToolCall, ToolMessage


class Wave(NamedTuple):
    """Calls that a program has made at once, with their results.

    Attributes:
        calls: The calls.
        results: The results, in the order of the calls.
    """

    calls: Sequence[ToolCall]
    results: Sequence[ToolMessage]

    @property
    def answers(self) -> Sequence[CallAnswer]:
        """The results as the program gets them."""
        return [_answer(result) for result in self.results]


class Journal(NamedTuple):
    """What is known of the program under way.

    Attributes:
        text: The answer of the model that has it.
        turn: Number of its turn, from 0.
        waves: What it has called, in order.
    """

    text: str
    turn: int
    waves: Sequence[Wave]

    @property
    def calls(self) -> int:
        """How many calls it has made."""
        return sum(len(wave.calls) for wave in self.waves)

    def call(self, request: CallRequest, index: int) -> ToolCall:
        """A call that it wants now.

        Args:
            request: What it wants.
            index: Which of those that it wants at once this is.
        """
        call_id = program_call_id(call_number(self.turn, self.calls + index), request.branch)
        return ToolCall(id=call_id, name=request.name, arguments=to_json(request.arguments).decode())


def journal_of(messages: Sequence[ChatMessage], turn: int) -> Journal:
    """The journal of the last program of a transcript.

    Args:
        messages: The transcript, in which all calls have their results.
        turn: Number of the turn of the program.
    """
    waves: list[Wave] = []
    results: list[ToolMessage] = []
    place = len(messages)
    while place:
        place -= 1
        message = messages[place]
        if isinstance(message, ToolMessage):
            results.append(message)
        elif isinstance(message, AssistantMessage):
            if message.is_answer:
                return Journal(message.text, turn, waves[::-1])
            waves.append(Wave(message.calls, results[::-1]))
            results = []
    return Journal("", turn, ())


def mismatch(wanted: Sequence[CallRequest], journal: Journal, number: int) -> str | None:
    """In what the calls that a program wants differ from those that it made before; None if in nothing.

    Args:
        wanted: What it wants when it runs again.
        journal: What it called before.
        number: Which of the waves this is.
    """
    before = Journal(journal.text, journal.turn, journal.waves[:number])
    made = journal.waves[number].calls
    if len(wanted) != len(made):
        return f"it makes {len(wanted)} calls at once where it made {len(made)}"
    for index, (request, call) in enumerate(zip(wanted, made, strict=True)):
        again = before.call(request, index)
        if again != call:
            return f"it calls {_shown(again)} where it called {_shown(call)}"
    return None


def _shown(call: ToolCall) -> str:
    return f"{call.name}({call.arguments:.200}) as {call.id}"


def _answer(result: ToolMessage) -> CallAnswer:
    if result.is_error:
        return CallAnswer(error=result.text)
    return CallAnswer(_value(result.text) if result.is_json else result.text)


def _value(text: str) -> Any:
    """What JSON says; the text itself if a secret that was masked in it was no text."""
    try:
        return from_json(text)
    except ValueError:
        return text
