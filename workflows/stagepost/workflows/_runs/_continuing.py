"""Lists of a run that begin with those of other runs: what is asked of them before it is started."""

from collections.abc import Mapping
from typing import TypeAlias

from stagepost.checkpoint import PLAIN, CannotStore, Continued

from .._patterns._pattern import Pattern
from .._values._append import Elements

Older: TypeAlias = Mapping[str, Elements]


def continued_in(state: object) -> dict[str, Continued]:
    """What of the values to start with goes on with lists of other runs, by key."""
    if not isinstance(state, Mapping):
        return {}
    return {key: value for key, value in state.items() if isinstance(value, Continued)}


def check_continued(workflow: Pattern, continued: Mapping[str, Continued]) -> None:
    """See that these can be lists.

    Raises:
        CannotStore: A key is none of a list that grows.
    """
    for key in continued.keys() - workflow.plan.schema.lists:
        why = "only a list that grows can begin with that of another run: annotate it as Annotated[list[…], Append]"
        raise CannotStore(key, why)


def stored_form(continued: Continued, then: bytes) -> bytes:
    """What the input of a run says of such a list.

    Args:
        continued: What it goes on with.
        then: JSON of the list of what comes after.
    """
    run_id = PLAIN.dump(continued.run_id, "continued")
    return b'{"continued":%s,"length":%d,"then":%s}' % (run_id, continued.length, then)
