"""An answer, gathered from what a provider sends: whole, or in deltas."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .._messages import ToolCall


@dataclass(slots=True)
class _Call:
    id: str | None = None
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Gathered:
    """What has come of an answer so far.

    Attributes:
        text: The text.
        refusal: Why the model does not want to answer; empty if it does.
    """

    text: str = ""
    refusal: str = ""
    _calls: list[_Call] = field(default_factory=list)
    _places: dict[int, _Call] = field(default_factory=dict)

    def add(self, message: Mapping[str, Any]) -> str:
        """Take in a message or a delta of one; give back the text that it has brought."""
        text: str = message.get("content") or ""
        fields = message.get("provider_specific_fields") or {}
        self.text += text
        self.refusal += message.get("refusal") or fields.get("refusal") or ""
        for position, call in enumerate(message.get("tool_calls") or ()):
            place = call.get("index")
            self._add_call(position if place is None else place, call)
        return text

    def calls(self, turn: int) -> tuple[ToolCall, ...]:
        """The calls. One without an id gets one; nothing written as arguments means none."""
        return tuple(
            ToolCall(id=call.id or f"call-{turn}-{index}", name=call.name, arguments=call.arguments or "{}")
            for index, call in enumerate(self._calls)
        )

    def _add_call(self, place: int, delta: Mapping[str, Any]) -> None:
        call = self._places.get(place)
        if call is None or _is_another(call, delta):
            call = self._places[place] = _Call()
            self._calls.append(call)
        function = delta.get("function") or {}
        call.id = call.id or delta.get("id")
        call.name = call.name or function.get("name") or ""
        call.arguments += function.get("arguments") or ""


def _is_another(call: _Call, delta: Mapping[str, Any]) -> bool:
    """Some providers number all calls 0 and tell them apart by their ids."""
    return bool(call.id and delta.get("id") and call.id != delta["id"])
