"""The engine: takes a branch from place to place, saving each result before the next place is entered."""

from collections.abc import Awaitable, Callable, Mapping
from time import perf_counter
from typing import Any

from stagepost.checkpoint import CancelRequested, NewsFirst
from stagepost.hub import Hub

from .._containment import own_failure
from .._events import RouteTaken, RunEnded, RunStarted, StepEnded, StepStarted
from .._execution._execution import Execution
from .._execution._signals import Parked
from .._plans._plan import ArrowPlace, FanOutPlace, FoldPlace, Place, Plan, RoutePlace, StepPlace
from .._values._unawaited import refuse_unawaited
from ..errors import HubRequired, RunCancelled, WorkflowError
from ._branch import Branch
from ._fan_out import FanOut
from ._folding import fold_on
from ._intermediates import keep
from ._performing import perform
from ._results import check_unchanged, explained
from ._saving import tell_begun
from ._saying import say_failed, say_route
from ._story import Story


def check_hub(name: str, plan: Plan, hub: Hub | None) -> None:
    """See that steps that ask agents have a hub.

    Raises:
        HubRequired: They do not.
    """
    if plan.asks and hub is None:
        raise HubRequired(name, min(plan.asks))


async def observed(execution: Execution, branch: Branch, *, recovered: bool) -> None:
    """Advance the run's root branch to its end, with the events of its beginning and end."""
    started = perf_counter()
    if execution.intermediates is not None and not execution.intermediates:
        keep(branch, "")
    if execution.room is not None and not recovered:
        tell_begun(execution.room, execution.run_id, branch.seq, branch.own, branch.position)
    execution.emit(RunStarted, recovered=recovered, trace=execution.trace)
    if execution.tracing is not None:
        execution.tracing.began()
    status, failure = "open", None
    try:
        await (_to_its_end(execution, branch) if execution.journal.is_stored else advance(branch))
        status = "completed"
    except Parked:
        status = "waiting"
        raise
    except CancelRequested:
        await execution.cancel()
        status = "cancelled"
        raise RunCancelled(execution.run_id) from None
    except WorkflowError as error:
        status, failure = "failed", error
        raise
    finally:
        execution.emit(RunEnded, status=status, seconds=perf_counter() - started)
        if execution.tracing is not None:
            execution.tracing.ended(status, failure)


async def _to_its_end(execution: Execution, branch: Branch) -> None:
    """Take a stored run to its end, and store that."""
    with execution.stored.scope:
        if branch.place is None:
            return await execution.complete()
        while True:
            news = execution.news
            try:
                return await advance(branch)
            except WorkflowError as error:
                await execution.fail(error, branch.standing)
                raise
            except Parked:
                if execution.news in (news, execution.settled_news):  # else some has come that nothing was done about
                    await execution.park()
    raise CancelRequested(execution.run_id)


async def advance(branch: Branch) -> None:
    """Take a branch to its end.

    Raises:
        WorkflowError: A step failed.
        CheckpointError: A commit failed; nothing behind it was started.
        Parked: It waits for something.
    """
    run = branch.execution
    branch.work_in(None)
    if run.journal.must_pause:
        await run.journal.pause()
    story = Story(branch) if run.is_observed else None
    if story is not None:
        story.begin()
    try:
        while (place := branch.place) is not None:
            await _ACTIONS[type(place)](branch, place)
            if story is not None:
                story.go_on()
    except WorkflowError as error:
        if run.chronicle is not None:
            say_failed(branch, error)
        if story is not None:
            story.fail()
        raise


async def _run_step(branch: Branch, place: StepPlace) -> None:
    run, path, started = branch.execution, branch.full_path(place.path), perf_counter()
    if run.is_observed:
        run.emit(StepStarted, path=path)
    state = result = None
    try:
        state = branch.view()
        context = branch.context(path, place.within)
        result = await perform(place.step, state, context, branch.guard, run)
        if run.check_states:
            check_unchanged(branch, result, state, place.step.name)
        if place.step.into is not None:
            result = {place.step.into: result}
        updates = branch.plan.schema.updates(result, branch.values, place.step.name)
        if run.secrets.has_any:
            run.secrets.check_values(updates, place.step.name)
    except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
        own = explained(own_failure(error), result, place.step.name)
        failure = branch.failure(place.within, own, state=state)
        run.emit(StepEnded, path=path, ok=False, seconds=perf_counter() - started)
        raise failure from failure.__cause__
    straight_on = bool(run.straight) and run.goes_straight_on(path)
    try:
        await branch.move(updates, place.after, straight_on=straight_on, attached=context.attached)
    except NewsFirst:
        return  # the run would end, and the step has looked for signals: it runs again, and finds what has come
    if run.intermediates is not None:
        keep(branch, path)
    if run.is_observed:
        run.emit(StepEnded, path=path, ok=True, seconds=perf_counter() - started)


async def _take_route(branch: Branch, place: RoutePlace) -> None:
    path, state = branch.full_path(place.path), None
    try:
        state = branch.view()
        context = branch.context(path, place.within)
        route = await perform(place.step, state, context, branch.guard, branch.execution)
        way, name = _way(place, route)
    except BaseException as error:  # noqa: BLE001  # what is no failure is raised again
        failure = branch.failure(place.within, own_failure(error), state=state)
        raise failure from failure.__cause__
    if branch.execution.chronicle is not None:
        say_route(branch, place, name)
    await branch.move({}, way, attached=context.attached)
    branch.execution.emit(RouteTaken, path=path, route=name)


def _way(place: RoutePlace, route: object) -> tuple[str, str]:
    if isinstance(route, str) and route in place.ways:
        return place.ways[route], str(route)
    refuse_unawaited(route, f"the route function of {place.step.name!r}")
    if place.default is not None:
        return place.ways[place.default], place.default
    hint = "" if isinstance(route, str) else ": it has to return the name of one"
    raise LookupError(f"its route function returned {route!r:.200}, and its routes are {', '.join(place.ways)}{hint}")


async def _fan_out(branch: Branch, place: FanOutPlace) -> None:
    path = branch.full_path(place.path)
    await FanOut(branch, place, advance).run()
    keep(branch, path)


async def _follow(branch: Branch, place: ArrowPlace) -> None:
    """An arrow that could not be followed when the step before it was committed."""
    await branch.move({}, place.path)


_ACTIONS: Mapping[type[Place], Callable[[Branch, Any], Awaitable[None]]] = {
    StepPlace: _run_step,
    RoutePlace: _take_route,
    FoldPlace: fold_on,
    FanOutPlace: _fan_out,
    ArrowPlace: _follow,
}
