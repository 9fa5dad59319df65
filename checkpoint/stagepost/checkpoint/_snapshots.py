"""Runs as they are read: what is known of one, all that is stored of it, and its frames as they were."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from stagepost._dataclasses import dataclass

from ._records import Frame, Item, Keep, RunStatus
from ._waiting import Effect, StoredWait


class RunInfo(NamedTuple):
    """What is known of a run without its state.

    Attributes:
        run_id: Its name, unique in the store, sortable by time if the runner made it.
        workflow: Name of its workflow.
        version: Declared version of that workflow.
        status: Where it stands.
        key: Its start-once key, unique per workflow, if it was started with one.
        input: JSON of what it was started with.
        error: Why it failed.
        cancelling: Whether its end has been asked for; that is then the only commit it still takes.
        owner: Id of the owner that has it, or that had it when it ended; None while it is nobody's.
        epoch: How often it was claimed; the fence compares it.
        attempts: How often it was claimed after the death of its owner since its last commit.
        created_at: When it was started (UTC).
        finished_at: When it ended (UTC).
        trace: Which trace it belongs to; None if nobody gave it one.
        keep: What stays of it.
        traceback: Traceback of the error that it failed with, as text.
        news: How much was written for it from outside: answers, signals, words about effects, a cancellation.
        heard: How much of that its owner, or who may claim it, has been told of.
        blocked: Why nobody can go on with it, as somebody who tried has found.
        shape: Id of the shape that its workflow had when it was last claimed; None if nobody has said.
        labels: What it was labelled with when it was started.
        forked_from: Id of the run that it is a fork of, which may be deleted; None if it is none.
        forked_at: Of which number of that run's history; None for how that one stood.
    """

    run_id: str
    workflow: str
    version: int
    status: RunStatus
    key: str | None
    input: bytes
    error: str | None
    cancelling: bool
    owner: int | None
    epoch: int
    attempts: int
    created_at: datetime
    finished_at: datetime | None
    trace: str | None = None
    keep: Keep = Keep.RESULT
    traceback: str | None = None
    news: int = 0
    heard: int = 0
    blocked: str | None = None
    shape: str | None = None
    labels: Mapping[str, str] = MappingProxyType({})
    forked_from: str | None = None
    forked_at: int | None = None

    @property
    def is_encrypted(self) -> bool:
        """Whether its values are encrypted as they are here: an `EncryptedStore` keeps them, and nobody gave a key."""
        return self.input.startswith(b'"sealed')  # what a run starts with is an object, never a text


@dataclass(frozen=True, slots=True)
class Version:
    """A frame as it was.

    Attributes:
        number: Its place in the history of its run, from 1; there may be others between two versions (`Happened`).
        frame: It.
        saved_at: When it was saved (UTC).
        epoch: By which claim of the run (`RunInfo.epoch`).
    """

    number: int
    frame: Frame
    saved_at: datetime
    epoch: int


class Snapshot(NamedTuple):
    """Everything that a store holds of one run.

    Attributes:
        run: What is known of it.
        frames: Its frames, by path.
        items: Items of its fan-outs under way.
        waits: What it waits for, or has waited for.
        effects: What it has done to the world outside.
        shape: Skeleton of the workflow as it was when the run was last claimed; None if nobody has said.
        numbers: The highest number that one of its values and lists with rows of their own has; see `Ref`.
        saved_at: When each frame was last saved (UTC), by path, and each item, as ``path[3]``.
        row: The store's own short key of the run, which no other run ever gets.
    """

    run: RunInfo
    frames: Mapping[str, Frame]
    items: Sequence[Item] = ()
    waits: Sequence[StoredWait] = ()
    effects: Sequence[Effect] = ()
    shape: bytes | None = None
    numbers: int = 0
    saved_at: Mapping[str, datetime] = MappingProxyType({})
    row: int = 0

    @property
    def root(self) -> Frame:
        """The frame of the run itself."""
        return self.frames[""]
