"""What the commits of a branch say for the history: what has ended with them, and what begins."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from stagepost.checkpoint import AttemptOutcome, Frame, Happening, HappeningKind, join_values

from .._execution._chronicle import Chronicle, frozen
from .._execution._execution import Execution
from .._ids import place_of
from .._pattern_errors import describe
from .._plans._decisions import Decisions
from .._plans._plan import ArrowPlace, FanOutPlace, FoldPlace, Place, Plan, Position, RoutePlace
from .._values._state import Values


class Standing(Protocol):
    """A branch, as far as the history is concerned: where it stands, before its commit."""

    @property
    def execution(self) -> Execution:
        """Its run."""
        ...

    @property
    def plan(self) -> Plan:
        """What it executes."""
        ...

    @property
    def place(self) -> Place | None:
        """Where it stands."""
        ...

    @property
    def position(self) -> Position:
        """The same with the visits."""
        ...

    @property
    def width(self) -> int | None:
        """How many items the fan-out there has, once they are fixed."""
        ...

    @property
    def around(self) -> tuple[int, ...]:
        """Visits of the fan-outs around it."""
        ...

    def full_path(self, path: str) -> str:
        """A place's path from the run's root."""
        ...


def chronicle_of(branch: Standing) -> Chronicle:
    """What the run of a branch says of itself, for those that know that it does."""
    chronicle = branch.execution.chronicle
    assert chronicle is not None  # noqa: S101  # as whoever asks has seen
    return chronicle


def say_moved(branch: Standing, position: Position, updates: Values | None) -> tuple[Happening, ...]:
    """A branch moves on: where it stands has ended well, and where it goes begins.

    Args:
        branch: The branch, as it stands before its commit.
        position: Where it goes.
        updates: What has changed, if no frame says that.
    """
    chronicle, place = chronicle_of(branch), _place(branch)
    value = None if updates is None else join_values({key: each.data for key, each in updates.items()})
    said = []
    if isinstance(place, FoldPlace) and _is_frozen(branch, place):
        item = item_place(branch, place, branch.position.visits.get(place.counter, 0))
        said.append(chronicle.end(item, AttemptOutcome.OK, value=value, of_frame=updates is None))
        if position.next == place.path:
            item = item_place(branch, place, position.visits.get(place.counter, 0))
            return (*said, chronicle.promise(HappeningKind.ITEM, item))
        value, has_frame = None, False
    else:
        has_frame = updates is None
    name = place_in(branch, place, branch.position)
    said.append(chronicle.end(name, AttemptOutcome.OK, kind=kind_of(place), value=value, of_frame=has_frame))
    following = None if position.next is None else branch.plan.places[position.next]
    if following is not None and not isinstance(following, ArrowPlace):
        said.append(chronicle.promise(kind_of(following), place_in(branch, following, position)))
    return tuple(said)


def say_entered(branch: Standing) -> None:
    """The fan-out where a branch stands is worked on."""
    place = place_in(branch, _place(branch), branch.position)
    chronicle_of(branch).enter(HappeningKind.FAN_OUT, place)


def say_frozen(branch: Standing, count: int, begins: int) -> tuple[Happening, ...]:
    """The items of the fan-out where a branch stands are fixed, and the first ones begin.

    Args:
        branch: The branch.
        count: How many items there are.
        begins: How many of them begin at once.
    """
    chronicle, place = chronicle_of(branch), _place(branch)
    first = [item_place(branch, place, idx) for idx in range(min(count, begins))]
    promised = [chronicle.promise(HappeningKind.ITEM, item) for item in first]
    return (frozen(place_in(branch, place, branch.position), count), *promised)


def say_decided(branch: Standing, decisions: Decisions) -> None:
    """What was decided on the way to where a branch goes."""
    chronicle, place = chronicle_of(branch), _place(branch)
    name = place_in(branch, place, branch.position)
    for path, to, asked, failed in decisions:
        said = [(None if each.label is None else chronicle.mask(each.label), each.target, each.says) for each in asked]
        target = None if to is None else branch.full_path(to)
        decided = {"path": branch.full_path(path), "to": target, "asked": said}
        chronicle.detail(name, "decisions", {**decided, "failed": True} if failed else decided)


def say_route(branch: Standing, place: RoutePlace, route: str) -> None:
    """A route was chosen among those that there are."""
    decision = {"path": branch.full_path(place.path), "route": route, "routes": list(place.ways)}
    chronicle_of(branch).detail(place_in(branch, place, branch.position), "decisions", decision)


def say_failed(branch: Standing, error: BaseException) -> None:
    """A branch has failed where it stands: the commit that says so for its run, or its item, will tell."""
    chronicle, place = chronicle_of(branch), _place(branch)
    name, why = place_in(branch, place, branch.position), describe(_own(error, place))
    if isinstance(place, FoldPlace) and _is_frozen(branch, place):
        item = item_place(branch, place, branch.position.visits.get(place.counter, 0))
        chronicle.note(chronicle.end(item, AttemptOutcome.FAILED, error=why))
    chronicle.note(chronicle.end(name, AttemptOutcome.FAILED, kind=kind_of(place), error=why))


def first_begins(plan: Plan, root: Frame, waiting: Iterable[str] = ()) -> Sequence[Happening]:
    """What begins when a run is created or claimed: the place where it stands.

    Args:
        plan: The run's workflow.
        root: Its own frame.
        waiting: Places that wait for something.
    """
    place = None if root.next is None else plan.places.get(root.next)
    if place is None or isinstance(place, ArrowPlace):
        return ()
    name = place_of(place.path, (visit_of(place, Position(root.next, root.visits)),))
    return () if name in waiting else (Happening(kind_of(place), name),)


def kind_of(place: Place) -> HappeningKind:
    """What the history calls it."""
    return HappeningKind.FAN_OUT if isinstance(place, FanOutPlace | FoldPlace) else HappeningKind.STEP


def place_in(branch: Standing, place: Place, position: Position) -> str:
    """A place with its visits."""
    return place_of(branch.full_path(place.path), (*branch.around, visit_of(place, position)))


def item_place(branch: Standing, place: Place, idx: int) -> str:
    """An item of a fan-out where a branch stands, with its visits."""
    visit = visit_of(place, branch.position)
    return place_of(f"{branch.full_path(place.path)}[{idx}]", (*branch.around, visit))


def _own(error: BaseException, place: Place) -> BaseException:
    """What a place itself has failed by: without what the patterns around it say of that."""
    is_its_own = isinstance(place, FanOutPlace | FoldPlace | ArrowPlace)  # the innermost one is the place
    for _ in place.within.levels[is_its_own:]:
        error = error.__cause__ or error
    return error


def _place(branch: Standing) -> Place:
    place = branch.place
    assert place is not None  # noqa: S101  # at its end a branch says nothing
    return place


def _is_frozen(branch: Standing, place: FoldPlace) -> bool:
    """Whether the items of a fold where a branch stands are fixed."""
    return branch.width is not None or place.counter in branch.position.visits


def visit_of(place: Place, position: Position) -> int:
    """Which visit of the enclosing node it is."""
    node = place.within.node
    return 0 if node is None else position.visits.get(node, 0)
