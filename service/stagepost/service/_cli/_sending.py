"""What is written beside the owner of a file: answers, signals, words about effects, cancellations."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.text import Text

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import SqliteInbox, WaitKind
from stagepost.workflows import Inbox, PendingWait

from .._wire._done import Done
from ._access import beside, owner_of
from ._definitions import load
from ._errors import NotFound, UsageError, misuse
from ._exits import Exit
from ._given import Given
from ._screen import Screen
from ._styles import DIM, GOOD, plain


@dataclass(frozen=True, slots=True)
class Sender:
    """What all that is sent has.

    Attributes:
        file: The store's file.
        app: What gives the workflows that values are checked against; None: the owner checks them.
    """

    file: Path | None
    app: str | None = None

    def inbox(self, store: SqliteInbox) -> Inbox:
        """Where it is sent to."""
        return Inbox(store) if self.app is None else load(self.app, "check it").inbox(store, self.file)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is said to a call of an agent that needs approval.

    Attributes:
        allow: It may be made.
        deny: Why not; None if that is not what is said.
    """

    allow: bool = False
    deny: str | None = None

    def value(self, given: Given) -> Any:
        """It as an answer, or the value that was given instead.

        Raises:
            UsageError: Not exactly one of them was given.
        """
        if (given.text is not None) + self.allow + (self.deny is not None) != 1:
            raise UsageError("give one of these: a value, --allow, --deny REASON")
        if self.allow:
            return {"kind": "allow"}
        return given.read() if self.deny is None else {"kind": "deny", "reason": self.deny}


async def answered(
    sender: Sender, wait: str, screen: Screen, *, given: Given, verdict: Verdict, by: str | None
) -> Exit:
    """Answer a wait, or the only one that a run has for an answer."""
    value = verdict.value(given)
    async with beside(sender.file) as store:
        inbox = sender.inbox(store)
        waits = await inbox.waits(wait.partition("/")[0], kind=WaitKind.ANSWER)
        asked = next((each for each in waits if each.id == wait), None)
        if asked is None and "/" not in wait:
            asked = _only(waits, wait)
        wait_id = wait if asked is None else asked.id
        await inbox.answer(wait_id, value if asked is None else as_asked(asked, value), by=by)
    return _done(screen, sender.file, "answered", wait_id)


def as_asked(wait: PendingWait, value: Any) -> Any:
    """A value as whoever asks takes it: calls of an agent's external tools take it with its kind."""
    if not (isinstance(wait.shown, Mapping) and {"agent", "tool", "schema"} <= wait.shown.keys()):
        return value
    is_whole = isinstance(value, Mapping) and value.get("kind") in ("answer", "refuse", "dismiss")
    return value if is_whole else {"kind": "answer", "value": value}


async def signalled(sender: Sender, run_id: str, name: str, screen: Screen, *, given: Given, dedup: str | None) -> Exit:
    """Send a signal."""
    value = given.read()
    async with beside(sender.file) as store:
        is_new = await sender.inbox(store).signal(run_id, name, value, dedup=dedup)
    return _done(screen, sender.file, "signalled", run_id, is_new=is_new)


async def settled(
    sender: Sender, run_id: str, key: str, screen: Screen, *, given: Given, place: str | None, retry: bool
) -> Exit:
    """Say what became of an effect in doubt."""
    if (given.text is not None) is retry:
        raise UsageError(
            "give --value with what the effect returned (null for nothing), or --retry if it has not happened"
        )
    value = given.read()
    async with beside(sender.file) as store:
        with misuse():
            await sender.inbox(store).settle(run_id, key, value=value, retry=retry, place=place)
    return _done(screen, sender.file, "settled", run_id)


async def cancelled(file: Path | None, run_id: str, screen: Screen) -> Exit:
    """Request the end of a run, which its owner commits."""
    async with beside(file) as store:
        await store.cancel(run_id)
    return _done(screen, file, "cancel_requested", run_id)


def _only(waits: Sequence[PendingWait], run_id: str) -> PendingWait:
    """The wait of a run for an answer.

    Raises:
        NotFound: It waits for none.
        UsageError: It waits for several.
    """
    if not waits:
        raise NotFound(f"run {run_id!r} waits for no answer: `stagepost runs waits {run_id}` shows what it waits for")
    if len(waits) > 1:
        raise UsageError(
            f"run {run_id!r} waits for several answers, give one of {', '.join(wait.id for wait in waits)}"
        )
    return waits[0]


def _done(screen: Screen, file: Path | None, action: str, name: str, *, is_new: bool = True) -> Exit:
    """Say what was written, and who hears of it."""
    found = Done(action=action, id=name, owner=owner_of(file), is_new=is_new)
    screen.show(found, partial(_done_lines, found))
    return Exit.OK


def _done_lines(found: Done, _: Screen) -> list[Text]:
    text = Text.assemble((found.action.replace("_", " "), GOOD), " ", plain(found.id))
    hears = f"{found.owner} hears of it now" if found.owner else "nobody owns the file: its next owner hears of it"
    text.append(f": {hears}" if found.is_new else ": it was sent before, so nothing has changed", DIM)
    return [text]
