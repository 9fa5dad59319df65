"""An answer, gathered from what a provider sends: whole, or in deltas."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic_core import to_json

from stagepost._dataclasses import dataclass

from .._messages import ProviderContent, ToolCall
from .._model import TokenKind
from ._content import kept
from ._names import bare_id
from ._provider import Provider
from ._served import Served
from ._thinking import Blocks


class Piece(NamedTuple):
    """What a delta has brought to read.

    Attributes:
        text: The text; it may be empty.
        kind: What it is a part of.
        tool: Name of the tool, as far as it has come, for arguments.
        call: Index of the call, for arguments.
    """

    text: str
    kind: TokenKind
    tool: str | None = None
    call: int | None = None


@dataclass(slots=True)
class _Call:
    id: str | None = None
    names: list[str] = field(default_factory=list)
    arguments: str = ""
    signature: str = ""


@dataclass(slots=True)
class Gathered:
    """What has come of an answer so far.

    Attributes:
        text: The text.
        thinking: What the model has thought, as far as it is shown.
        refusal: Why the model does not want to answer; empty if it does.
        known: Names of the tools that there are.
    """

    text: str = ""
    thinking: str = ""
    refusal: str = ""
    known: Collection[str] = ()
    _calls: list[_Call] = field(default_factory=list)
    _places: dict[int, _Call] = field(default_factory=dict)
    _blocks: Blocks = field(default_factory=Blocks)
    _items: list[Any] = field(default_factory=list)
    _signatures: list[Any] = field(default_factory=list)
    _served: Served = field(default_factory=Served)

    def add(self, message: Mapping[str, Any], *, is_whole: bool = False) -> Sequence[Piece]:
        """Take in a message or a delta of one; give back what it has brought to read.

        Args:
            message: What has come.
            is_whole: Whether it is a whole message: all of its calls are different ones, whatever their numbers.
        """
        text, thinking = _text(message.get("content")), _text(message.get("reasoning_content"))
        fields = message.get("provider_specific_fields") or {}
        self.text += text
        self.thinking += thinking
        self.refusal += message.get("refusal") or fields.get("refusal") or ""
        self._blocks.add(message.get("thinking_blocks") or ())
        self._items += message.get("reasoning_items") or ()
        self._signatures += fields.get("thought_signatures") or ()
        self._served = message.get("served") or self._served
        calls = message.get("tool_calls") or ()
        if text or calls:
            self._blocks.close()
        pieces = [Piece(thinking, "thinking"), Piece(text, "text")]
        for position, call in enumerate(calls):
            place = call.get("index")
            pieces += self._add_call(position if place is None or is_whole else place, call)
        return pieces

    def calls(self, turn: int) -> tuple[ToolCall, ...]:
        """The calls. One without an id gets one; nothing written as arguments means none.

        Args:
            turn: Which turn of the conversation this is.
        """
        return tuple(
            ToolCall(
                id=bare_id(call.id or "") or f"call-{turn}-{index}",
                name=whole_name(call.names, self.known),
                arguments=call.arguments or "{}",
            )
            for index, call in enumerate(self._own_calls)
        )

    def provider(self, provider: Provider) -> tuple[ProviderContent, ...]:
        """What only the provider that has sent it can read."""
        return kept(
            provider,
            thinking=self.thinking,
            blocks=self._blocks.all(),
            items=self._items,
            signatures=self._signatures,
            calls=[call.signature for call in self._own_calls],
            served=self._served.data,
        )

    @property
    def _own_calls(self) -> Sequence[_Call]:
        """Those that are to be made here: litellm brings those that the provider has made itself, too."""
        served = self._served.calls
        return [call for call in self._calls if call.id not in served] if served else self._calls

    def _add_call(self, place: int, delta: Mapping[str, Any]) -> Sequence[Piece]:
        """Take in a delta of a call; its piece of the arguments, if the call is to be made here."""
        call = self._places.get(place)
        if call is None or _is_another(call, delta):
            call = self._places[place] = _Call()
            self._calls.append(call)
        function = delta.get("function") or {}
        call.id = call.id or delta.get("id")
        call.names += filter(None, [function.get("name")])
        written = _written(function.get("arguments"))
        call.arguments += written
        call.signature = call.signature or (delta.get("provider_specific_fields") or {}).get("thought_signature") or ""
        if not written or call.id in self._served.calls:
            return ()
        index = next(index for index, each in enumerate(self._own_calls) if each is call)
        return (Piece(written, "arguments", whole_name(call.names, self.known), index),)


def whole_name(pieces: Sequence[str], known: Collection[str]) -> str:
    """A tool's name from what a stream has brought: pieces of it, or all of it again and again, or ever more of it.

    Args:
        pieces: What came.
        known: Names of the tools that there are: what makes one of them is it.
    """
    joined, last = "".join(pieces), pieces[-1] if pieces else ""
    grows = all(after.startswith(before) for before, after in pairwise(pieces))
    likely = [last, joined] if grows else [joined, last]
    return next((name for name in likely if name in known), likely[0])


def _is_another(call: _Call, delta: Mapping[str, Any]) -> bool:
    """Some providers number all calls 0 and tell them apart by their ids."""
    return bool(call.id and delta.get("id") and call.id != delta["id"])


def _text(content: Any) -> str:
    """Text, which some providers send in parts."""
    if isinstance(content, list):
        return "".join(_text(part.get("text")) for part in content if isinstance(part, Mapping))
    return content if isinstance(content, str) else ""


def _written(arguments: Any) -> str:
    """Arguments as text: some providers send the object itself."""
    return arguments if isinstance(arguments, str) else to_json(arguments).decode() if arguments else ""
