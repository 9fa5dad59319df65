"""Which places a run has surely passed, where nobody has kept how it got to where it stands."""

from collections.abc import Mapping, Sequence
from typing import Any

_END = ""  # stands for the end of a plan; no place has this path


def surely_passed(places: Mapping[str, Mapping[str, Any]], at: str | None) -> frozenset[str]:
    """Places that every way from the start of a plan to a place leads through, without that place.

    Args:
        places: The plan, as in a skeleton.
        at: Path of the place; None for the end.
    """
    ways = {path: _targets(place) for path, place in places.items()}
    order = _order(ways, tuple(places)[-1])
    bit = {path: 1 << number for number, path in enumerate(order)}
    through = _dominators(ways, order, bit)
    goal = at or _END
    passed = through.get(goal, 0)
    return frozenset(path for path in order if path not in (goal, _END) and bit[path] & passed)


def _targets(place: Mapping[str, Any]) -> Sequence[str]:
    match place["kind"]:
        case "edge":
            return [target or _END for _, target in place["ways"]]
        case "conditional":
            return [*place["ways"].values()]
    return [place["after"] or _END]


def _order(ways: Mapping[str, Sequence[str]], start: str) -> Sequence[str]:
    """All that can be reached, each place before those after it but for ways that lead back."""
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


def _dominators(ways: Mapping[str, Sequence[str]], order: Sequence[str], bit: Mapping[str, int]) -> Mapping[str, int]:
    """For each place the set of those that every way to it leads through, itself included, as bits."""
    before: dict[str, list[str]] = {path: [] for path in order}
    for path in order:
        for target in ways.get(path, ()):
            before[target].append(path)
    every = (1 << len(order)) - 1
    through = dict.fromkeys(order, every)
    through[order[0]] = bit[order[0]]
    changed = True
    while changed:
        changed = False
        for path in order[1:]:
            found = every
            for source in before[path]:
                found &= through[source]
            found |= bit[path]
            changed |= found != through[path]
            through[path] = found
    return through
