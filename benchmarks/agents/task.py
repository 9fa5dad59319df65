"""What the sides do: call a tool five times, one call after the other, and answer. A crowd's model calls it once."""

import json
from collections.abc import Mapping, Sequence
from typing import Final

CALLS: Final = 5
TURNS: Final = CALLS + 1
PROMPT: Final = "You add numbers with your tool, and say what comes out."
REQUEST: Final = "What is one and two and three and four and five and six?"
SPOKEN: Final[Sequence[Mapping[str, str]]] = (
    {"role": "system", "content": PROMPT},
    {"role": "user", "content": REQUEST},
)
ANSWER: Final = "It is twenty-one."
ARGUMENTS: Final[Sequence[str]] = tuple(json.dumps({"a": n, "b": n + 1}) for n in range(CALLS))


async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call_id(turn: int) -> str:
    """The id of a turn's call."""
    return f"call-{turn}"


def check(answer: object) -> None:
    """See that a side has done it.

    Raises:
        ValueError: It has answered something else.
    """
    if answer != ANSWER:
        raise ValueError(f"the answer is {answer!r}")
