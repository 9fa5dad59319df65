"""Lists of stored runs, read once: those that were read or written last stay in memory.

A run that goes on with the list of another one, or whoever looks at a run, so reads and parses only what this process
does not know yet. A list in memory belongs to one run and one place in the store, and neither is ever used again for
another one. It stays while somebody holds it, such as the run's final state. The last ones stay longer than that, as
far as there is room: the next process, or caller, has nothing but the id of the run that it goes on with.
"""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from stagepost.checkpoint import CheckpointStore, Codec, Continued, ListTooShort, Ref, RunNotFound, Snapshot

from .._values._append import Elements, ListCodec
from .._values._schema import Schema
from .._values._state import Stored, Value, Values

_ROOM: Final = 32_000_000  # bytes for lists that nobody holds
_LIST, _ELEMENT = 4_000, 1_000  # bytes that one takes beside its JSON, more or less
_PAGE: Final = 4000  # elements; so many are read at once


class _Place(NamedTuple):
    """Which list, of which run, read how.

    Attributes:
        row: The store's key of the run.
        maker: That of the run that began the list.
        number: Which of that one's lists.
        codec: Reads its elements; None for plain JSON.
    """

    row: int
    maker: int
    number: int
    codec: Codec[Any] | None


class StoredLists:
    """The lists of the runs in a store.

    Args:
        store: Where they are.
        room: How many bytes may be taken by lists that nobody holds.
    """

    def __init__(self, store: CheckpointStore, room: int = _ROOM) -> None:
        self._store = store
        self._room = room
        self._known: WeakValueDictionary[_Place, Elements] = WeakValueDictionary()
        self._last: OrderedDict[tuple[int, int], Elements] = OrderedDict()  # by maker and number; the newest at the end

    def note(self, row: int, refs: Mapping[str, Ref], own: Values, schema: Schema) -> None:
        """Keep the lists of a run that this process has worked on.

        Args:
            row: The store's key of the run.
            refs: Where its values are.
            own: They.
            schema: Knows which of them are lists that grow.
        """
        for key in refs.keys() & schema.lists if schema.lists else ():
            value = own[key]
            if isinstance(value, Elements) and refs[key].length == value.length:
                self._keep(_place(row, refs[key], schema, key), value)

    async def older(self, continued: Continued, key: str, schema: Schema) -> Elements:
        """The elements that a list begins with.

        Args:
            continued: Which they are.
            key: The list's key.
            schema: That of the run that goes on.

        Raises:
            RunNotFound: There is no such run.
            ListTooShort: It has not so many.
        """
        head = await self._store.head(continued.run_id)
        ref = head.root.refs.get(key, Ref(0, 0))
        if not 0 <= continued.length <= (ref.length or 0):
            raise ListTooShort(continued.run_id, key, continued.length, ref.length or 0)
        found = await self._list(head, key, ref, schema, continued.length) if continued.length else Elements([])
        if found is None:
            raise RunNotFound(continued.run_id)  # it was another run's by then
        return found

    async def read(self, head: Snapshot, schema: Schema) -> dict[str, Stored] | None:
        """The values of a run's own frame that `CheckpointStore.head` leaves out; None if it has changed since.

        Args:
            head: The run.
            schema: That of its workflow.
        """
        values: dict[str, Stored] = {}
        for key, ref in head.root.refs.items():
            if ref.length is not None:
                found = await self._list(head, key, ref, schema, ref.length)
                if found is None:
                    return None
                values[key] = found if key in schema.lists else Value(found.data)
        return values

    async def _list(self, head: Snapshot, key: str, ref: Ref, schema: Schema, length: int) -> Elements | None:
        """The first elements of a list; None if there are not so many any more."""
        place = _place(head.row, ref, schema, key)
        known = self._known.get(place)
        have = 0 if known is None else known.length
        if have < length:
            more = await self._fetch(head.run.run_id, key, have, length)
            if more is None:
                return None
            known = more if known is None else known.grown(more)
            if length == ref.length and key in schema.lists:
                self._keep(place, known)
        assert known is not None  # noqa: S101  # an empty list has no place
        return known.first(length)

    async def _fetch(self, run_id: str, key: str, begin: int, end: int) -> Elements | None:
        """Elements of a list; None if there are not so many."""
        parts: list[bytes] = []
        after: str | None = str(begin)
        while after is not None and len(parts) < end - begin:
            page = await self._store.elements(run_id, "", key, after=after, limit=min(_PAGE, end - begin - len(parts)))
            parts += page.items
            after = page.next
        return Elements(parts) if len(parts) == end - begin else None

    def _keep(self, place: _Place, value: Elements) -> None:
        """Keep a list, and let go of those that were not needed for longest."""
        self._known[place] = value
        before = self._last.pop((place.maker, place.number), None)
        self._last[place.maker, place.number] = value
        self._room += (0 if before is None else _weight(before)) - _weight(value)
        while self._room < 0:
            _, oldest = self._last.popitem(last=False)
            self._room += _weight(oldest)


def _weight(value: Elements) -> int:
    return value.size + _LIST + _ELEMENT * value.length


def _place(row: int, ref: Ref, schema: Schema, key: str) -> _Place:
    codec = schema.types.get(key)
    return _Place(row, ref.maker or row, ref.number, codec.element if isinstance(codec, ListCodec) else None)
