"""Lists of a run that begin with those of other runs: what is read of these before it is started."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from stagepost.checkpoint import PLAIN, CannotStore, CheckpointStore, Continued, ListTooShort

from .._patterns._pattern import Pattern
from .._values._append import Elements

Older: TypeAlias = Mapping[str, Elements]

_PAGE: Final = 1000


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


async def read_older(store: CheckpointStore, continued: Mapping[str, Continued]) -> Older:
    """The elements of the other runs.

    Raises:
        RunNotFound: There is no such run.
        ListTooShort: It has not so many.
    """
    return {key: Elements(await _read(store, key, wanted)) for key, wanted in continued.items()}


async def _read(store: CheckpointStore, key: str, wanted: Continued) -> list[bytes]:
    parts: list[bytes] = []
    after: str | None = "0"
    while after is not None and len(parts) < wanted.length:
        page = await store.elements(wanted.run_id, "", key, after=after, limit=min(_PAGE, wanted.length - len(parts)))
        parts += page.items
        after = page.next
    if len(parts) != wanted.length:
        raise ListTooShort(wanted.run_id, key, wanted.length, len(parts))
    if not wanted.length:
        await store.info(wanted.run_id)
    return parts


def stored_form(continued: Continued, then: bytes) -> bytes:
    """What the input of a run says of such a list.

    Args:
        continued: What it goes on with.
        then: JSON of the list of what comes after.
    """
    run_id = PLAIN.dump(continued.run_id, "continued")
    return b'{"continued":%s,"length":%d,"then":%s}' % (run_id, continued.length, then)
