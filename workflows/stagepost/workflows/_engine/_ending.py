"""The end of a fan-out: the values of its items are put together, or an error accounts for each of them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NoReturn

from pydantic_core import to_json

from stagepost.checkpoint import ItemStatus, Joined, ValueTooLarge

from .._containment import own_failure
from .._execution._items import ItemRecord
from .._execution._sizes import check_sizes
from .._pattern_errors import describe
from .._plans._plan import Done, FanOutPlace, Target
from .._values._state import Value, gathered
from ..errors import ItemAccounts, ItemFailure, ParallelError
from ._branch import Branch
from ._reasons import summary

_NULL = Value(b"null")


class Ending:
    """How one visit of a fan-out ends.

    Args:
        branch: The branch that stands at it.
        place: The fan-out.
        path: Its path from the run's root.
        visit: Which visit of it.
        items: Its items, as they stand when it ends.
    """

    def __init__(self, branch: Branch, place: FanOutPlace, path: str, visit: int, items: Sequence[ItemRecord]) -> None:
        self._branch = branch
        self._run = branch.execution
        self._place = place
        self._pattern = place.pattern
        self._path = path
        self._visit = visit
        self._items = items

    def give_up(self) -> NoReturn:
        """Account for every item."""
        failures = [ItemFailure(item.idx, item.error or "") for item in self._with(ItemStatus.FAILED)]
        error = ParallelError(
            self._pattern.name,
            summary(failures, len(self._items), branches=bool(self._place.branches)),
            failures=failures,
            accounts=self._accounts(),
            state=self._branch.shown(),
            kind=self._pattern.kind,
        )
        error.__cause__ = next((f.error for f in failures if isinstance(f.error, BaseException)), None)
        self._raise(error)

    def _accounts(self) -> ItemAccounts:
        indexes = {status: tuple(item.idx for item in self._with(status)) for status in ItemStatus}
        return ItemAccounts(
            ok=indexes[ItemStatus.OK],
            failed=indexes[ItemStatus.FAILED],
            cancelled=indexes[ItemStatus.CANCELLED],
            not_started=indexes[ItemStatus.WAITING],
        )

    async def join(self) -> None:
        """Save the values of the items that went well, and forget the items."""
        schema, values = self._branch.plan.schema, self._branch.values
        done = [Done(item.idx, item.input, item.value or _NULL) for item in self._with(ItemStatus.OK)]
        try:
            target = Target(self._pattern.name, schema.view(values), values, schema)
            updates = self._pattern.join(target, done)
            self._run.secrets.check_values(updates, self._pattern.name)
            if self._pattern.failures is not None:
                parts = list(map(_failure, self._with(ItemStatus.FAILED)))
                updates |= gathered(target.adopt({self._pattern.failures: _array(parts)}), parts)
            check_sizes(self._run.limits, self._path, updates)
        except BaseException as error:  # noqa: BLE001  # `merge` and `key` are a user's; what is no failure passes
            self._refuse(own_failure(error))
        lost = tuple(item.idx for item in self._items if item.status is not ItemStatus.OK)
        if lost:
            assert self._run.children is not None  # noqa: S101  # whoever executes a run sees to it
            await self._run.children.begun(self._run.run_id)  # or the join would not find them
        await self._branch.move(updates, self._place.after, joined=Joined(self._path, self._visit, lost))
        self._branch.frozen, self._branch.inner = None, {}

    def _refuse(self, error: BaseException) -> NoReturn:
        """Fail because the values of the items cannot become part of the state."""
        why = f"its values could not be put together: {describe(error)}"
        if isinstance(error, ValueTooLarge):
            why += "; or have merge= return less, or make the key a list that grows"
        accounts, kind = self._accounts(), self._pattern.kind
        failure = ParallelError(self._pattern.name, why, accounts=accounts, state=self._branch.shown(), kind=kind)
        failure.__cause__ = error
        self._raise(failure)

    def _raise(self, error: ParallelError) -> NoReturn:
        failure = self._branch.failure(self._place.within, error, state=error.state, own=False)
        raise failure from failure.__cause__

    def _with(self, status: ItemStatus) -> Iterator[ItemRecord]:
        return with_status(self._items, status)


def with_status(items: Iterable[ItemRecord], status: ItemStatus) -> Iterator[ItemRecord]:
    """The items that stand there."""
    return (item for item in items if item.status is status)


def _array(parts: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def _failure(item: ItemRecord) -> bytes:
    error = describe(item.error) if isinstance(item.error, BaseException) else item.error
    return b'{"index":%d,"item":%s,"error":%s}' % (item.idx, item.input.data, to_json(error))
