"""The items of fan-outs and folds, as the process that works on them knows them."""

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import Item, ItemStatus

from .._pattern_errors import describe
from .._values._state import Value


@dataclass(slots=True)
class ItemRecord:
    """One item of a fan-out that is under way.

    Attributes:
        idx: Position.
        input: What the worker gets.
        status: Where it stands; changed once the commit says so.
        value: What the worker made.
        error: What went wrong.
    """

    idx: int
    input: Value
    status: ItemStatus = ItemStatus.WAITING
    value: Value | None = None
    error: BaseException | str | None = None

    def stored(self, path: str, visit: int) -> Item:
        """The item as the store keeps it."""
        error = describe(self.error) if isinstance(self.error, BaseException) else self.error
        value = None if self.value is None else self.value.data
        return Item(path, visit, self.idx, self.status, self.input.data, value, error)
