"""What can go wrong with lists that several runs refer to."""

from typing import Final

from ._root_error import CheckpointError

_REMEDY: Final = (
    "DELETE FROM lists WHERE (maker, number) NOT IN (SELECT maker, number FROM list_refs "
    "UNION SELECT base_maker, base_number FROM lists WHERE base_maker IS NOT NULL); DELETE FROM elements WHERE "
    "(maker, number) NOT IN (SELECT maker, number FROM lists)"
)


class ListTooShort(CheckpointError, LookupError):
    """A run cannot go on with so many elements of another run's list: it has fewer, or there is no such list.

    Attributes:
        run_id: The run whose list it is.
        key: Key of the list.
        wanted: How many elements were wanted.
        length: How many it has.
    """

    def __init__(self, run_id: str, key: str, wanted: int, length: int) -> None:
        super().__init__(
            f"run {run_id!r} has {length} elements under the key {key!r} of a list that grows, and {wanted} were "
            "wanted: give a number from 0 to that"
        )
        self.run_id = run_id
        self.key = key
        self.wanted = wanted
        self.length = length


class UnusedLists(CheckpointError):
    """Lists are stored that neither a run nor another list refers to: somebody has deleted references by hand.

    Attributes:
        count: How many there are.
        elements: How many elements these have together.
        run_id: None, since there is none.
    """

    run_id: None = None

    def __init__(self, count: int, elements: int) -> None:
        super().__init__(
            f"{count} lists ({elements:,} elements) belong to no run: references to them were deleted by hand. They "
            f"take space, and no run gets them. To delete them, leave the store and run `{_REMEDY}`"
        )
        self.count = count
        self.elements = elements
