"""Checkpoints: what makes a run survive its process.

A store keeps runs, the frames of their branches and the items of their fan-outs. `SqliteStore` keeps them in a file,
`MemoryStore` in memory; both do the same to the same calls. Values enter as bytes: `PLAIN` and `codec_for` make them.
"""

from typing import TYPE_CHECKING

from ._admissions import Admissions
from ._blobs import Attachments
from ._catalogue import Catalogue
from ._codec import PLAIN, Codec, TypedCodec, codec_for
from ._encryption._inbox import EncryptedInbox
from ._encryption._reader import EncryptedReader
from ._encryption._store import EncryptedStore
from ._encryption._texts import EncryptedTexts
from ._filters import CountBy, Counts, RunFilters
from ._frozen import FrozenDict, FrozenList, JsonValue
from ._happening import AttemptOutcome, Happening, HappeningKind
from ._happenings import ChildRun, Happened, Happenings, UnderWay
from ._inbox import Inbox
from ._labels import check_labels
from ._limits import Limits
from ._memory import MemoryStore
from ._outside import Continued, Ref, StoredValue
from ._ownership import Cancelled, Change, Freed, Lost, News, Owner, Ownership
from ._pages import Page, Unreadable
from ._plain import freeze, join_values, plain_form, read_frozen, split_values
from ._records import (
    Closing,
    Commit,
    Forked,
    Frame,
    Item,
    ItemStatus,
    Joined,
    Keep,
    Lease,
    Migrated,
    NewRun,
    RunStatus,
    Shape,
    SharedList,
)
from ._runs import Runs
from ._schedules import DueSchedules, Schedules, StoredSchedule
from ._snapshots import RunInfo, Snapshot, Version
from ._sqlite._inbox_store import SqliteInbox
from ._sqlite._looking import SqliteLibrary, StoreFile
from ._sqlite._store import SqliteStore
from ._sqlite._store_reader import StoreReader
from ._store import CheckpointStore
from ._tables import Cell, Statement, Tables
from ._waiting import (
    Effect,
    EffectBelow,
    EffectStatus,
    Latest,
    NewWait,
    OpenWait,
    SentSignal,
    StoredWait,
    WaitKind,
    WaitStatus,
)
from .errors import (
    AlreadyAnswered,
    BackendNotSupported,
    BackupExists,
    BackupFailed,
    BlobNotFound,
    BlobTooLarge,
    CancelRequested,
    CannotDecrypt,
    CannotRead,
    CannotStore,
    CheckpointError,
    CorruptBlob,
    CorruptRun,
    CorruptSchedule,
    CorruptStore,
    EffectNotFound,
    EncryptionNotInstalled,
    ErrorsNotSearchable,
    KeyRemembered,
    LabelRefused,
    ListTooShort,
    NewsFirst,
    NotAStore,
    NotInHistory,
    OrphanedRows,
    OwnerExpired,
    OwnershipLost,
    RunNotEnded,
    RunNotFound,
    RunNotOpen,
    RunOwned,
    ScheduleChanged,
    ScheduleNotFound,
    SqliteTooOld,
    SqliteWithoutFts5,
    StaleCheckpoint,
    StatementFailed,
    StatementRefused,
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
    UnusedBlobs,
    UnusedLists,
    ValueTooLarge,
    WaitNotFound,
)

if TYPE_CHECKING:
    from ._config import StoreConfig, StoreRegistry

__all__ = [
    "PLAIN",
    "Admissions",
    "AlreadyAnswered",
    "Attachments",
    "AttemptOutcome",
    "BackendNotSupported",
    "BackupExists",
    "BackupFailed",
    "BlobNotFound",
    "BlobTooLarge",
    "CancelRequested",
    "Cancelled",
    "CannotDecrypt",
    "CannotRead",
    "CannotStore",
    "Catalogue",
    "Cell",
    "Change",
    "CheckpointError",
    "CheckpointStore",
    "ChildRun",
    "Closing",
    "Codec",
    "Commit",
    "Continued",
    "CorruptBlob",
    "CorruptRun",
    "CorruptSchedule",
    "CorruptStore",
    "CountBy",
    "Counts",
    "DueSchedules",
    "Effect",
    "EffectBelow",
    "EffectNotFound",
    "EffectStatus",
    "EncryptedInbox",
    "EncryptedReader",
    "EncryptedStore",
    "EncryptedTexts",
    "EncryptionNotInstalled",
    "ErrorsNotSearchable",
    "Forked",
    "Frame",
    "Freed",
    "FrozenDict",
    "FrozenList",
    "Happened",
    "Happening",
    "HappeningKind",
    "Happenings",
    "Inbox",
    "Item",
    "ItemStatus",
    "Joined",
    "JsonValue",
    "Keep",
    "KeyRemembered",
    "LabelRefused",
    "Latest",
    "Lease",
    "Limits",
    "ListTooShort",
    "Lost",
    "MemoryStore",
    "Migrated",
    "NewRun",
    "NewWait",
    "News",
    "NewsFirst",
    "NotAStore",
    "NotInHistory",
    "OpenWait",
    "OrphanedRows",
    "Owner",
    "OwnerExpired",
    "Ownership",
    "OwnershipLost",
    "Page",
    "Ref",
    "RunFilters",
    "RunInfo",
    "RunNotEnded",
    "RunNotFound",
    "RunNotOpen",
    "RunOwned",
    "RunStatus",
    "Runs",
    "ScheduleChanged",
    "ScheduleNotFound",
    "Schedules",
    "SentSignal",
    "Shape",
    "SharedList",
    "Snapshot",
    "SqliteInbox",
    "SqliteLibrary",
    "SqliteStore",
    "SqliteTooOld",
    "SqliteWithoutFts5",
    "StaleCheckpoint",
    "Statement",
    "StatementFailed",
    "StatementRefused",
    "StoreClosed",
    "StoreConfig",
    "StoreError",
    "StoreFailed",
    "StoreFile",
    "StoreFull",
    "StoreInUse",
    "StoreLocked",
    "StoreLost",
    "StoreNotReadable",
    "StoreNotWritable",
    "StoreReader",
    "StoreRegistry",
    "StoreTakenOver",
    "StoredSchedule",
    "StoredValue",
    "StoredWait",
    "Tables",
    "TypedCodec",
    "UnderWay",
    "Unreadable",
    "UnusedBlobs",
    "UnusedLists",
    "ValueTooLarge",
    "Version",
    "WaitKind",
    "WaitNotFound",
    "WaitStatus",
    "check_labels",
    "codec_for",
    "freeze",
    "join_values",
    "plain_form",
    "read_frozen",
    "split_values",
]


def __getattr__(name: str) -> object:
    """Import what is a pydantic model only when it is asked for: building it takes time."""
    if name in ("StoreConfig", "StoreRegistry"):
        from . import _config  # noqa: PLC0415  # that is the point

        return getattr(_config, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
