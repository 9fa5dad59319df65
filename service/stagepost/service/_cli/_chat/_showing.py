"""The parts of an answer's stream, as people read them while they come."""

import json
from collections.abc import Mapping, Sequence

from stagepost.agents import (
    AgentStarted,
    HandedOver,
    MessageSaid,
    StreamPart,
    TaskCancelled,
    TaskFailed,
    TokenArrived,
    ToolCalled,
    ToolReturned,
)

from ..._wire._conversations import Said
from ..._wire._terminal import ChatEvent
from .._screen import Screen
from .._styles import BAD, DIM, GOOD, WAITS, WORKS
from .._texts import shortened

_SHORT = 200


class Transcript:
    """Shows what an agent does and says.

    Args:
        screen: Where.
    """

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._is_within = False  # in a line that is not over
        self._said: dict[tuple[str, ...], str] = {}  # what has come of the answer that each agent gives

    def part(self, part: StreamPart) -> None:
        """Show a part."""
        if self._screen.as_json:
            self._screen.json(ChatEvent(part=part.to_dict()), indent=None)
            return
        match part:
            case TokenArrived(kind="text"):
                self._token(part)
            case MessageSaid(role="assistant"):
                self._message(part)
            case ToolCalled():
                self._note("→ ", WORKS, part.name, _arguments(part.arguments), part)
            case ToolReturned():
                mark, style = ("✓ ", GOOD) if part.success else ("✗ ", BAD)
                self._note(mark, style, part.name, shortened(part.result, _SHORT), part)
            case AgentStarted():
                self._note("↳ ", DIM, part.agent, "is asked", part)
            case HandedOver():
                self._note("↳ ", DIM, part.agent, f"takes over from {part.by}", part)
            case TaskFailed():
                self.say(f"failed: {part.error}", BAD)
            case TaskCancelled():
                self.say("cancelled", WAITS)
            case _:
                pass

    def say(self, text: str, style: str = "") -> None:
        """Show a line of the command's own."""
        self._end_line()
        self._screen.line(text, style)

    def before(self, said: Sequence[Said], number: int) -> None:
        """Show the last texts of a conversation that goes on.

        Args:
            said: These.
            number: How many there are before them.
        """
        if self._screen.as_json:
            return
        if number:
            self._screen.line(f"… {number} messages before", DIM)
        for each in said:
            if each.role == "user":
                self._screen.line(f"> {each.text}", DIM)
            else:
                self._screen.line(each.text)

    def _token(self, part: TokenArrived) -> None:
        if len(part.path) > 1:
            return  # of agents below only what they do is shown
        if part.index == 0 and self._said.get(part.path):
            self.say("(the model is asked again)", DIM)
            self._said[part.path] = ""
        self._said[part.path] = self._said.get(part.path, "") + part.token
        self._screen.piece(part.token)
        self._is_within = not part.token.endswith("\n")

    def _message(self, part: MessageSaid) -> None:
        came = self._said.pop(part.path, "")
        if len(part.path) > 1 or not part.text:
            return
        if part.text.startswith(came):
            self._screen.piece(part.text[len(came) :])  # all of it, if it was not streamed
            self._is_within = not part.text.endswith("\n")
        else:
            self.say(part.text)
        self._end_line()

    def _note(self, mark: str, style: str, name: str, rest: str, part: StreamPart) -> None:
        self._end_line()
        indent = "  " * len(part.path[1:])
        self._screen.pieces((indent, ""), (mark, style), (f"{name}  ", ""), (rest, DIM))

    def _end_line(self) -> None:
        if self._is_within:
            self._screen.line()
            self._is_within = False


def _arguments(arguments: object) -> str:
    """Arguments of a call in one line."""
    if not isinstance(arguments, Mapping):
        return shortened(str(arguments), _SHORT)
    shown = (f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    return shortened(" ".join(shown), _SHORT)
