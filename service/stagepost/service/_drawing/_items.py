"""Places in items of fan-outs: drawn once for all items, or as those of one."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from ._marks import Standing
from ._outline import Kind, Part, Way, parts_in
from ._standings import Standings

_ITEM: Final = re.compile(r"\[(\d+)\]")


def of_item(part: Part, path: str, number: int) -> Part:
    """The worker of a fan-out as that of one item."""

    def of(text: str) -> str:
        return text.replace(f"{path}[]/", f"{path}[{number}]/", 1) if text.startswith(f"{path}[]/") else text

    return Part(
        of(part.key),
        of(part.path),
        f"item {number}" if part.path == f"{path}[]/" else part.name,
        part.kind,
        [of_item(each, path, number) for each in part.parts],
        [Way(of(way.source), of(way.target), way.label) for way in part.ways],
    )


def of_all_items(outline: Part, standings: Standings) -> Mapping[str, Sequence[Standing]]:
    """How places stand in all items, by the paths under which they are drawn once for all of them."""
    fan_outs = {part.path for part in parts_in(outline) if part.kind is Kind.EACH}
    found: dict[str, list[Standing]] = {}
    for path, standing in standings.places.items():
        if "[" in path:
            found.setdefault(_without_numbers(path, fan_outs), []).append(standing)
    return {path: every for path, every in found.items() if "[]" in path}


def _without_numbers(path: str, fan_outs: Iterable[str]) -> str:
    drawn, last = "", 0
    for match in _ITEM.finditer(path):
        drawn += path[last : match.start()]
        drawn += "[]" if drawn in fan_outs else match[0]
        last = match.end()
    return drawn + path[last:]
