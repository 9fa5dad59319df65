"""Checkpoints: what makes a run survive its process.

A store keeps runs, the frames of their branches and the items of their fan-outs. `SqliteStore` keeps them in a file,
`MemoryStore` in memory; both do the same to the same calls. Values enter as bytes: `PLAIN` and `codec_for` make them.
"""

from ._codec import PLAIN, Codec, TypedCodec, codec_for, join_values, split_values
from ._frozen import FrozenDict, FrozenList, JsonValue, freeze
from ._memory import MemoryStore
from ._records import (
    Closing,
    Commit,
    Frame,
    Item,
    ItemStatus,
    Joined,
    Lease,
    NewRun,
    RunInfo,
    RunStatus,
    Snapshot,
)
from ._sqlite._store import SqliteStore
from ._store import CheckpointStore
from .errors import (
    BackendNotSupported,
    CancelRequested,
    CannotRead,
    CannotStore,
    CheckpointError,
    NotAStore,
    OwnershipLost,
    RunNotFound,
    RunNotOpen,
    SqliteTooOld,
    StaleCheckpoint,
    StoreClosed,
    StoreError,
    StoreFailed,
    StoreFull,
    StoreInUse,
    StoreLocked,
    StoreNotWritable,
)

__all__ = [
    "PLAIN",
    "BackendNotSupported",
    "CancelRequested",
    "CannotRead",
    "CannotStore",
    "CheckpointError",
    "CheckpointStore",
    "Closing",
    "Codec",
    "Commit",
    "Frame",
    "FrozenDict",
    "FrozenList",
    "Item",
    "ItemStatus",
    "Joined",
    "JsonValue",
    "Lease",
    "MemoryStore",
    "NewRun",
    "NotAStore",
    "OwnershipLost",
    "RunInfo",
    "RunNotFound",
    "RunNotOpen",
    "RunStatus",
    "Snapshot",
    "SqliteStore",
    "SqliteTooOld",
    "StaleCheckpoint",
    "StoreClosed",
    "StoreError",
    "StoreFailed",
    "StoreFull",
    "StoreInUse",
    "StoreLocked",
    "StoreNotWritable",
    "TypedCodec",
    "codec_for",
    "freeze",
    "join_values",
    "split_values",
]
