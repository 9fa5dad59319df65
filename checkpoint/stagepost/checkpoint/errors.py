"""What can go wrong between a run and its store.

::

    CheckpointError
    ├── CannotStore(ValueError)          a value has no stored form that comes back the same
    │   ├── ValueTooLarge                it has more bytes than the store takes
    │   └── BlobTooLarge                 the same of bytes beside the JSON
    ├── CannotRead(ValueError)           a stored value no longer fits its type
    ├── RunNotFound(LookupError)         no run has this id
    ├── CorruptRun                       what is stored of the run makes no sense: the disk or a person has changed it
    ├── CorruptStore                     what is stored beside the runs makes no sense
    ├── OrphanedRows                     rows are stored that belong to no run: somebody has deleted it by hand
    ├── BlobNotFound(LookupError)        no bytes are stored under this digest
    ├── CorruptBlob                      bytes that runs refer to are gone or changed
    ├── UnusedBlobs                      bytes are stored that no run refers to
    ├── UnusedLists                      elements of lists are stored that no run refers to
    ├── NotInHistory(LookupError)        the run's history has no version of this number
    ├── ListTooShort(LookupError)        the list to go on with has fewer elements than were asked for
    ├── LabelRefused(ValueError)         a run cannot have these labels
    ├── CannotDecrypt                    a stored value is encrypted by a key that was not given, or not at all
    ├── ErrorsNotSearchable(ValueError)  the texts of errors are encrypted
    ├── EncryptionNotInstalled(ImportError) the extra for encryption is missing
    ├── StatementRefused(ValueError)     a statement may not be executed on the store's database
    ├── StatementFailed                  a statement on tables of the application failed
    ├── RunNotOpen                       the run has ended: nothing more is committed to it
    ├── WaitNotFound(LookupError)        the run does not wait for an answer at this place
    ├── AlreadyAnswered                  somebody else's answer came first, or the time was up
    ├── EffectNotFound(LookupError)      no effect of this key is in doubt
    ├── ScheduleNotFound(LookupError)    no schedule has this key
    ├── CorruptSchedule                  what is stored of the schedule cannot be used
    ├── ScheduleChanged                  somebody else has saved the schedule since it was read
    ├── KeyRemembered                    the id or key is that of a run that retention has deleted
    ├── RunNotEnded                      the run is open, so it is not deleted
    ├── CancelRequested                  somebody has requested the run's end, the only commit it still takes
    ├── OwnershipLost                    another owner has claimed the run since (the fence)
    ├── OwnerExpired                     an owner has missed its heartbeats
    ├── RunOwned                         a living owner has the run
    ├── NewsFirst                        the run was sent something that its owner has not heard of
    ├── StaleCheckpoint                  the frame is not where the writer thought it was
    └── StoreError                       the store itself
        ├── StoreClosed                  used before it was opened or after it was closed
        ├── StoreInUse                   another Runner works on this store object
        ├── StoreLocked(TimeoutError)    another process owns the file
        ├── StoreTakenOver               another process has taken the file over: this one saves nothing more
        ├── StoreLost                    the file was deleted, moved, replaced or overwritten while it was open
        ├── StoreNotWritable(OSError)    the file or its folder refuses to be written
        ├── StoreNotReadable(OSError)    there is no such file, or it or its folder refuses to be read
        ├── StoreFull(OSError)           no space: nothing of the commit is on disk, the store stays usable
        ├── BackupExists(FileExistsError) the file that a backup was to be written to exists
        ├── BackupFailed(OSError)        no backup was made; the store is not affected
        ├── StoreFailed                  an I/O error or a silent disk: what is on disk is known only after reopening
        ├── NotAStore(ValueError)        the file is something else, or of a newer stagepost
        ├── SqliteTooOld                 the interpreter's SQLite lacks what the store needs
        ├── SqliteWithoutFts5            the same: it was built without the index of words
        └── BackendNotSupported          the store does not run on this event loop
"""

from datetime import datetime

from ._backup_errors import BackupExists, BackupFailed
from ._blob_errors import BlobNotFound, CorruptBlob, UnusedBlobs
from ._encryption_errors import CannotDecrypt, EncryptionNotInstalled, ErrorsNotSearchable
from ._history_errors import NotInHistory
from ._list_errors import ListTooShort, UnusedLists
from ._ownership_errors import CancelRequested, NewsFirst, OwnerExpired, OwnershipLost, RunOwned
from ._root_error import CheckpointError
from ._schedule_errors import CorruptSchedule, ScheduleChanged, ScheduleNotFound
from ._store_errors import (
    BackendNotSupported,
    NotAStore,
    SqliteTooOld,
    SqliteWithoutFts5,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreInUse,
    StoreLocked,
    StoreLost,
    StoreNotReadable,
    StoreNotWritable,
    StoreTakenOver,
)
from ._table_errors import StatementFailed, StatementRefused
from ._value_errors import BlobTooLarge, CannotRead, CannotStore, ValueTooLarge
from ._waiting_errors import AlreadyAnswered, EffectNotFound, WaitNotFound

__all__ = [
    "AlreadyAnswered",
    "BackendNotSupported",
    "BackupExists",
    "BackupFailed",
    "BlobNotFound",
    "BlobTooLarge",
    "CancelRequested",
    "CannotDecrypt",
    "CannotRead",
    "CannotStore",
    "CheckpointError",
    "CorruptBlob",
    "CorruptRun",
    "CorruptSchedule",
    "CorruptStore",
    "EffectNotFound",
    "EncryptionNotInstalled",
    "ErrorsNotSearchable",
    "KeyRemembered",
    "LabelRefused",
    "ListTooShort",
    "NewsFirst",
    "NotAStore",
    "NotInHistory",
    "OrphanedRows",
    "OwnerExpired",
    "OwnershipLost",
    "RunNotEnded",
    "RunNotFound",
    "RunNotOpen",
    "RunOwned",
    "ScheduleChanged",
    "ScheduleNotFound",
    "SqliteTooOld",
    "SqliteWithoutFts5",
    "StaleCheckpoint",
    "StatementFailed",
    "StatementRefused",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreFull",
    "StoreInUse",
    "StoreLocked",
    "StoreLost",
    "StoreNotReadable",
    "StoreNotWritable",
    "StoreTakenOver",
    "UnusedBlobs",
    "UnusedLists",
    "ValueTooLarge",
    "WaitNotFound",
]


class RunNotFound(CheckpointError, LookupError):
    """The store holds no run of this id."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no run {run_id!r} in this store: it was never started here, or was deleted")
        self.run_id = run_id


class CorruptRun(CheckpointError):
    """What is stored of a run is not what was written; other runs are not concerned.

    Attributes:
        run_id: The run.
        reason: What was found.
    """

    def __init__(self, run_id: str, reason: str) -> None:
        super().__init__(
            f"what is stored of run {run_id!r} is damaged ({reason}): restore the file from a copy, or cancel the run "
            "and start it again",
        )
        self.run_id = run_id
        self.reason = reason


class CorruptStore(CheckpointError):
    """SQLite finds its own structures damaged, such as an index that lacks a row, though each run can be read.

    Attributes:
        reason: What it found.
        run_id: None, since it is no run's.
    """

    run_id: None = None

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the file is damaged ({reason}): save what is in it by `.recover` of SQLite's shell, or restore a copy",
        )
        self.reason = reason


class OrphanedRows(CheckpointError):
    """Rows are stored that belong to no run: somebody has deleted it by hand, without what belongs to it.

    Attributes:
        table: The table.
        rows: How many.
        runs: Of how many runs.
        run_id: None, since there is none.
    """

    run_id: None = None

    def __init__(self, table: str, rows: int, runs: int) -> None:
        remedy = f"DELETE FROM {table} WHERE rk NOT IN (SELECT rk FROM runs)"  # noqa: S608  # for people to read
        super().__init__(
            f"{rows} rows of the table {table!r} belong to no run: {runs} runs were deleted by hand (use "
            "store.delete, or PRAGMA foreign_keys = ON). They take space, and no run gets them. "
            f"To delete them, leave the store and run `{remedy}`",
        )
        self.table = table
        self.rows = rows
        self.runs = runs


class RunNotOpen(CheckpointError):
    """The run has ended, so nothing more is committed to it and nobody can claim it."""

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id!r} is {status}: nothing more can be committed to it")
        self.run_id = run_id
        self.status = status


class KeyRemembered(CheckpointError):
    """A run had this id, or this workflow and key, and retention has deleted it since: it is not started again.

    Attributes:
        run_id: That run.
        status: How it ended.
        ended_at: When (UTC).
        is_same: Whether it was started with the same workflow and input.
    """

    def __init__(self, run_id: str, status: str, ended_at: datetime, *, is_same: bool) -> None:
        super().__init__(
            f"run {run_id!r} had this id or key; it ended {ended_at:%Y-%m-%d %H:%M} UTC ({status}), and only that is "
            "known of it: give another one to start anew, or delete() that run to free it",
        )
        self.run_id = run_id
        self.status = status
        self.ended_at = ended_at
        self.is_same = is_same


class LabelRefused(CheckpointError, ValueError):
    """A run cannot have these labels."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"these labels are refused: {reason}")
        self.reason = reason


class RunNotEnded(CheckpointError):
    """The run is open, so it cannot be deleted."""

    def __init__(self, run_id: str, status: str) -> None:
        super().__init__(f"run {run_id!r} is {status}: only a run that has ended can be deleted; cancel it first")
        self.run_id = run_id
        self.status = status


class StaleCheckpoint(CheckpointError):
    """A frame or an item is not in the state that its writer expected."""

    def __init__(self, run_id: str, path: str, expected: str) -> None:
        place = path or "the root frame"
        super().__init__(f"run {run_id!r}: {place} is no longer {expected}; nothing of this commit was saved")
        self.run_id = run_id
        self.path = path
        self.expected = expected
