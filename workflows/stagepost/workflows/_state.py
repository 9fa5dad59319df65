"""The state of a run, as its steps see it: an immutable mapping over values in their stored form."""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from pydantic_core import from_json

from stagepost.checkpoint import PLAIN, FrozenDict, FrozenList, JsonValue, TypedCodec, freeze

from .errors import MissingKey

_UNREAD: Any = object()


class Value:
    """One value in its stored form; read back only when somebody looks at it.

    Attributes:
        data: JSON.
    """

    __slots__ = ("_frozen", "data")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._frozen: JsonValue = _UNREAD

    @property
    def frozen(self) -> JsonValue:
        """The value as immutable JSON, shared by all who read it."""
        if self._frozen is _UNREAD:
            self._frozen = freeze(from_json(self.data))
        return self._frozen


Values = Mapping[str, Value]
Types = Mapping[str, TypedCodec[Any]]


class State(Mapping[str, Any]):
    """What a step gets: an immutable mapping of names to values.

    Values are JSON, immutable all the way down. Keys with a type (`types=` of a pattern, `expect=` of an `Ask`, the
    return annotation of a fan-out's worker) give values of that type, made anew for each step, so that changing one
    changes nothing that another step sees.

    Return a dict of updates from a step, or a changed state: ``return state.set("greeting", "hello")``.
    """

    __slots__ = ("_made", "_types", "_values")

    def __init__(self, values: Values, types: Types) -> None:
        self._values = values
        self._types = types
        self._made: dict[str, Any] = {}

    def __getitem__(self, key: str) -> Any:
        if key in self._made:
            return self._made[key]
        value = self._values.get(key)
        if value is None:
            raise MissingKey(key, tuple(self._values))
        codec = self._types.get(key)
        if codec is None:
            return value.frozen
        made = self._made[key] = codec.load(value.data)
        return made

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return f"State({', '.join(self._values)})"  # names only: values may be large or private

    def __deepcopy__(self, memo: object) -> "State":
        return State(self._values, self._types)  # what is typed, and so may be changed, is made anew

    def set(self, key: str, value: object) -> "State":
        """A state with one key set; this one stays as it is.

        Raises:
            CannotStore: The value has no stored form.
        """
        return self.merge({key: value})

    def merge(self, updates: Mapping[str, object]) -> "State":
        """A state with some keys set; this one stays as it is.

        Raises:
            CannotStore: A value has no stored form.
        """
        return State({**self._values, **store(updates, self._types)}, self._types)

    def changes(self, before: Values) -> dict[str, Value]:
        """The values that are other than `before`, in their stored form."""
        return {key: value for key, value in self._values.items() if before.get(key) is not value}


def anew(value: Any) -> Any:
    """A state or an item, as it was before a step could change what is typed in it."""
    return value if isinstance(value, FrozenDict | FrozenList) else deepcopy(value)


def store(updates: Mapping[str, object], types: Types) -> dict[str, Value]:
    """Values in their stored form.

    Raises:
        CannotStore: One has none; the error names its key.
    """
    return {key: Value(types.get(key, PLAIN).dump(value, key)) for key, value in updates.items()}
