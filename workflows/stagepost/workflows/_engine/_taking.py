"""The items of a fan-out or a fold, taken from the state once."""

from typing import Any

from .._containment import own_failure
from .._execution._items import ItemRecord
from .._plans._plan import Source
from .._plans._within import Within
from .._values._state import Value, stored
from ._branch import Branch


def take_items(branch: Branch, within: Within, source: Source) -> list[ItemRecord]:
    """The items that a branch's state gives, in their stored form.

    Raises:
        WorkflowError: They could not be had, or one has no stored form.
    """
    state = None
    try:
        state = branch.view()
        found = [ItemRecord(index, _stored(source, item, index)) for index, item in enumerate(source.items(state))]
        for item in found:
            branch.execution.secrets.check(item.input.data, f"{source.name}[{item.idx}]")
    except BaseException as error:  # noqa: BLE001  # `over` is a user's function; what is no failure is raised again
        failure = branch.failure(within, own_failure(error), state=state)
        raise failure from failure.__cause__
    return found


def _stored(source: Source, item: Any, index: int) -> Value:
    where, codec = f"{source.name}[{index}]", source.item_codec
    return stored(codec.convert(item, where), codec, where)
