"""What a store is given to keep, as frozen values: runs, the frames of their branches, the items of their fan-outs.

Those that each run or step makes are named tuples, which take a third of the time to make.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from stagepost._dataclasses import dataclass

from ._happening import Happening
from ._outside import Continued, Ref, StoredValue
from ._schedules import StoredSchedule
from ._tables import Statement
from ._waiting import Effect


class RunStatus(StrEnum):
    """Where a run stands.

    It is open while ``running`` or ``waiting`` (parked: nothing of it goes on before a wait ends). The others are ends,
    of which ``failed`` and ``dead`` (it took its process with it too often) can be resumed.
    """

    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    DEAD = "dead"

    @property
    def is_open(self) -> bool:
        """Whether the run has not ended."""
        return self in (RunStatus.RUNNING, RunStatus.WAITING)


class Keep(StrEnum):
    """What stays of a run.

    ``result``: where it stands, and at its end its final state. ``all``: also its history: every version of its frames
    on the way, and what has happened. ``none``: nothing once it has completed or was cancelled, but a key or id that is
    to be remembered; a failed run stays, so that it can be resumed.
    """

    RESULT = "result"
    ALL = "all"
    NONE = "none"


class ItemStatus(StrEnum):
    """Where one item of a fan-out stands."""

    WAITING = "waiting"
    OK = "ok"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Shape(NamedTuple):
    """What a workflow is made of.

    Attributes:
        id: Digest of the skeleton.
        skeleton: Names, kinds and edges, as JSON of the workflow layer's own.
    """

    id: str
    skeleton: bytes


class Frame(NamedTuple):
    """The checkpoint of one branch of a run, overwritten in place at every commit.

    Attributes:
        path: Which branch: ``""`` is the run itself, ``summaries[3]`` an item whose worker is a pattern.
        seq: Number of this version, 1 for the first. A commit that writes version n expects version n - 1 in the store.
        next: Where the branch goes on, decided already: a path of step names; None when it has ended.
        visits: How often each node of a graph was entered.
        width: How many items the fan-out at `next` has; None while they are not frozen.
        state: JSON of each key. In a commit those that `refs` names may be left out; in a snapshot they are there.
        refs: Keys whose values have rows of their own.
    """

    path: str
    seq: int
    next: str | None
    state: Mapping[str, bytes]
    visits: Mapping[str, int] = MappingProxyType({})
    width: int | None = None
    refs: Mapping[str, Ref] = MappingProxyType({})


class Item(NamedTuple):
    """One item of a fan-out.

    Attributes:
        path: The fan-out's path from the run's root, such as ``summaries`` or ``review[2]/checks``.
        visit: Which visit of a cycle it belongs to; 0 outside of graphs.
        idx: Position, from 0.
        status: Where it stands.
        input: JSON of what the worker gets.
        value: JSON of what the worker made; None until it is ok.
        error: What went wrong, if it failed.
    """

    path: str
    visit: int
    idx: int
    status: ItemStatus
    input: bytes
    value: bytes | None = None
    error: str | None = None


class Lease(NamedTuple):
    """The right to commit to a run, until somebody claims it again.

    Attributes:
        run_id: The run.
        epoch: The claim's number, compared at every commit.
        row: The store's own short key of the run.
        keep: What stays of the run.
        owner: Id of the owner.
        news: How much news the run had when it was claimed.
    """

    run_id: str
    epoch: int
    row: int
    keep: Keep = Keep.RESULT
    owner: int = 0
    news: int = 0


class SharedList(NamedTuple):
    """A list of a fork that begins with one of the run that it was forked from; its elements are not copied.

    Attributes:
        path: Path of the frame.
        key: Its key in the frame's state. What `Frame.refs` says of it there is how it is stored if the fork needs a
            list of its own; the store says in what it loads whose list it is.
        theirs: Where it is in the other run, as that one's frame says; its length is how much of it is meant.
    """

    path: str
    key: str
    theirs: Ref


@dataclass(frozen=True, slots=True)
class Forked:
    """Where a new run comes from, and what is under way in it.

    Attributes:
        run_id: The run that it is forked from. That run stays as it is.
        row: The store's own key of that run, as it was read.
        number: Of which number of its history; None for how it stood.
        frames: Frames beside the root, of items under way.
        items: Items of fan-outs and folds under way.
        lists: Lists of its frames that begin with the other run's.
        effects: What is known of effects that the other run has had, and that are not to happen again.
    """

    run_id: str
    row: int
    number: int | None = None
    frames: Sequence[Frame] = ()
    items: Sequence[Item] = ()
    lists: Sequence[SharedList] = ()
    effects: Sequence[Effect] = ()


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to be stored before its first step.

    Attributes:
        run_id: Its name.
        workflow: Name of its workflow.
        version: Declared version of that workflow.
        key: Start-once key, unique per workflow.
        input: JSON of what it starts with.
        owner: Id of the owner that goes on with it.
        root: Its first frame.
        values: Rows of the values that `root` refers to.
        shape: What its workflow is made of.
        trace: Which trace it belongs to, if it was given one.
        keep: What stays of it.
        remember_id: Whether its id stays taken when retention has deleted it: somebody has given it.
        remember_key: The same of its key.
        blobs: Bytes that it refers to, by digest; None for those that have to be stored already.
        continued: Keys of the root frame whose lists begin with those of other runs. The elements that `values` add
            to them, and the references to them in `root`, have the numbers that they would have as lists of its own;
            the store says in what it loads whose lists they are.
        labels: What it can be found by.
        place: The step that starts it, of the run whose id its own begins with; None if no step does.
        forked: What it begins with if it is a fork of another run.
        happened: What begins with it, for the history of a run that keeps all.
        schedule: The schedule that starts it, saved with it as by `Schedules.save_schedule`.
    """

    run_id: str
    workflow: str
    version: int
    key: str | None
    input: bytes
    owner: int
    root: Frame
    values: Sequence[StoredValue] = ()
    shape: Shape | None = None
    trace: str | None = None
    keep: Keep = Keep.RESULT
    remember_id: bool = False
    remember_key: bool = False
    blobs: Mapping[str, bytes | None] = field(default_factory=dict)
    continued: Mapping[str, Continued] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    place: str | None = None
    forked: Forked | None = None
    happened: Sequence[Happening] = ()
    schedule: StoredSchedule | None = None

    @property
    def remembered(self) -> int:
        """What of it is remembered, as the bits that a store keeps: 1 its id, 2 its key."""
        return self.remember_id + 2 * self.remember_key


@dataclass(frozen=True, slots=True)
class Migrated:
    """A run as one of another version of its workflow.

    Attributes:
        version: That version.
        frames: All its frames.
        values: Rows of the values that these refer to.
        items: All its items.
        lost: Places of waits that no step has any more; they are forgotten.
    """

    version: int
    frames: Sequence[Frame]
    values: Sequence[StoredValue] = ()
    items: Sequence[Item] = ()
    lost: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Joined:
    """The items of one visit of a fan-out, which its join deletes with all that is below them, open waits included.

    Attributes:
        path: The fan-out.
        visit: Which visit.
        lost: Items that were given up: open runs that steps below them have started are cancelled with all below.
    """

    path: str
    visit: int
    lost: Sequence[int] = ()


@dataclass(frozen=True, slots=True)
class Closing:
    """How a run ends.

    Attributes:
        status: Where it stands then.
        error: Why it failed.
        traceback: The traceback of that as text.
        heard: How much of what was written for it from outside its owner has heard of: it does not end while there is
            more, unless it is cancelled.
    """

    status: RunStatus
    error: str | None = None
    traceback: str | None = None
    heard: int = 0


class Commit(NamedTuple):
    """One atomic change of a run: all of it is saved, or nothing.

    Attributes:
        lease: The right to commit; checked against the store.
        frame: New version of a branch's frame.
        values: New rows of values that the frame refers to.
        frozen: Items of a fan-out, to be added as waiting.
        outcomes: Items that changed their status.
        ended: Path of an item's frame that is no longer needed.
        joined: Items to be deleted.
        effects: What became of effects.
        progresses: Whether this is the first commit since the run was recovered, which so has got somewhere.
        closing: The run's end.
        blobs: Bytes that the run refers to from now on, by digest; None for those that are stored already, if they are.
        dropped: What the frame referred to before and no longer does; it is deleted, unless the history names it.
        also: Statements on tables of the application, executed in the same transaction.
        happened: What has happened, and what begins with it, in this order: for the history of a run that keeps all.
    """

    lease: Lease
    frame: Frame | None = None
    values: Sequence[StoredValue] = ()
    frozen: Sequence[Item] = ()
    outcomes: Sequence[Item] = ()
    ended: str | None = None
    joined: Joined | None = None
    effects: Sequence[Effect] = ()
    progresses: bool = False
    closing: Closing | None = None
    blobs: Mapping[str, bytes | None] = MappingProxyType({})
    dropped: Sequence[Ref] = ()
    also: Sequence[Statement] = ()
    happened: Sequence[Happening] = ()
