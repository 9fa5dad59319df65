"""What can go wrong with encrypted values."""

from collections.abc import Sequence

from stagepost._installing import how_to_install

from ._root_error import CheckpointError


class CannotDecrypt(CheckpointError):
    """A stored value is encrypted by a key that was not given, or not at all. Nothing is wrong with what is stored.

    Attributes:
        key: Id of the key that it was encrypted by; None: it is not encrypted.
        known: Ids of the keys that were given.
        run_id: The run that it belongs to, as far as that is known.
        reason: What was found, without the remedy.
    """

    def __init__(self, key: str | None, known: Sequence[str], run_id: str | None = None) -> None:
        found = "is not encrypted" if key is None else f"was encrypted by key {key}"
        self.reason = f"a stored value {found}, and keys= has {', '.join(known)}"
        whose = "" if run_id is None else f"run {run_id!r}: "
        remedy = (
            "give that key, too, after the one that encrypts what is written; nothing is damaged"
            if key is not None
            else "if the store was used without encryption before, give plain=True to read what is left of that time"
        )
        super().__init__(f"{whose}{self.reason}: {remedy}")
        self.key = key
        self.known = tuple(known)
        self.run_id = run_id

    def of(self, run_id: str) -> "CannotDecrypt":
        """The same of a value of this run."""
        return CannotDecrypt(self.key, self.known, run_id)


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
