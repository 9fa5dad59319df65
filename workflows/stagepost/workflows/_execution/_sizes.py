"""The sizes of values, seen to before they are committed."""

from collections.abc import Iterator, Mapping

from stagepost.checkpoint import Limits, NewRun

from .._events import LargeValue
from .._values._append import Elements
from .._values._state import GatheredValue, Stored, Values, weigh
from ._execution import Execution


def measure(execution: Execution, path: str, updates: Values) -> None:
    """See that what a step changes is not too large, and tell observers of what is large.

    Raises:
        ValueTooLarge: It is.
    """
    for name, size in _sizes(updates):
        if execution.limits.mind(size):
            note_size(execution, path, name, size)


def check_sizes(limits: Limits, path: str, updates: Values) -> None:
    """The same without telling anybody.

    Raises:
        ValueTooLarge: It is.
    """
    if weigh(updates.values())[0] > limits.least:
        for name, size in _sizes(updates):
            limits.check(size, f"{name} of {path!r}")


def note_size(execution: Execution, path: str, name: str, size: int) -> None:
    """As `measure` for one value."""
    if execution.limits.check(size, f"{name} of {path!r}"):
        execution.emit(LargeValue, path=path, name=name, size=size)


def check_input(limits: Limits, new: NewRun) -> None:
    """See that what a run starts with is not too large.

    Raises:
        ValueTooLarge: It is.
    """
    if not limits.mind(len(new.input)):
        return
    lists = {ref.number: key for key, ref in new.root.refs.items() if ref.length is not None}
    sizes = {key: len(data) for key, data in new.root.state.items() if key not in lists.values()}
    sizes |= {f"{lists[row.number]}[{row.idx}]": len(row.value) for row in new.values if row.number in lists}
    for name, size in sizes.items():
        limits.check(size, f"{name} of the input of {new.workflow!r}")


def _sizes(values: Mapping[str, Stored]) -> Iterator[tuple[str, int]]:
    for key, value in values.items():
        if isinstance(value, GatheredValue):  # its parts were seen to when items ended
            continue
        if isinstance(value, Elements):
            yield from ((f"{key}[+{number}]", len(part)) for number, part in enumerate(value.parts))
        else:
            yield key, len(value.data)
