"""What concerns values and their stored form."""

from ._root_error import CheckpointError


class CannotStore(CheckpointError, ValueError):
    """A value has no stored form that would come back the same.

    Attributes:
        where: Path of the value, such as ``page.tags[2]``.
        why: What about it cannot be stored, and what to do.
    """

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where} cannot be stored: {why}")
        self.where = where
        self.why = why


class ValueTooLarge(CannotStore):
    """A value has more bytes than the store takes.

    Attributes:
        size: How many its JSON has.
        largest: How many it may have.
    """

    def __init__(self, where: str, size: int, largest: int) -> None:
        super().__init__(
            where,
            f"it has {size:,} bytes of JSON, and the store takes {largest:,}: keep it in a file or a database and its "
            "name in the state, or open the store with a larger max_value=",
        )
        self.size = size
        self.largest = largest


class BlobTooLarge(CannotStore):
    """Bytes beside the JSON are more than the store takes.

    Attributes:
        size: How many there are.
        largest: How many there may be.
    """

    def __init__(self, where: str, size: int, largest: int) -> None:
        super().__init__(
            where,
            f"it has {size:,} bytes, and the store takes {largest:,}: keep it elsewhere and give its URL, or open the "
            "store with a larger max_blob=",
        )
        self.size = size
        self.largest = largest


class CannotRead(CheckpointError, ValueError):
    """A stored value does not fit the type that it is read as."""

    def __init__(self, kind: str, why: str) -> None:
        super().__init__(f"a stored value is no {kind}: {why}; give the type back the fields that it had")
        self.kind = kind
        self.why = why
