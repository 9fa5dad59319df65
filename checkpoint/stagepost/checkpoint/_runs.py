"""The owner's side of the protocol: what is done to a run by whoever has its lease."""

from collections.abc import Sequence
from typing import Protocol

from ._pages import Page
from ._records import Commit, Lease, Migrated, NewRun
from ._snapshots import RunInfo, Snapshot
from ._waiting import EffectBelow, Latest, NewWait, StoredWait


class Runs(Protocol):
    """Runs, as their owner works on them."""

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once.

        Returns:
            The lease and what was stored; or no lease and the run that has this id, or this workflow and key, already.

        Raises:
            KeyRemembered: The id, or the workflow and key, are those of a run that retention has deleted.
            CancelRequested: It is below a run whose end was requested.
            BlobNotFound: It refers to bytes that are not stored and that it does not bring.
            RunNotFound: One of its lists begins with that of a run that does not exist, or it is a fork of one.
            StaleCheckpoint: It is a fork, and a list that it begins with is no longer the other run's.
            ListTooShort: It begins with more elements than that list has.
            LabelRefused: It has too many labels, or one that is not text.
            ScheduleChanged: The schedule that starts it was saved since by somebody else; no run is stored.
        """
        ...

    async def load(self, run_id: str, *, at: int | None = None) -> Snapshot:
        """All that is stored of a run, or how it was at a number of its history.

        Args:
            run_id: The run.
            at: How it was right before the version after this one was saved: its frames and the items under way then,
                and the version of its workflow. Waits are left out. What is known of the run itself, and its effects,
                are as they are now. None for all of it as it is now.

        Raises:
            RunNotFound: There is none.
            NotInHistory: Its history has no version of this number.
            CorruptRun: It is not what was written.
        """
        ...

    async def head(self, run_id: str) -> Snapshot:
        """As `load`, without lists that have rows of their own, however long these are.

        A frame's state lacks their keys; `Frame.refs` has them, with their lengths, and `elements` reads them.

        Args:
            run_id: The run.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was written.
        """
        ...

    async def head_with(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> tuple[Snapshot, Page[bytes]]:
        """`head`, and right after it a page of one list, as `elements` reads it: one read for whoever follows a run.

        The page may have elements that were added since the head was read; it is empty if there is no such list.

        Args:
            run_id: The run.
            path: Path of the frame.
            key: Key of the list in its state.
            after: How many elements to leave out, or `Page.next` of the page before.
            limit: At most so many.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was written.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Save one change of a run.

        Raises:
            OwnershipLost: Somebody has claimed the run since the lease was given.
            RunNotOpen: The run has ended.
            CancelRequested: Its end was requested, and this is another commit.
            NewsFirst: It ends the run, and the store holds news that its owner has not heard of.
            StaleCheckpoint: A frame or item is not what the commit expects.
        """
        ...

    async def wait(self, lease: Lease, wait: NewWait) -> StoredWait:
        """Open a wait of a run, or open the one at this place again; its attempts are counted anew.

        Returns:
            It as it is stored: a wait for a signal that was sent before is answered already.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def park(self, lease: Lease, heard: int) -> bool:
        """Let a run rest until one of its waits ends: it is nobody's until then.

        It has got somewhere, so its attempts are counted anew.

        Args:
            lease: The right to commit to it.
            heard: How much of its news its owner has heard of.

        Returns:
            Whether it rests: not so if there is more.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def news(self, run_id: str, after: int) -> Latest:
        """What was written for a run from outside since its owner heard of it last: waits that have ended.

        Args:
            run_id: The run.
            after: How much of its news its owner has heard of: `Latest.news` of the last time.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was written.
        """
        ...

    async def reopen(self, lease: Lease, place: str, why: str) -> StoredWait:
        """Drop what has ended a wait, which nobody had checked and which does not fit: the wait is open again.

        Args:
            lease: The right to commit to the run.
            place: The step that waits.
            why: Why it was dropped, for whoever looks at the open wait.

        Returns:
            It as it is stored: answered already, if another signal for it was queued.

        Raises:
            StaleCheckpoint: Nobody's answer, signal or word about an effect has ended it.
            CheckpointError: As by `commit`.
        """
        ...

    async def migrate(self, lease: Lease, migrated: Migrated) -> None:
        """Make a run one of another version of its workflow: its frames, values and items are replaced.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """JSON of the elements of a list that has rows of its own (`Ref`), in their order.

        The elements of lists that it begins with are included. The page is empty if the frame has no such list at this
        key.

        Args:
            run_id: The run.
            path: Path of the frame.
            key: Key of the list in its state.
            after: How many elements to leave out, or `Page.next` of the page before.
            limit: At most so many.

        Raises:
            RunNotFound: There is none.
            CorruptRun: Elements are missing.
        """
        ...

    async def last_failures(self, run_id: str, *, path: str | None = None) -> int | None:
        """Where in its history a run has joined a fan-out, the last time, of which items had failed.

        Args:
            run_id: The run.
            path: Path of the fan-out; None for whichever it was.

        Returns:
            The number before that of the join; None if there was no such join, or the run keeps no history.
        """
        ...

    async def effects_below(self, run_id: str, *, at: int | None = None) -> Sequence[EffectBelow]:
        """Effects of the runs that the steps of a run have started, and of the runs below these.

        Args:
            run_id: The run.
            at: A number of its history; None for its end.
        """
        ...

    async def blob(self, digest: str) -> bytes:
        """Bytes that were stored with a run, or with a commit, under their digest.

        They are kept once, however many runs refer to them, for as long as one of these runs is stored.

        Args:
            digest: Their SHA-256 in hexadecimal digits.

        Raises:
            BlobNotFound: There are none.
        """
        ...
