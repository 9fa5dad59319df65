"""``runs answer``, ``signal``, ``settle``, ``cancel``: what is written for the owner of runs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from rich.text import Text

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import WaitKind

from .._wire._asked import verdict
from .._wire._done import Done
from .._wire._waits import WaitRow
from ._errors import NotFound, UsageError
from ._exits import Exit
from ._given import Given
from ._screen import Screen
from ._styles import DIM, GOOD, plain
from ._where import Where


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
            return verdict(None)
        return given.read() if self.deny is None else verdict(self.deny)


async def answered(where: Where, wait: str, screen: Screen, *, given: Given, said: Verdict) -> Exit:
    """Answer a wait, or the only one that a run has for an answer."""
    value = said.value(given)
    async with where.opened(screen.hint) as target:
        is_run = "/" not in wait
        wait_id = _only((await target.waits(wait, kind=WaitKind.ANSWER)).waits, wait) if is_run else wait
        done = await target.answer(wait_id, value)
    return _told(screen, done)


async def signalled(where: Where, run_id: str, name: str, screen: Screen, *, given: Given, dedup: str | None) -> Exit:
    """Send a signal."""
    value = given.read()
    async with where.opened(screen.hint) as target:
        done = await target.signal(run_id, name, value, dedup=dedup)
    return _told(screen, done)


async def settled(
    where: Where, run_id: str, key: str, screen: Screen, *, given: Given, place: str | None, retry: bool
) -> Exit:
    """Say what became of an effect in doubt."""
    if (given.text is not None) is retry:
        raise UsageError(
            "give --value with what the effect returned (null for nothing), or --retry if it has not happened"
        )
    value = given.read()
    async with where.opened(screen.hint) as target:
        done = await target.settle(run_id, key, value=value, retry=retry, place=place)
    return _told(screen, done)


async def cancelled(where: Where, run_id: str, screen: Screen) -> Exit:
    """Request the end of a run, which its owner commits."""
    async with where.opened(screen.hint) as target:
        done = await target.cancel(run_id)
    return _told(screen, done)


def _only(waits: Sequence[WaitRow], run_id: str) -> str:
    """The wait of a run for an answer.

    Raises:
        NotFound: It waits for none.
        UsageError: It waits for several.
    """
    if not waits:
        raise NotFound(f"run {run_id!r} waits for no answer: `stagepost runs waits {run_id}` shows what it waits for")
    if len(waits) > 1:
        raise UsageError(
            f"run {run_id!r} waits for several answers, give one of {', '.join(wait.wait_id for wait in waits)}"
        )
    return waits[0].wait_id


def _told(screen: Screen, done: Done) -> Exit:
    """Say what was written, and who hears of it."""
    screen.show(done, partial(_done_lines, done))
    return Exit.OK


def _done_lines(found: Done, _: Screen) -> list[Text]:
    text = Text.assemble((found.action.replace("_", " "), GOOD), " ", plain(found.id))
    hears = f"{found.owner} hears of it now" if found.owner else "nobody owns the file: its next owner hears of it"
    if not found.checked:
        run_id = found.id.partition("/")[0]
        hears += f", and drops it if it does not fit; `stagepost runs waits {run_id}` says so"
    text.append(f": {hears}" if found.is_new else ": it was sent before, so nothing has changed", DIM)
    return [text]
