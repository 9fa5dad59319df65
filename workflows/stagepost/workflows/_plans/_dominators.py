"""Which places every way to a place leads through."""

from collections.abc import Mapping, Sequence

from ._plan import ArrowPlace, Place, Plan, RoutePlace

END = ""  # stands for the end of a plan; no place has this path


def surely_passed(plan: Plan, place: str) -> frozenset[str]:
    """Places, arrows among them, that lie on every way from a plan's start to a place or to its `END`.

    After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
    """
    leaders = _leaders({path: _ways(found) for path, found in plan.places.items()}, plan.start)
    passed: set[str] = set()
    while place in leaders and leaders[place] != place:
        place = leaders[place]
        passed.add(place)
    return frozenset(passed)


def _ways(place: Place) -> Sequence[str]:
    if isinstance(place, ArrowPlace):
        return [target or END for _, target in place.ways]
    if isinstance(place, RoutePlace):
        return tuple(place.ways.values())
    return [place.after or END]


def _leaders(ways: Mapping[str, Sequence[str]], start: str) -> Mapping[str, str]:
    """The last place that every way to each place leads through; the start's is itself."""
    order = _order(ways, start)
    rank = {path: index for index, path in enumerate(order)}
    before: dict[str, list[str]] = {path: [] for path in order}
    for path in order:
        for target in ways.get(path, ()):
            before[target].append(path)
    leaders = {start: start}
    changed = True
    while changed:
        changed = False
        for path in order[1:]:
            first, *rest = [source for source in before[path] if source in leaders]
            for source in rest:
                first = _meet(first, source, leaders, rank)
            changed |= leaders.get(path) != first
            leaders[path] = first
    return leaders


def _meet(one: str, other: str, leaders: Mapping[str, str], rank: Mapping[str, int]) -> str:
    while one != other:
        if rank[one] < rank[other]:
            other = leaders[other]
        else:
            one = leaders[one]
    return one


def _order(ways: Mapping[str, Sequence[str]], start: str) -> list[str]:
    """All that can be reached, each place before those behind it but for ways that lead back."""
    done: list[str] = []
    seen = {start}
    ahead = [(start, iter(ways.get(start, ())))]
    while ahead:
        path, targets = ahead[-1]
        target = next((found for found in targets if found not in seen), None)
        if target is None:
            done.append(path)
            ahead.pop()
        else:
            seen.add(target)
            ahead.append((target, iter(ways.get(target, ()))))
    return done[::-1]
