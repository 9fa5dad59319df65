"""``runs resume``, ``fork``, ``retry`` and ``delete``: going on with runs, and forgetting them."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, Literal

from rich.text import Text

from stagepost._dataclasses import dataclass

from .._wire._asked import ForkRun, RetryItems
from .._wire._done import Done
from ._errors import UsageError
from ._exits import Exit
from ._following import code_of_status, tell
from ._given import Given
from ._listing import read_labels
from ._screen import Screen
from ._styles import GOOD, plain
from ._where import Where

_NUMBER: Final = re.compile("[0-9]{1,18}")  # what is longer is no number of a history


async def resumed(where: Where, run_id: str, screen: Screen) -> Exit:
    """Go on with a run until it has ended or waits."""
    async with where.opened(screen.hint) as target:
        return code_of_status(await target.resume(run_id, partial(tell, screen)))


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new run begins with.

    Attributes:
        at: A number of the other run's history, or the path of a step that has completed.
        changes: Values in the place of those of its state.
        effects: ``again`` or ``keep``: what becomes of effects that the other run has had after that point.
        failed_items: Whether only the items of a fan-out that have failed are done again; `at` is then its path.
        run_id: The new run's id.
        labels: Its labels, beside those of the other run.
    """

    at: str | None = None
    changes: Given = Given(None)
    effects: str | None = None
    failed_items: bool = False
    run_id: str | None = None
    labels: Sequence[str] = ()

    def order(self) -> ForkRun | RetryItems:
        """It, as it is ordered.

        Raises:
            UsageError: What was given does not fit together.
        """
        if self.failed_items and (self.changes.text is not None or self.effects is not None):
            raise UsageError("--failed-items goes with --at PATH only: the items that failed run again as they were")
        labels = read_labels(self.labels)
        if self.failed_items:
            return RetryItems.model_construct(path=self.at, run_id=self.run_id, labels=labels)
        at = int(self.at) if self.at is not None and _NUMBER.fullmatch(self.at) else self.at
        return ForkRun.model_construct(
            at=at, changes=self._changes(), effects=self._effects(), run_id=self.run_id, labels=labels
        )

    def _changes(self) -> Mapping[str, object] | None:
        found = self.changes.read()
        if not isinstance(found, Mapping | None):
            raise UsageError("--changes takes a JSON object: the keys of the state with their values")
        return found

    def _effects(self) -> Literal["again", "keep"] | None:
        match self.effects:
            case None | "again" | "keep":
                return self.effects
        raise UsageError(f"--effects {self.effects}: give again or keep")


async def forked(where: Where, origin: str, fork: Fork, screen: Screen) -> Exit:
    """Make a new run of another one, and go on with it until it has ended or waits."""

    def named(run_id: str) -> None:
        screen.hint(f"the new run is {run_id}")

    order = fork.order()
    async with where.opened(screen.hint) as target:
        if isinstance(order, RetryItems):
            status = await target.retry_items(origin, order, partial(tell, screen), named)
        else:
            status = await target.fork(origin, order, partial(tell, screen), named)
    return code_of_status(status)


async def deleted(where: Where, run_id: str, screen: Screen) -> Exit:
    """Delete a run that has ended."""
    async with where.opened(screen.hint) as target:
        done = await target.delete(run_id)
    screen.show(done, partial(_deleted_lines, done))
    return Exit.OK


def _deleted_lines(done: Done, _: Screen) -> list[Text]:
    return [Text.assemble(("deleted", GOOD), " ", plain(done.id))]
