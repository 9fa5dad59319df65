"""Whose runs are: the part of the protocol by which an owner gets runs, and hears of them."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from ._happening import Happening
from ._pages import Page
from ._records import Lease, Shape
from ._snapshots import RunInfo


class Owner(NamedTuple):
    """Whoever works on runs: a runner, while it is open.

    Attributes:
        id: Its number, which no other one ever gets.
        name: What it is called, for people.
        ttl: Seconds after which it is dead without another heartbeat; None: the store admits only one, and needs none.
    """

    id: int
    name: str
    ttl: float | None = None


class News(NamedTuple):
    """Something was written for a run of this owner: an answer, a signal, word of an effect, or a wait has ended.

    Attributes:
        run_id: The run.
        news: How much was written for it until now: `RunInfo.news`.
    """

    run_id: str
    news: int


class Cancelled(NamedTuple):
    """The end of a run was requested: of this owner's, or of one that nobody owns.

    Attributes:
        run_id: The run.
        news: As of `News`.
    """

    run_id: str
    news: int


class Freed(NamedTuple):
    """A run that nobody owns can go on: one of its waits has ended, or its owner has left it.

    Attributes:
        run_id: The run.
        news: As of `News`.
    """

    run_id: str
    news: int


class Lost(NamedTuple):
    """A run is no longer this owner's: somebody else has claimed it, or the owner is dead.

    Attributes:
        run_id: The run.
    """

    run_id: str


Change: TypeAlias = News | Cancelled | Freed | Lost


class Ownership(Protocol):
    """Who may go on with runs."""

    async def join(self, name: str) -> Owner:
        """Become an owner; those of whom no heartbeat has come in time are dead from now on.

        Raises:
            StoreInUse: As many as the store admits are living.
        """
        ...

    async def heartbeat(self, owner: Owner) -> bool:
        """Say that an owner lives, each quarter of its `ttl` at least; False: it is dead, and its leases are void."""
        ...

    async def probe(self) -> None:
        """See that the store takes writes: makes one that leaves everything as it is, as durably as any other.

        Raises:
            StoreError: It does not.
        """
        ...

    async def acquire(self, owner: Owner, *, after: str | None = None, limit: int = 100) -> Page[RunInfo]:
        """Running runs that no living owner has: to be claimed.

        Where only one owner is admitted this writes nothing; where several are, they are this owner's from now on, and
        where another one has died with it, that counts as an attempt.

        Args:
            owner: Who asks.
            after: Only those after this: `next` of the page before.
            limit: At most so many.

        Raises:
            OwnerExpired: The owner has missed its heartbeats.
        """
        ...

    async def claim(
        self,
        owner: Owner,
        run_id: str,
        *,
        reopen: bool = False,
        force: bool = False,
        counts: bool = True,
        shape: Shape | None = None,
        begins: Sequence[Happening] = (),
    ) -> Lease:
        """Become the owner of an open run; leases of it that were given before are void, and a parked run runs again.

        If another owner has died with it, that counts as an attempt, until a commit says that the run has got
        somewhere. All its news counts as heard: whoever claims a run loads it. The lease says how much news that is, so
        that who has loaded it before knows whether more has come.

        Args:
            owner: Who claims it.
            run_id: The run.
            reopen: Open a failed or dead run again; its failed and cancelled items wait again.
            force: Take it away from a living owner, who is told (`Lost`).
            counts: Whether it is to be executed, so that this may be an attempt; False to commit its end.
            shape: What its workflow is made of now; None leaves what is stored.
            begins: What begins by that, for the history of a run that keeps all. What the last owner has left under
                way is interrupted there and begins again, if the claim counts.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended (with `reopen`: other than by failing).
            RunOwned: Another living owner has it.
            OwnerExpired: The owner has missed its heartbeats.
        """
        ...

    def changes(self, owner: Owner) -> AsyncIterator[Change]:
        """What was written from outside: for the runs of an owner, and for those that are nobody's and running.

        By level, and so never too late: a run is told of, also to whoever asks anew, until somebody has heard of all
        its news. It may be told of again before that. It ends when the owner leaves or is dead.
        """
        ...

    async def heard(self, owner: Owner, news: Mapping[str, int]) -> None:
        """Say that an owner was told of changes: `changes` does not tell of them again.

        Args:
            owner: Who was told.
            news: For each run the `news` of what it was told.
        """
        ...

    async def block(self, owner: Owner, run_id: str, why: str | None) -> None:
        """Write down why nobody can go on with a run, for whoever looks at it or its waits; None: somebody can again.

        A claim forgets it. Nothing is done if another living owner has the run, or it has ended.
        """
        ...

    async def leave(self, owner: Owner) -> None:
        """Be an owner no longer: its runs are free at once, and no attempt is counted."""
        ...

    async def delete(self, run_id: str) -> None:
        """Forget a run that has ended, with all that is stored of it. Its id and key are free again.

        Those of a run that retention has deleted are freed, too. The runs that its steps have started (their ids begin
        with its own and a dot) go with it, if they have ended. Elements of its lists, and the bytes that these refer
        to, stay while another run refers to them that was started with such a list (`Continued`).

        Raises:
            RunNotFound: There is none.
            RunNotEnded: It is open.
        """
        ...

    async def prune(self, before: datetime, *, limit: int = 100) -> int:
        """Delete runs that ended before a time, the oldest first, at most `limit` at once; returns how many.

        A run that was started by a step of another one is not deleted before the outermost run around it is. Keys and
        ids that are to be remembered stay taken. However many there are, commits go on meanwhile.
        """
        ...

    async def prune_keys(self, before: datetime, *, limit: int = 100) -> int:
        """Free keys and ids of deleted runs that ended before a time, at most `limit` at once; returns how many."""
        ...
