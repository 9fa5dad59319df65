"""What a run waits for: it, those that its steps have started, and those that it waits for.

The ids of the waits of a run and of those below it follow each other, since theirs begin with its own and a dot or a
slash. So of each run that is waited for one range is read, in the order of all.
"""

from collections.abc import Sequence
from typing import TypedDict

from stagepost.checkpoint import Catalogue, OpenWait, Page, RunNotFound, Unreadable, WaitKind

from .._ids import below
from .._runs._registry import Registry
from ._hints import open_waits


class _Range(TypedDict, total=False):
    run_id: str
    below: str


async def page_below(
    store: Catalogue, registry: Registry, run_id: str, *, kind: WaitKind | None, after: str | None, limit: int
) -> Page[OpenWait]:
    """A page of what a run waits for, in the order of ids; where it waits for others, what those wait for instead."""
    if limit < 1:
        raise ValueError(f"limit={limit}: a page has one entry at least")
    found, damaged = list[OpenWait](), list[Unreadable]()
    following: str | None
    for root, has_others in await _awaited(store, registry, run_id):
        if after is not None and after >= f"{root}0":  # the character after the slash
            continue
        ranges: Sequence[_Range] = [{"below": root}, {"run_id": root}] if has_others else [{"run_id": root}]
        for chosen in ranges:
            following = after or ""
            while following is not None and len(found) <= limit:
                page = await store.waits(**chosen, kind=kind, after=following, limit=limit + 1 - len(found))
                found += [wait for wait in page.items if wait.wait.kind is not WaitKind.CHILD]
                damaged += page.damaged
                following = page.next
    last = found[limit - 1] if len(found) > limit else None
    following = None if last is None else f"{last.run_id}/{last.wait.place}"
    return Page(tuple(found[:limit]), following, tuple(damaged))


async def _awaited(store: Catalogue, registry: Registry, run_id: str) -> Sequence[tuple[str, bool]]:
    """A run and all others that are waited for, in the order of the ids of their waits; not those below them.

    Returns:
        Their ids, and whether their steps start others.
    """
    found, ahead = dict[str, bool](), [run_id]
    while ahead:
        root = ahead.pop()
        if any(root == each or root.startswith(below(each)) for each in found):
            continue
        try:
            found[root] = registry.starts_others(await store.info(root))
        except RunNotFound:  # it has ended and was forgotten since
            continue
        own = [wait.wait.name async for wait in open_waits(store, run_id=root, kind=WaitKind.CHILD)]
        found[root] |= any(name.startswith(below(root)) for name in own)  # which the workflow does not say
        ahead += own
        if found[root]:
            ahead += [wait.wait.name async for wait in open_waits(store, below=root, kind=WaitKind.CHILD)]
    outermost = [each for each in found if not any(each.startswith(below(other)) for other in found)]
    return [(each, found[each]) for each in sorted(outermost, key=below)]
