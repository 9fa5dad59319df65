"""Which arrows lead back, and in which rank each box stands."""

from collections.abc import Iterator, Mapping, Sequence

from ._values import Arc


def arcs_back(keys: Sequence[str], arcs: Sequence[Arc]) -> frozenset[int]:
    """Numbers of the arrows that lead back to a box on the way to them; without them there is no cycle."""
    out: dict[str, list[int]] = {key: [] for key in keys}
    for number, arc in enumerate(arcs):
        out[arc.source].append(number)
    back: set[int] = set()
    done: set[str] = set()
    for first in keys:
        if first not in done:
            back |= _walked(first, arcs, out, done)
    return frozenset(back)


def _walked(first: str, arcs: Sequence[Arc], out: Mapping[str, Sequence[int]], done: set[str]) -> set[int]:
    """Depth first, on a stack of its own: a chain of 500 boxes is deeper than Python likes."""
    back: set[int] = set()
    stack: list[tuple[str, Iterator[int]]] = [(first, iter(out[first]))]
    under_way = {first}
    while stack:
        key, numbers = stack[-1]
        number = next(numbers, None)
        if number is None:
            stack.pop()
            under_way.discard(key)
            done.add(key)
            continue
        target = arcs[number].target
        if target in under_way:
            back.add(number)
        elif target not in done:
            under_way.add(target)
            stack.append((target, iter(out[target])))
    return back


def ranks(keys: Sequence[str], arcs: Sequence[Arc], back: frozenset[int]) -> Mapping[str, int]:
    """The rank of each box: the longest way to it. An arrow with a label has a rank between its ends for it."""
    ahead: dict[str, list[tuple[str, int]]] = {key: [] for key in keys}
    missing = dict.fromkeys(keys, 0)
    for number, arc in enumerate(arcs):
        source, target = (arc.target, arc.source) if number in back else (arc.source, arc.target)
        if source != target:
            ahead[source].append((target, 2 if arc.label_width else 1))
            missing[target] += 1
    found = dict.fromkeys(keys, 0)
    ready = [key for key in keys if not missing[key]]
    for key in ready:  # it grows meanwhile
        for target, length in ahead[key]:
            found[target] = max(found[target], found[key] + length)
            missing[target] -= 1
            if not missing[target]:
                ready.append(target)
    return found
