"""Where the values of a frame go: into the frame, or, if they are large or lists that grow, into rows of their own.

A frame is overwritten as a whole at every commit, so what is large and does not change had better not be in it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from stagepost.checkpoint import Ref, StoredValue

from ._append import Elements
from ._state import Stored, Values

LARGE: Final = 4096  # bytes; one page of the database


class Layout(NamedTuple):
    """What a commit writes beside the frame.

    Attributes:
        refs: Keys of the frame whose values have rows of their own.
        rows: Rows to be added.
    """

    refs: Mapping[str, Ref]
    rows: tuple[StoredValue, ...]


_ALL_INSIDE: Final = Layout({}, ())


def lay_out(path: str, seq: int, refs: Mapping[str, Ref], updates: Values, own: Values) -> Layout:
    """Place what a step has changed.

    Args:
        path: The frame's path.
        seq: Number of the version that is to be written: the generation of values that are written as a whole.
        refs: Where values are now.
        updates: What has changed; of lists that grow, what is added.
        own: All that the frame holds then: of a list that was stored as a plain value before its key became one that
            grows, every element gets its row.
    """
    if not refs and not any(map(_is_outside, updates.values())):
        return _ALL_INSIDE
    rows: list[StoredValue] = []
    placed = dict(refs)
    for key, value in updates.items():
        if isinstance(value, Elements):
            gen, length = placed.get(key, Ref(seq))
            if length is None:
                gen, length, value = seq, 0, _whole(own[key])  # noqa: PLW2901  # of this key all is to be written
            rows += [StoredValue(path, key, gen, length + i, part) for i, part in enumerate(value.parts)]
            placed[key] = Ref(gen, length + value.length)
        elif len(value.data) > LARGE:
            rows.append(StoredValue(path, key, seq, 0, value.data))
            placed[key] = Ref(seq)
        else:
            placed.pop(key, None)
    return Layout(placed, tuple(rows)) if rows or placed != refs else Layout(refs, ())


def _whole(value: Stored) -> Elements:
    assert isinstance(value, Elements)  # noqa: S101  # as what is added to it is
    return value


def _is_outside(value: Stored) -> bool:
    return isinstance(value, Elements) or len(value.data) > LARGE
