"""What concerns copies of a store."""

from pathlib import Path

from ._store_errors import StoreError


class BackupExists(StoreError, FileExistsError):
    """There is a file of that name already, and nobody has said that it may be replaced.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists: no backup was made; give another name, or overwrite=True to replace the file")
        self.path = path


class BackupFailed(StoreError, OSError):
    """No backup was made; nothing is left under its name, and the store goes on as if nobody had asked.

    Attributes:
        path: The file that was to be made.
        reason: Why it was not.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"no backup was made at {path} ({reason}); the store itself is not affected")
        self.path = path
        self.reason = reason
