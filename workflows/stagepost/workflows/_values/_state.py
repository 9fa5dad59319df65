"""The state of a run, as its steps see it: an immutable mapping over values in their stored form."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeAlias

from stagepost.checkpoint import (
    PLAIN,
    Attachments,
    CannotStore,
    Codec,
    FrozenDict,
    FrozenList,
    JsonValue,
    TypedCodec,
    plain_form,
    read_frozen,
)

from ..errors import MissingKey
from ._append import NO_BLOBS, Elements, ListCodec

_UNREAD: Any = object()


class Value:
    """One value in its stored form; read back only when somebody looks at it.

    Args:
        data: JSON.
        frozen: What reading it as plain JSON would give, if that is known.
        typed: What reading it as a value of its type would give, if that is known and may be shared.

    Attributes:
        data: JSON.
        blobs: Bytes beside it that are not saved yet, by digest.
    """

    __slots__ = ("_frozen", "_typed", "data")

    blobs = NO_BLOBS

    def __init__(self, data: bytes, frozen: JsonValue = _UNREAD, typed: Any = _UNREAD) -> None:
        self.data = data
        self._frozen = frozen
        self._typed = typed

    @property
    def frozen(self) -> JsonValue:
        """The value as immutable JSON, shared by all who read it."""
        if self._frozen is _UNREAD:
            self._frozen = read_frozen(self.data)
        return self._frozen

    def read(self, codec: Codec[Any]) -> Any:
        """The value as a codec reads it."""
        return self.frozen if codec is PLAIN else codec.load(self.data)

    def shared(self, codec: Codec[Any]) -> Any:
        """The value as a codec reads it, which makes immutable values: shared by all who read it."""
        if self._typed is _UNREAD:
            self._typed = codec.load(self.data)
        return self._typed


class BearingValue(Value):
    """A value with bytes beside it.

    Args:
        data: JSON.
        blobs: The bytes, by digest.
    """

    __slots__ = ("blobs",)

    def __init__(self, data: bytes, blobs: Mapping[str, bytes | None]) -> None:
        super().__init__(data)
        self.blobs = blobs


class GatheredValue(Value):
    """A value that is put together of what items have made, so that its parts are stored already.

    Args:
        data: JSON.
        parts: JSON of each element, if it is a list, which so may have a row for each; None for anything else.
    """

    __slots__ = ("parts",)

    def __init__(self, data: bytes, parts: Sequence[bytes] | None = None) -> None:
        super().__init__(data)
        self.parts = parts


Stored: TypeAlias = Value | Elements
Values = Mapping[str, Stored]
Types = Mapping[str, TypedCodec[Any]]
Storing: TypeAlias = Callable[[Any, str], Stored]  # a value of a key in its stored form


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
        value = self._values.get(key)
        if value is None:
            raise MissingKey(key, tuple(self._values))
        codec = self._types.get(key)
        if codec is None:
            return value.frozen
        if isinstance(codec, ListCodec):
            if codec.is_plain:
                return value.frozen
            if codec.is_shared and isinstance(value, Elements):
                return value.immutable(codec.element)
        elif codec.is_shared and isinstance(value, Value):
            return value.shared(codec)
        if key not in self._made:
            self._made[key] = codec.load(value.data)
        return self._made[key]

    def uncopied(self, key: str) -> Any:
        """The value of a key, as `state[key]` gives it, but without a copy of a long list.

        For steps that read a list on each visit that only grows (`ListCodec`), and whose elements are immutable: the
        value is a sequence that cannot be changed. For other keys this is `state[key]`.

        Raises:
            MissingKey: There is no such key.
        """
        value, codec = self._values.get(key), self._types.get(key)
        if isinstance(codec, ListCodec) and codec.is_shared and isinstance(value, Elements):
            return value.uncopied(codec.element)
        return self[key]

    def read_typed(self) -> list[tuple[str, Any]]:
        """What has been read of values that can be changed in place."""
        return list(self._made.items())

    if not TYPE_CHECKING:  # a type checker says it better

        def __setitem__(self, key: str, value: object) -> None:
            raise TypeError(f'a state cannot be changed: return {{"{key}": …}} from the step, or state.set("{key}", …)')

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f'a state has keys, no attribute {name!r}: write state["{name}"]')

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or something else if there is none."""
        return self[key] if key in self._values else default

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __repr__(self) -> str:
        return f"State({', '.join(self._values)})"  # names only: values may be large or private

    def __reduce__(self) -> tuple[object, ...]:
        return _plain_state, ({key: value.data for key, value in self._values.items()},)

    def __deepcopy__(self, memo: object) -> "State":
        return State(self._values, self._types)  # what is typed, and so may be changed, is made anew

    def set(self, key: str, value: object) -> "State":
        """A state with one key set; this one stays as it is. To a list that only grows (`Append`) the value is added.

        Raises:
            CannotStore: The value has no stored form.
        """
        return self.merge({key: value})

    def merge(self, updates: Mapping[str, object]) -> "State":
        """A state with some keys set, as by what a step returns; this one stays as it is.

        Raises:
            CannotStore: A value has no stored form.
        """
        return State(merged(self._values, store(updates, self._types)), self._types)

    def extended(self, key: str, more: Sequence[object]) -> object:
        """A list that only grows (`Append`) with more elements, to start another run in memory with.

        ::

            await workflow.run({"messages": state.extended("messages", [question])})

        The elements that there are belong to both runs, and are not copied. A run in a store begins with the list of
        another one by `Continued`.

        Args:
            key: The list.
            more: What is added to it.

        Raises:
            CannotStore: The key is none of such a list, or an element has no stored form.
        """
        codec, value = self._types.get(key), self._values.get(key)
        if not isinstance(codec, ListCodec) or not isinstance(value, Elements):
            raise CannotStore(key, "it is no list that only grows: annotate it as Annotated[list[…], Append] in types=")
        return value.grown(codec.elements(more, key))

    def changes(self, before: Values) -> dict[str, Stored]:
        """The values that are other than `before`, in their stored form; of lists that only grow, what was added.

        Raises:
            CannotStore: Such a list is not a longer version of the one before.
        """
        changed = {key: value for key, value in self._values.items() if before.get(key) is not value}
        return {key: added(value, before.get(key), key) for key, value in changed.items()}


def _plain_state(values: Mapping[str, bytes]) -> State:
    """A state from elsewhere: where it was made, its keys may have had types that are not known here."""
    return State({key: Value(data) for key, data in values.items()}, {})


def anew(value: Any) -> Any:
    """A state or an item, as it was before a step could change what is typed in it."""
    return value if isinstance(value, FrozenDict | FrozenList) else deepcopy(value)


def store(updates: Mapping[str, object], types: Types) -> dict[str, Stored]:
    """Values in their stored form; of lists that only grow, what is to be added.

    Raises:
        CannotStore: One has none; the error names its key.
    """
    return {key: storing(types.get(key, PLAIN))(value, key) for key, value in updates.items()}


def storing(codec: Codec[Any]) -> Storing:
    """How the values of a key are stored."""
    if isinstance(codec, ListCodec):
        return codec.elements
    if codec is PLAIN:
        return store_plain
    return _storing_typed(codec, is_exact=isinstance(codec, TypedCodec) and codec.is_exact)


def stored(value: object, codec: Codec[Any], where: str) -> Value:
    """A value of an item in its stored form.

    Raises:
        CannotStore: It has none.
    """
    return store_plain(value, where) if codec is PLAIN else _storing_typed(codec, is_exact=False)(value, where)


def _storing_typed(codec: Codec[Any], *, is_exact: bool) -> Callable[[Any, str], Value]:
    """How values of a type are stored, with the bytes beside them."""
    dump = codec.dump

    def store_typed(value: Any, where: str) -> Value:
        blobs = Attachments()
        data = dump(value, where, blobs)
        if blobs:
            return BearingValue(data, blobs)
        return Value(data, _UNREAD, value) if is_exact else Value(data)

    return store_typed


def release(values: Values) -> None:
    """Forget the bytes beside values, once they are saved."""
    for value in values.values():
        if value.blobs:
            value.blobs = NO_BLOBS


def store_plain(value: object, where: str) -> Value:
    """A JSON value in its stored form.

    Raises:
        CannotStore: It has none.
    """
    frozen, data = plain_form(value, where)
    if type(frozen) is not str and b"NaN" in data:  # one that is read equals no other, the one given equals itself
        return Value(data)
    return Value(data, frozen)


def gathered(values: Mapping[str, Stored], parts: Sequence[bytes] | None = None) -> dict[str, Stored]:
    """Values that are put together of what items have made; see `GatheredValue`."""
    return {
        key: GatheredValue(value.data, parts) if isinstance(value, Value) else value for key, value in values.items()
    }


def weigh(values: Iterable[Stored]) -> tuple[int, bool, bool]:
    """Bytes of JSON of some values; whether a list that grows is among them; and whether they bring bytes beside it."""
    size, grows, bears = 0, False, False
    for value in values:
        if isinstance(value, Elements):
            size += value.size
            grows = True
        else:
            size += len(value.data)
        if value.blobs:
            bears = True
    return size, grows, bears


def merged(before: Values, updates: Values) -> Values:
    """Values with some changed; what is said of a list that only grows is added to it."""
    after = {**before, **updates}
    for key, value in updates.items():
        if isinstance(value, Elements):
            old = before.get(key)
            after[key] = old.grown(value) if isinstance(old, Elements) else value
    return after


def added(value: Stored, before: Stored | None, key: str) -> Stored:
    """What a value changes: of a list that only grows, the elements that `before` does not have.

    Raises:
        CannotStore: Such a list is not a longer version of `before`.
    """
    if isinstance(value, Elements) and isinstance(before, Elements):
        return value.since(before, key)
    return value
