"""Where the values of a frame go: into the frame, or, if they are large or lists that grow, into rows of their own.

A frame is overwritten as a whole at every commit, so what is large and does not change had better not be in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from stagepost.checkpoint import Ref, StoredValue

from ._append import NO_BLOBS, Elements
from ._state import GatheredValue, Stored, Values

LARGE: Final = 4096  # bytes; one page of the database


class Layout(NamedTuple):
    """What a commit writes beside the frame.

    Attributes:
        refs: Keys of the frame whose values have rows of their own.
        rows: Rows to be added.
        dropped: What the frame refers to no longer.
    """

    refs: Mapping[str, Ref]
    rows: tuple[StoredValue, ...] = ()
    dropped: tuple[Ref, ...] = ()


ALL_INSIDE: Final = Layout({})


def lay_out(
    path: str,
    numbers: Iterator[int],
    refs: Mapping[str, Ref],
    updates: Values,
    own: Values,
    *,
    blobs: Mapping[str, bytes | None] = NO_BLOBS,
) -> Layout:
    """Place what a step has changed.

    Args:
        path: The frame's path.
        numbers: Counts the run's values and lists with rows of their own.
        refs: Where values are now.
        updates: What has changed; of lists that grow, what is added.
        own: All that the frame holds then: of a list that had no rows before, every element gets one.
        blobs: Bytes that are saved with it, by digest. Elements that name one refer to it.
    """
    if not refs and not any(map(_is_outside, updates.values())):
        return ALL_INSIDE
    laid = _Laying(path, numbers, refs, blobs)
    for key, value in updates.items():
        if isinstance(value, Elements):
            laid.append(key, value, own[key])
        else:
            laid.put(key, value)
    return Layout(laid.refs, tuple(laid.rows), tuple(laid.dropped))


class _Laying:
    """A layout in the making."""

    def __init__(
        self, path: str, numbers: Iterator[int], refs: Mapping[str, Ref], blobs: Mapping[str, bytes | None]
    ) -> None:
        self.refs = dict(refs)
        self.rows: list[StoredValue] = []
        self.dropped: list[Ref] = []
        self._path = path
        self._numbers = numbers
        self._blobs = [(digest, digest.encode()) for digest in blobs]

    def append(self, key: str, added: Elements, whole: Stored) -> None:
        """Place what is added to a list."""
        ref = self.refs.get(key)
        if ref is None or ref.length is None:
            assert isinstance(whole, Elements)  # noqa: S101  # as what is added to it is
            self.drop(key)
            added, ref = whole, Ref(next(self._numbers), 0) if whole.length else None
        if ref is not None and ref.length is not None:
            self._add(ref, added.parts, added.blobs)
            self.refs[key] = ref._replace(length=ref.length + added.length)

    def put(self, key: str, value: Stored) -> None:
        """Place a value that is written as a whole."""
        self.drop(key)
        if len(value.data) <= LARGE:
            return
        number = next(self._numbers)
        if isinstance(value, GatheredValue) and value.parts is not None:
            self._add(Ref(number, 0), value.parts, NO_BLOBS)
            self.refs[key] = Ref(number, len(value.parts))
        else:
            self.rows.append(StoredValue(self._path, number, None, value.data))
            self.refs[key] = Ref(number)

    def drop(self, key: str) -> None:
        """Refer no longer to what a key has had rows for."""
        before = self.refs.pop(key, None)
        if before is not None:
            self.dropped.append(before)

    def _add(self, ref: Ref, parts: Sequence[bytes], blobs: Mapping[str, bytes | None]) -> None:
        path, (number, length, maker) = self._path, ref
        self.rows += [StoredValue(path, number, idx, part, maker) for idx, part in enumerate(parts, length or 0)]
        if self._blobs:
            self._refer(len(self.rows) - len(parts), blobs)

    def _refer(self, begin: int, blobs: Mapping[str, bytes | None]) -> None:
        """Note which bytes the rows from one on refer to."""
        for place in range(begin, len(self.rows)):
            row = self.rows[place]
            self.rows[place] = row._replace(blobs=[digest for digest, text in self._blobs if text in row.value])
        left = blobs.keys() - {digest for row in self.rows for digest in row.blobs}
        if left:  # what is noted of a list as a whole belongs to the first that was added
            self.rows[begin] = self.rows[begin]._replace(blobs=[*self.rows[begin].blobs, *left])


def _is_outside(value: Stored) -> bool:
    return isinstance(value, Elements) or len(value.data) > LARGE
