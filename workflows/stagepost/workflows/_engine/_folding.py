"""A fold under way: its items frozen, then one commit for each.

How many are done stands among the visits of the branch's frame, under a name that no node can have. The items stay as
they were frozen, so that a commit touches the frame alone; the last one deletes them.
"""

from collections.abc import Mapping
from time import perf_counter

from stagepost.checkpoint import Joined

from .._containment import own_failure
from .._events import ChainProgress, ItemsFrozen, StepEnded, StepStarted
from .._execution._blobs import Attached
from .._execution._items import ItemRecord
from .._plans._plan import FoldPlace
from .._steps._pair import Pair
from .._values._state import Values
from ..errors import FoldError
from ._branch import Branch
from ._intermediates import keep
from ._performing import perform
from ._results import check_unchanged, explained
from ._saying import say_entered
from ._taking import take_items


async def fold_on(branch: Branch, place: FoldPlace) -> None:
    """Do the next thing at a fold: freeze its items, or apply its worker to one of them.

    Raises:
        WorkflowError: The items could not be had, or the worker failed.
        CheckpointError: A commit failed.
    """
    if branch.width is None and place.counter not in branch.position.visits:
        await _freeze(branch, place)
    else:
        await _next(branch, place)


async def _freeze(branch: Branch, place: FoldPlace) -> None:
    if branch.execution.chronicle is not None:
        say_entered(branch)
    path = branch.full_path(place.path)
    items = take_items(branch, place.within, place.source)
    if items:
        await branch.freeze(items, path, branch.visit(place.within))
        branch.execution.items[path] = items
    else:
        await branch.move({}, place.after)
    branch.execution.emit(ItemsFrozen, path=path, total=len(items), done=0)


async def _next(branch: Branch, place: FoldPlace) -> None:
    run, path = branch.execution, branch.full_path(place.path)
    items = run.items[path]
    item = items[branch.position.visits.get(place.counter, 0)]
    step_path, started = f"{path}[{item.idx}]", perf_counter()
    run.emit(StepStarted, path=step_path)
    try:
        updates, attached = await _apply(branch, place, item)
    except FoldError as error:
        run.emit(StepEnded, path=step_path, ok=False, seconds=perf_counter() - started)
        failure = branch.failure(place.within, error, state=error.state, own=False)
        raise failure from failure.__cause__
    await _save(branch, place, updates, item, total=len(items), attached=attached)
    keep(branch, step_path)
    run.emit(StepEnded, path=step_path, ok=True, seconds=perf_counter() - started)
    run.emit(ChainProgress, path=path, index=item.idx, total=len(items))


async def _apply(branch: Branch, place: FoldPlace, item: ItemRecord) -> tuple[Values, Attached | None]:
    """What the worker makes of the state for an item, and bytes that it has attached."""
    name = place.source.name
    context = branch.context(f"{branch.full_path(place.path)}[{item.idx}]", place.within)
    state = value = result = None
    try:
        state = branch.view()
        value = item.input.read(place.source.item_codec)
        result = await perform(place.step, Pair(state, value), context, branch.guard, branch.execution)
        if branch.execution.check_states:
            check_unchanged(branch, result, state, name)
        updates = branch.plan.schema.updates(result, branch.values, name)
        branch.execution.secrets.check_values(updates, name)
    except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
        failure = explained(own_failure(error), result, name)
        raise FoldError(name, item.idx, failure, item=value, state=state) from failure
    return updates, context.attached


async def _save(
    branch: Branch, place: FoldPlace, updates: Values, item: ItemRecord, *, total: int, attached: Attached | None
) -> None:
    visits: Mapping[str, int] = branch.position.visits
    if item.idx + 1 < total:
        await branch.move(updates, place.path, visits={**visits, place.counter: item.idx + 1}, attached=attached)
        return
    path = branch.full_path(place.path)
    left = {name: count for name, count in visits.items() if name != place.counter}
    await branch.move(
        updates, place.after, joined=Joined(path, branch.visit(place.within)), visits=left, attached=attached
    )
    del branch.execution.items[path]
    branch.frozen = None
