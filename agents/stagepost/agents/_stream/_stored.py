"""What is stored of an agent's run, as its stream needs it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import from_json

from stagepost.checkpoint import Effect, RunInfo, Snapshot, StoredWait, WaitKind

from .._context._excerpt import READ_RESULT
from .._context._view import VIEW, WHOLE, View
from .._definition._approvals import APPROVE
from .._definition._definition import MESSAGE_AGENT
from .._delegation._calls import LANE
from .._delegation._records import Handed
from .._delegation._state import ENDED, OUTPUT
from .._loop._history import MESSAGES
from .._loop._made import MADE
from .._models._messages import ToolMessage
from .._tools._outside import ASKED

_FAN_OUT: Final = "tools"
_QUESTIONS: Final = (APPROVE, ASKED)
_MESSAGE_AGENT: Final = MESSAGE_AGENT.encode()
_NONE_MADE: Final[Mapping[int, tuple[ToolMessage, datetime]]] = MappingProxyType({})


class StoredRun:
    """A run without its messages.

    Args:
        snapshot: What is stored of it; the elements of its lists may be missing.

    Attributes:
        info: What is known of it.
        length: How many messages its transcript has.
        saved_at: When it was saved last (UTC), items of fan-outs excepted.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.info: RunInfo = snapshot.run
        self._snapshot = snapshot
        self._root = snapshot.root
        ref = self._root.refs.get(MESSAGES)  # an empty list has none
        self.length = 0 if ref is None else ref.length or 0
        self.saved_at = snapshot.saved_at.get("", snapshot.run.created_at)

    @property
    def first_turn(self) -> int:
        """Number of its first turn."""
        return self._value("turn") or 0

    @property
    def asks_nothing(self) -> bool:
        """Whether it only records that a conversation has ended."""
        return ENDED in self._root.state

    @property
    def output(self) -> Any:
        """Its final answer as JSON values; None if there is none."""
        return self._value(OUTPUT)

    @property
    def handed(self) -> Handed | None:
        """The last handoff, which may be that of a run that it continues."""
        handed = self._value("handoff")
        return None if handed is None else Handed(**handed)

    @property
    def call(self) -> str | None:
        """Number of the call that has started it; None if that is not known."""
        call: str | None = self._value("call")
        return call

    @property
    def view(self) -> View:
        """What its model sees of the transcript."""
        data = self._root.state.get("view")
        return WHOLE if data is None else VIEW.load(data)

    @cached_property
    def conversations(self) -> Mapping[str, Mapping[str, Any]]:
        """Its conversations with other agents, by their ids."""
        return self._value("conversations") or {}

    @cached_property
    def begun_with(self) -> Mapping[str, Any]:
        """What it was started with; empty if that is not known."""
        try:
            given = from_json(self.info.input)
        except ValueError:
            return {}
        return given if isinstance(given, dict) else {}

    @property
    def made(self) -> Mapping[int, tuple[ToolMessage, datetime]]:
        """Results of calls of the last answer that the transcript has not yet, by the calls' places among those."""
        return self._made if self._snapshot.items else _NONE_MADE

    @cached_property
    def _made(self) -> Mapping[int, tuple[ToolMessage, datetime]]:
        made: dict[int, tuple[ToolMessage, datetime]] = {}
        for item in self._snapshot.items:
            if item.path != _FAN_OUT or item.value is None:
                continue
            at = self._snapshot.saved_at.get(f"{_FAN_OUT}[{item.idx}]", self.saved_at)
            for each in MADE.load(item.value):
                if each.tool != READ_RESULT:  # what it reads is known with the results of all calls
                    made[each.index] = each.message, at
        return made

    @cached_property
    def talked(self) -> Mapping[str, tuple[str, int]]:
        """The conversation and its turn of calls that are under way, by the calls' numbers."""
        found: dict[str, tuple[str, int]] = {}
        for item in self._snapshot.items:
            if item.path == _FAN_OUT and _MESSAGE_AGENT in item.input:
                found |= {call.number: (call.talk.id, call.talk.turn) for call in LANE.load(item.input) if call.talk}
        return found

    @cached_property
    def waits(self) -> Mapping[str, StoredWait]:
        """What it waits for people for, or has waited for, by its names."""
        return {wait.name: wait for wait in self._snapshot.waits if wait.kind is WaitKind.ANSWER}

    @cached_property
    def doubts(self) -> Sequence[StoredWait]:
        """What it waits for word of, or has waited."""
        return [wait for wait in self._snapshot.waits if wait.kind is WaitKind.EFFECT]

    @property
    def has_asked(self) -> bool:
        """Whether it has asked people anything, or has had doubts."""
        return bool(self._snapshot.waits) or (bool(self._snapshot.effects) and self._has_noted_answers)

    @cached_property
    def _has_noted_answers(self) -> bool:
        return any(effect.key.startswith(_QUESTIONS) for effect in self._snapshot.effects)

    @cached_property
    def effects(self) -> Mapping[str, Effect]:
        """What its steps have noted, by its keys."""
        return {effect.key: effect for effect in self._snapshot.effects}

    def _value(self, key: str) -> Any:
        data = self._root.state.get(key)
        return None if data is None else from_json(data)
