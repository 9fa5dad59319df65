"""What can go wrong with encrypted values."""

from collections.abc import Sequence

from stagepost._installing import how_to_install

from ._root_error import CheckpointError


class CannotDecrypt(CheckpointError):
    """A stored value is encrypted by a key that was not given, or not at all. Nothing is wrong with what is stored.

    Attributes:
        key: Id of the key that it was encrypted by; None: it is not encrypted.
        known: Ids of the keys that were given.
    """

    def __init__(self, key: str | None, known: Sequence[str]) -> None:
        given = f"keys= has {', '.join(known)}"
        super().__init__(
            f"a stored value was encrypted by key {key}, and {given}: give that key, too, after the one that encrypts "
            "what is written; nothing is damaged"
            if key is not None
            else f"a stored value is not encrypted ({given}): if the store was used without encryption before, give "
            "plain=True to read what is left of that time"
        )
        self.key = key
        self.known = tuple(known)


class ErrorsNotSearchable(CheckpointError, ValueError):
    """The texts of errors are encrypted, so that the store cannot search them."""

    def __init__(self) -> None:
        super().__init__(
            "text= searches the errors of runs, which this store keeps encrypted: use other filters, such as "
            "status='failed' with workflow= or ended_since=, and read `error` of what is found"
        )


class EncryptionNotInstalled(CheckpointError, ImportError):
    """Encryption needs the package cryptography, which is not installed."""

    def __init__(self) -> None:
        super().__init__(f"encryption needs cryptography, which is not installed: {how_to_install('encryption')}")
