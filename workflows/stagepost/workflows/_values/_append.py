"""Lists that only grow: stored one row per element, so that a step saves what it adds and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from operator import eq
from types import MappingProxyType
from typing import Annotated, Any, Final, cast, get_args, get_origin, overload

from pydantic_core import from_json, to_json

from stagepost.checkpoint import (
    PLAIN,
    Attachments,
    CannotRead,
    CannotStore,
    Codec,
    Continued,
    FrozenList,
    JsonValue,
    TypedCodec,
    read_frozen,
)

from ._plain import is_plain

NO_BLOBS: Final[Mapping[str, bytes | None]] = MappingProxyType({})


class Append:
    """Marks a key of the state as a list that only grows: ``types={"messages": Annotated[list[Message], Append]}``.

    What a step returns for such a key is appended: ``return {"messages": [answer]}``. In a typed state the field is
    annotated so; a step that returns the whole state returns the whole list, which begins with the one it got.
    """


class Elements:
    """A list in its stored form. Versions of one list share its elements, so growing costs only what is added.

    Args:
        parts: JSON of each element; only ever appended to.
        read: Those that have been read already, as plain JSON; likewise.
        typed: Those that have been read already, as immutable values of their type; likewise.
        blobs: Bytes beside them that are not saved yet, by digest.
        length: How many of `parts` belong to this version; by default all.

    Attributes:
        length: How many of `parts` belong to this version.
        blobs: Bytes beside its elements that are not saved yet, by digest.
    """

    __slots__ = ("__weakref__", "_data", "_frozen", "_parts", "_read", "_shared", "_size", "_typed", "blobs", "length")

    def __init__(
        self,
        parts: list[bytes],
        read: list[JsonValue] | None = None,
        typed: list[Any] | None = None,
        blobs: Mapping[str, bytes | None] = NO_BLOBS,
        length: int | None = None,
    ) -> None:
        self._parts = parts
        self._read: list[JsonValue] = [] if read is None else read
        self._typed: list[Any] = [] if typed is None else typed
        self._data: bytes | None = None
        self._frozen: FrozenList | None = None
        self._shared: tuple[Any, ...] | None = None
        self._size: int | None = None
        self.blobs = blobs
        self.length = len(parts) if length is None else length

    @property
    def data(self) -> bytes:
        """JSON of the list."""
        if self._data is None:
            self._data = b"[" + b",".join(self.parts) + b"]"
        return self._data

    @property
    def size(self) -> int:
        """Bytes of JSON of its elements."""
        if self._size is None:
            self._size = sum(map(len, self.parts))
        return self._size

    @property
    def parts(self) -> Sequence[bytes]:
        """JSON of each element."""
        return self._parts if len(self._parts) == self.length else self._parts[: self.length]

    @property
    def frozen(self) -> JsonValue:
        """The list as immutable JSON, shared by all who read it."""
        if self._frozen is None:
            self._read += [read_frozen(part) for part in self._parts[len(self._read) : self.length]]
            self._frozen = FrozenList(self._read[: self.length])
        return self._frozen

    def shared(self, codec: Codec[Any]) -> list[Any]:
        """A new list of the elements as values of their type; these are immutable, and shared by all who read them."""
        return self.uncopied(codec)[:]

    def immutable(self, codec: Codec[Any]) -> tuple[Any, ...]:
        """The same as a tuple, which is shared as well: however often it is asked for, it is made once."""
        if self._shared is None:
            self._shared = tuple(self.uncopied(codec))
        return self._shared

    def uncopied(self, codec: Codec[Any]) -> "Prefix":
        """The same as a sequence that nobody can change, so that nothing has to be copied, however long it is."""
        if len(self._typed) < self.length:
            self._typed += [codec.load(part) for part in self._parts[len(self._typed) : self.length]]
        return Prefix(self._typed, self.length)

    def grown(self, more: "Elements") -> "Elements":
        """A version with more elements; this one stays as it is."""
        if len(self._parts) == self.length:
            parts, read, typed = self._parts, self._read, self._typed
        else:  # another version has grown already
            parts, read, typed = self._parts[: self.length], self._read[: self.length], self._typed[: self.length]
        if len(typed) == self.length:
            typed += more.known
        parts += more.parts
        blobs = Attachments(self.blobs).with_more(more.blobs) if self.blobs or more.blobs else NO_BLOBS
        grown = Elements(parts, read, typed, blobs)
        if self._size is not None:
            grown._size = self._size + more.size
        return grown

    def first(self, length: int) -> "Elements":
        """An earlier version of so many elements, of which all are saved."""
        return self if length == self.length else Elements(self._parts, self._read, self._typed, length=length)

    def page(self, start: int, stop: int) -> Sequence[Any]:
        """Some of the elements: as values of their type, if those were read already, else as JSON."""
        stop = min(stop, self.length)
        return (self._parts if len(self._typed) < stop else self._typed)[start:stop]

    @property
    def known(self) -> Sequence[Any]:
        """Those that have been read as values of their type, from the first one on."""
        return self._typed[: self.length]

    def since(self, before: "Elements", key: str) -> "Elements":
        """What has been added to an earlier version.

        Raises:
            CannotStore: This is no later version of it.
        """
        if self.parts[: before.length] != before.parts:
            raise CannotStore(key, "it only grows (Append): return what is to be added, or a list that begins with it")
        return Elements(list(self.parts[before.length :]), blobs=self.blobs)


class Prefix(Sequence[Any]):
    """The beginning of a list that only grows, as a sequence that nobody can change.

    Args:
        elements: The list; only ever appended to.
        length: How many of its elements belong to the sequence.
    """

    __slots__ = ("_elements", "_length")

    def __init__(self, elements: list[Any], length: int) -> None:
        self._elements = elements
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._sliced(*index.indices(self._length))
        if not -self._length <= index < self._length:
            raise IndexError("list index out of range")
        return self._elements[index + self._length if index < 0 else index]

    def _sliced(self, start: int, stop: int, step: int) -> list[Any]:
        if step < 0:
            return [self._elements[each] for each in range(start, stop, step)]
        return self._elements[start : max(start, stop) : step]

    def __iter__(self) -> Iterator[Any]:
        return islice(self._elements, self._length)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Prefix | list | tuple) and len(self) == len(other) and all(map(eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(self._elements[: self._length])


class ListCodec(TypedCodec[list[Any]]):
    """A list that only grows.

    Args:
        kind: The list's type.
        immutable: Whether its elements are immutable all the way down, so that all who read them may share them.
        verify: Check each element, see `TypedCodec`. Those that are not checked and immutable are never read while the
            process that has made them lives.

    Attributes:
        element: Codec of its elements.
        is_plain: Whether these are plain JSON.
        is_shared: Whether they are immutable.
        is_exact: Whether they are, beside that, what reading their JSON would give.
    """

    def __init__(self, kind: Any, *, immutable: bool = False, verify: bool = True) -> None:
        (element,) = get_args(kind) or (Any,)
        self.is_plain = is_plain(element)
        super().__init__(kind, verify=verify, immutable=immutable and not self.is_plain)
        self.element: Codec[Any] = PLAIN if self.is_plain else TypedCodec(element, verify=verify)

    def convert(self, value: object, where: str) -> list[Any]:
        """As any codec; a list of another run is left to who starts runs, and one in its stored form stays as it is.

        Raises:
            CannotStore: It is no such list.
        """
        is_kept = isinstance(value, Continued | Elements)
        return cast("list[Any]", value) if is_kept else super().convert(value, where)

    def elements(self, added: object, key: str) -> Elements:
        """What is to be appended, in its stored form.

        Raises:
            CannotStore: It is no list, or an element has no stored form.
        """
        if isinstance(added, Continued):
            raise CannotStore(key, "only a run that a runner starts can go on with a list of another one")
        if isinstance(added, Elements):
            return added
        if not isinstance(added, list | tuple):
            raise CannotStore(key, f"it only grows (Append): give a list of what is to be added, not {added!r:.80}")
        dump, blobs = self.element.dump, Attachments()
        try:
            parts = [dump(value, key, blobs) for value in added]
        except CannotStore:  # once more, to say which one
            parts = [dump(value, f"{key}[{index}]") for index, value in enumerate(added)]
        if blobs:  # elements with their bytes are other than what is read of their JSON
            return Elements(parts, blobs=blobs)
        return Elements(parts, typed=list(added) if self.is_exact else None)


def split_list(data: bytes, key: str) -> Elements:
    """The elements of a list that is stored under a key.

    Raises:
        CannotRead: It is no list.
    """
    values = from_json(data)
    if not isinstance(values, list):
        raise CannotRead(f"list in key {key!r}", f"it only grows (Append) now, and {data[:80]!r} was stored for it")
    return Elements([to_json(value, inf_nan_mode="constants") for value in values])


def list_codec(kind: Any) -> ListCodec | None:
    """The codec of ``Annotated[list[T], Append]``; None for any other annotation.

    Raises:
        CannotStore: It marks what is no list, or pydantic has no schema for its elements.
    """
    if get_origin(kind) is not Annotated or not any(
        mark is Append or isinstance(mark, Append) for mark in get_args(kind)
    ):
        return None
    listed = get_args(kind)[0]
    if listed is not list and get_origin(listed) is not list:
        raise CannotStore(f"type {kind!r}", "only a list can grow: annotate it as Annotated[list[…], Append]")
    return _list_codec(listed)


@lru_cache(maxsize=256)
def _list_codec(kind: Any) -> ListCodec:
    return ListCodec(kind)
