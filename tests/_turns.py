"""Tables whose cases take turns between the event loops: each case is short on one of them, and long on the other."""

from collections import defaultdict
from typing import Final

import pytest

LOOPS: Final = ("asyncio", "trio")


def take_turns(items: list[pytest.Item]) -> None:
    """Mark half of the cases of what has the marker ``in_turns`` as long, on trio the other half than on asyncio."""
    tables = defaultdict[object, dict[object, list[pytest.Item]]](lambda: defaultdict(list))
    for item in items:
        if isinstance(item, pytest.Function) and item.get_closest_marker("in_turns") is not None:
            tables[item.parent, item.originalname][item.callspec.params["anyio_backend"]].append(item)
    for table in tables.values():
        assert len(table[LOOPS[0]]) == len(table[LOOPS[1]]), "in_turns is for tables that run on both loops"
        for loop, cases in table.items():
            for number, case in enumerate(cases):
                if turn(number) != loop:
                    case.add_marker(pytest.mark.long)


def turn(number: int) -> str:
    """The loop of the n-th case. Not every second case, or the inner one of two parameters might meet one loop only."""
    return LOOPS[number.bit_count() % 2]
