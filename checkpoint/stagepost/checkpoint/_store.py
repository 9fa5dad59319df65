"""The protocol that every checkpoint store keeps."""

from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from types import TracebackType
from typing import Protocol, Self

from ._limits import Limits
from ._pages import Page
from ._records import Commit, Lease, Migrated, NewRun, RunInfo, RunStatus, Shape, Snapshot, Version
from ._tables import Tables
from ._waiting import Due, NewWait, OpenWait, SentSignal, Wait, WaitKind
from .errors import CorruptRun, StoreError


class CheckpointStore(Tables, Protocol):
    """Keeps runs. Each method is atomic, and what returned has been saved as durably as the store promises.

    A store is an async context manager; outside of it every method raises `StoreClosed`.
    """

    @property
    def limits(self) -> Limits:
        """How large values may be. Whoever makes a commit sees to it, since it knows what to name."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def admit(self, owner: str) -> AbstractAsyncContextManager[None]:
        """Hold the store for one runner.

        Raises:
            StoreInUse: Another runner holds it.
        """
        ...

    async def failure(self) -> StoreError:
        """Wait until the store takes nothing more, for good, and say why: its disk has failed, another process owns it.

        For those who wait for what then never comes, and ask the store for nothing meanwhile. Any number of tasks may;
        when the store is left, it is `StoreClosed`.
        """
        ...

    async def create(self, run: NewRun) -> tuple[Lease | None, RunInfo]:
        """Store a new run with its first frame, once.

        Returns:
            The lease and what was stored; or no lease and the run that has this id, or this workflow and key, already.

        Raises:
            KeyRemembered: The id, or the workflow and key, are those of a run that retention has deleted.
            BlobNotFound: It refers to bytes that are not stored and that it does not bring.
            RunNotFound: One of its lists begins with that of a run that is not there.
            ListTooShort: It begins with more elements than that one has.
            LabelRefused: It has too many labels, or one that is no text.
        """
        ...

    async def claim(
        self,
        run_id: str,
        owner: str,
        *,
        reopen: bool = False,
        recovering: bool = False,
        shape: Shape | None = None,
    ) -> Lease:
        """Become the owner of an open run; the owner before is fenced from now on, and a parked run is running again.

        Args:
            run_id: The run.
            owner: Who claims it.
            reopen: Open a failed or dead run again; its failed and cancelled items wait again.
            recovering: Count this as an attempt, until a commit says that the run has got somewhere.
            shape: What its workflow is made of now; None leaves what is stored.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended (with `reopen`: other than by failing).
        """
        ...

    async def migrate(self, lease: Lease, migrated: Migrated) -> None:
        """Make a run one of another version of its workflow: its frames, values and items are replaced.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def cancel(self, run_id: str) -> None:
        """Ask for the end of an open run, for good: from now on it takes no commit but that of its end.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        ...

    async def commit(self, commit: Commit) -> None:
        """Save one change of a run.

        Raises:
            OwnershipLost: Somebody has claimed the run since the lease was given.
            RunNotOpen: The run has ended.
            CancelRequested: Its end is asked for, and this is another commit.
            StaleCheckpoint: A frame or item is not what the commit expects.
        """
        ...

    async def wait(self, lease: Lease, wait: NewWait) -> Wait:
        """Open a wait of a run, or open the one at this place again; its attempts are counted anew.

        Returns:
            It as it is stored: a wait for a signal that was sent before is answered already.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def park(self, lease: Lease, heard: int) -> bool:
        """Let a run rest until one of its waits ends; it has got somewhere, so its attempts are counted anew.

        Args:
            lease: The right to commit to it.
            heard: How many of its waits have ended, as far as its owner knows.

        Returns:
            Whether it rests: not so if more have ended.

        Raises:
            CheckpointError: As by `commit`.
        """
        ...

    async def answer(
        self, run_id: str, place: str, value: bytes, *, name: str | None = None, by: str | None = None
    ) -> None:
        """Answer a wait; a parked run is running again, and its owner's to go on with.

        Args:
            run_id: The run.
            place: The step that waits.
            value: JSON.
            name: What it has to wait for, since a step may ask one thing after the other; None for whatever it is.
            by: Who answers.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end is asked for.
            WaitNotFound: It does not wait there for an answer.
            AlreadyAnswered: Another answer came first, or the time was up; or it waits for something else by now.
        """
        ...

    async def signal(self, run_id: str, name: str, value: bytes, *, dedup: str | None = None) -> bool:
        """Send a signal: to the wait that was opened for its name first, or into the queue for the next one.

        Args:
            run_id: The run.
            name: The signal's name.
            value: JSON.
            dedup: Two signals of one name and `dedup` are one.

        Returns:
            Whether it is new.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end is asked for.
        """
        ...

    async def signals(self, run_id: str, *, after: int = 0, limit: int = 100) -> Sequence[SentSignal]:
        """Signals that were sent to a run, also those that it has received, in the order in which they were sent.

        Args:
            run_id: The run; one that is unknown was sent none.
            after: Only those behind this number: that of the last one of the page before.
            limit: At most so many.

        Raises:
            CorruptRun: One is not what was sent.
        """
        ...

    async def expire(self, now: float, limit: int = 100) -> Due:
        """End waits that are due at `now` (seconds since 1970), the longest overdue first, at most `limit`."""
        ...

    async def release(self, child: str) -> Sequence[str]:
        """End all waits for the run `child`; returns the ids of the runs that waited."""
        ...

    async def settle(self, run_id: str, place: str, key: str, value: bytes | None) -> None:
        """Say what became of an effect that its run waits for word of: done with this value, or (None) undone.

        Raises:
            RunNotFound: There is no such run.
            RunNotOpen: It has ended, or its end is asked for.
            EffectNotFound: It waits for no word of this effect.
        """
        ...

    async def waits(
        self,
        *,
        run_id: str | None = None,
        below: str | None = None,
        kind: WaitKind | None = None,
        after: str = "",
        limit: int = 100,
    ) -> Sequence[OpenWait]:
        """Open waits in the order of ``run_id/place``.

        Args:
            run_id: Only those of this run.
            below: Only those of the runs whose ids begin with this one and a dot: a step of it has started them, or a
                step of such a run.
            kind: Only waits of this kind.
            after: Only those behind this: ``run_id/place`` of the last one of the page before.
            limit: At most so many.
        """
        ...

    async def history(self, run_id: str, *, after: int = 0, limit: int = 100) -> Sequence[Version]:
        """Versions that the frames of a run had, in the order in which they were saved, if the run keeps all.

        Args:
            run_id: The run.
            after: Only those behind this number: that of the last one of the page before.
            limit: At most so many.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def elements(
        self, run_id: str, path: str, key: str, *, after: int | str = 0, limit: int = 100
    ) -> Page[bytes]:
        """JSON of elements of a list that has rows of its own (`Ref`), in their order.

        Those of lists that it begins with are included. No elements, if a frame has nothing of the kind at this key.

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

    async def blob(self, digest: str) -> bytes:
        """Bytes that were stored with a run, or with a commit, under their digest.

        They are kept once, however many runs refer to them, for as long as one of these runs is stored.

        Args:
            digest: Their SHA-256 in hexadecimal digits.

        Raises:
            BlobNotFound: There are none.
        """
        ...

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended, with all that is stored of it. Its id and key are free again.

        Those of a run that retention has deleted are freed, too. The runs that its steps have started (their ids begin
        with its own and a dot) go with it, if they have ended. Elements of its lists, and the bytes that these refer
        to, stay while another run refers to them: one that goes on with such a list (`Continued`).

        Raises:
            RunNotFound: There is none.
            RunNotEnded: It is open.
        """
        ...

    async def prune(self, before: datetime, *, limit: int = 100) -> int:
        """Delete runs that ended before a time, the oldest first, at most `limit` at once; returns how many.

        A run that was started by a step of another one is not deleted before the outermost run around it is. Keys and
        ids that are to be remembered stay taken.
        """
        ...

    async def prune_keys(self, before: datetime, *, limit: int = 100) -> int:
        """Free keys and ids of deleted runs that ended before a time, at most `limit` at once; returns how many."""
        ...

    async def load(self, run_id: str) -> Snapshot:
        """All that is stored of a run.

        Raises:
            RunNotFound: There is none.
            CorruptRun: It is not what was written.
        """
        ...

    async def info(self, run_id: str) -> RunInfo:
        """What is known of a run without its state.

        Raises:
            RunNotFound: There is none.
        """
        ...

    async def find(
        self,
        *,
        status: RunStatus | Collection[RunStatus] | None = None,
        workflow: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        after: str = "",
        limit: int = 100,
        damaged: list[CorruptRun] | None = None,
    ) -> Sequence[RunInfo]:
        """Runs in the order of their ids; those of which not even this can be read are left out.

        Args:
            status: Only those with this status, or one of these.
            workflow: Only those of this workflow.
            since: Only those that were started at this time or later.
            until: Only those that were started before this time.
            after: Only those behind this id: the last one of the page before.
            limit: At most so many.
            damaged: A list that gets what was found of those that are left out.
        """
        ...
