"""What becomes of the values of a fan-out: a list, a dict, whatever a function makes of them, or parts of the state."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Codec, join_values, split_values

from .._plans._plan import Done, Target
from .._values._state import Stored, gathered
from .._values._unawaited import refuse_unawaited
from ..errors import MergeConflict

Key: TypeAlias = str | Callable[[Any], str]
Merge: TypeAlias = Callable[[Any, Sequence[Any]], object]


class Join(Protocol):
    """Puts the values of the items that went well together."""

    def __call__(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        """What they change in the state.

        Raises:
            Exception: They cannot be put together.
        """
        ...


@dataclass(frozen=True, slots=True)
class InOrder:
    """A list, in the order of the items."""

    into: str

    def __call__(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        parts = [item.value.data for item in done]
        return gathered(target.adopt({self.into: b"[" + b",".join(parts) + b"]"}), parts)


@dataclass(frozen=True, slots=True)
class ByKey:
    """A dict, by a key of each item."""

    into: str
    key: Key
    items: Codec[Any]

    def check(self, items: Sequence[Any]) -> None:
        """See, before any work is done, that the keys of these items are texts, and all different.

        Raises:
            TypeError: One is no text.
            ValueError: Two are the same.
        """
        seen: dict[Hashable, int] = {}
        for index, item in enumerate(items):
            key = self._key(item)
            if not isinstance(key, str):
                refuse_unawaited(key, "key=")
                raise TypeError(f"key= must give text, and gave {key!r} for item {index}")
            if key in seen:
                raise ValueError(f"items {seen[key]} and {index} have the same key {key!r}: choose another key=")
            seen[key] = index

    def __call__(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        made = join_values({self._key(item.input.read(self.items)): item.value.data for item in done})
        return gathered(target.adopt({self.into: made}))

    def _key(self, item: Any) -> Any:
        if callable(self.key):
            return self.key(item)
        return item[self.key] if isinstance(item, Mapping) else getattr(item, self.key)


@dataclass(frozen=True, slots=True)
class Merged:
    """Whatever a function of the state and the list of values returns, as if it were a step."""

    merge: Merge
    values: Codec[Any]

    def __call__(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        result = self.merge(target.state, [item.value.read(self.values) for item in done])
        refuse_unawaited(result, f"merge= of {target.name!r}")
        return target.update(result)


@dataclass(frozen=True, slots=True)
class Union:
    """All keys that the branches have written; two that write one key are in conflict, but for lists that only grow."""

    branches: Sequence[str]

    def __call__(self, target: Target, done: Sequence[Done]) -> dict[str, Stored]:
        writers: dict[str, str] = {}
        stored: dict[str, bytes] = {}
        for item in done:
            for key, data in split_values(item.value.data).items():
                if key in writers and key not in target.schema.lists:
                    raise MergeConflict(key, writers[key], self.branches[item.idx])
                stored[key] = _both(stored[key], data) if key in writers else data
                writers[key] = self.branches[item.idx]
        return gathered(target.adopt(stored))


def _both(first: bytes, second: bytes) -> bytes:
    """One JSON list of two."""
    return b"[" + b",".join(filter(None, (first[1:-1], second[1:-1]))) + b"]"
