"""Values outside of their frames: large ones, and lists by their elements."""

from collections.abc import Sequence
from typing import NamedTuple

from stagepost._dataclasses import dataclass


class Ref(NamedTuple):
    """Where a value of a frame lives that has rows of its own.

    Attributes:
        number: Which of the run's values and lists with rows of their own. A run counts them, and no two that it has
            written, at whatever path, have the same number.
        length: How many elements of a list belong to this version; None for one value in one row.
        maker: Whose list it is: the store's own key of the run that began it; 0 for the run itself.
    """

    number: int
    length: int | None = None
    maker: int = 0


class StoredValue(NamedTuple):
    """A row outside of the frames: a large value, or an element of a list.

    Attributes:
        path: Path of the frame that refers to it.
        number: See `Ref`.
        idx: Which element of a list; with 0 the list begins. None for a value in one row.
        value: JSON.
        maker: See `Ref`.
        blobs: Digests of bytes that this element, or one added with it, refers to. They are kept as long as it is.
    """

    path: str
    number: int
    idx: int | None
    value: bytes
    maker: int = 0
    blobs: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Continued:
    """A list that begins with the elements of another run's list under the same key, which are not copied.

    It stands for the list where a run is started::

        await runner.start(turn, {"messages": Continued("turn-1", 4, then=[question])}, run_id="turn-2")

    Attributes:
        run_id: That run. It may have ended, and be deleted afterwards.
        length: How many of its elements.
        then: What comes after these.
    """

    run_id: str
    length: int
    then: Sequence[object] = ()
