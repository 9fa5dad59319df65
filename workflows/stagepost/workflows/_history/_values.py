"""Values as they stood in a state, and what became of them by a step."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Frame, JsonValue, Ref, read_frozen


@dataclass(frozen=True, slots=True)
class RecordedValue:
    """A value that a key of the state had.

    A value of more than 4 KB, and a list that only grows, is not read with the history:
    ``await runner.runs.value(run_id, recorded)`` does.

    Attributes:
        json: Its JSON; None if it is not read with the history.
        path: Path of the frame that has it, for the store.
        ref: Where the store has it; None if `json` is there.
    """

    json: bytes | None
    path: str = ""
    ref: Ref | None = None

    @property
    def is_here(self) -> bool:
        """Whether it was read with the history."""
        return self.json is not None

    @property
    def length(self) -> int | None:
        """How many elements it has, if it is a list that is not read with the history."""
        return None if self.ref is None else self.ref.length

    @property
    def value(self) -> JsonValue:
        """It, as a JSON value.

        Raises:
            LookupError: It is not read with the history.
        """
        if self.json is None:
            raise LookupError("it is large, or a list that grows: read it with `await runner.runs.value(run_id, …)`")
        return read_frozen(self.json)

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes: ``value``, or where it is not read with the history ``length``."""
        if self.json is not None:
            return {"value": self.value}
        return {"value": None, "not_read": True, "length": self.length}


class KeyChange(NamedTuple):
    """What became of one key of the state.

    Attributes:
        key: The key.
        before: What it was; None if it was not there, or if what an item had before is not known.
        after: What it is.
        added: How many elements were added to a list that only grows; None if it is no such list.
    """

    key: str
    before: RecordedValue | None
    after: RecordedValue
    added: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """It as values that ``json.dumps`` takes."""
        before = None if self.before is None else self.before.to_dict()
        return {"key": self.key, "before": before, "after": self.after.to_dict(), "added": self.added}


def changes_between(before: Frame | None, frame: Frame) -> tuple[KeyChange, ...]:
    """What a version of a frame has changed, in the order of its keys.

    Args:
        before: The version before that; None if there was none.
        frame: The version, without the values that have rows of their own.
    """
    old, new = {} if before is None else _recorded(before), _recorded(frame)
    return tuple(_change(key, old.get(key), value) for key, value in new.items() if value != old.get(key))


def changes_to(state: Mapping[str, bytes]) -> tuple[KeyChange, ...]:
    """What a step has changed of which only the new values are known."""
    return tuple(KeyChange(key, None, RecordedValue(data)) for key, data in state.items())


def _change(key: str, before: RecordedValue | None, after: RecordedValue) -> KeyChange:
    return KeyChange(key, before, after, _added(before, after))


def _added(before: RecordedValue | None, after: RecordedValue) -> int | None:
    """How many elements were added, if both are the same list, or it has just begun."""
    if after.ref is None or after.ref.length is None:
        return None
    if before is None or before.ref is None or before.ref.length is None:
        return after.ref.length if before is None or before.json == b"[]" else None
    is_same = before.ref._replace(length=None) == after.ref._replace(length=None)
    return after.ref.length - before.ref.length if is_same else None


def _recorded(frame: Frame) -> dict[str, RecordedValue]:
    found = {key: RecordedValue(data) for key, data in frame.state.items()}
    return found | {key: RecordedValue(None, frame.path, ref) for key, ref in frame.refs.items()}
