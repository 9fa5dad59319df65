"""What can be wrong with bytes that runs refer to."""

from collections.abc import Sequence
from typing import Final

from ._root_error import CheckpointError

_REMEDY: Final = "DELETE FROM blobs WHERE digest NOT IN (SELECT digest FROM blob_refs)"


class BlobNotFound(CheckpointError, LookupError):
    """No bytes are stored under this digest.

    Attributes:
        digest: Their SHA-256.
    """

    def __init__(self, digest: str) -> None:
        super().__init__(
            f"no bytes are stored under the digest {digest!r}: all runs that had them were deleted, or they were never "
            "stored here; give the bytes themselves"
        )
        self.digest = digest


class CorruptBlob(CheckpointError):
    """Bytes are gone or changed that runs refer to: the disk has failed, or somebody has changed the file by hand.

    Attributes:
        digest: Their SHA-256.
        runs: Ids of runs that refer to them, at most ten.
        reason: What was found.
        run_id: None, since they are no single run's.
    """

    run_id: None = None

    def __init__(self, digest: str, runs: Sequence[str], reason: str) -> None:
        super().__init__(
            f"the bytes with the digest {digest!r} {reason}; {', '.join(map(repr, runs))} refer to them: restore the "
            "file from a copy"
        )
        self.digest = digest
        self.runs = tuple(runs)
        self.reason = reason


class UnusedBlobs(CheckpointError):
    """Bytes are stored that no run refers to: somebody has deleted references by hand.

    Attributes:
        count: How many there are.
        size: How many bytes these are together.
        run_id: None, since there is none.
    """

    run_id: None = None

    def __init__(self, count: int, size: int) -> None:
        super().__init__(
            f"{count} blobs ({size:,} bytes) belong to no run: references to them were deleted by hand. They take "
            f"space, and no run gets them. To delete them, leave the store and run `{_REMEDY}`"
        )
        self.count = count
        self.size = size
