"""What a program gave."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any, NamedTuple

from stagepost._dataclasses import dataclass


class Place(NamedTuple):
    """A place in the text of a program; both count from 1."""

    line: int
    column: int


class End(StrEnum):
    """How a program ended: with the value of its last form, by ``return``, by ``fail``, or with an error."""

    VALUE = "value"
    RETURN = "return"
    FAIL = "fail"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class ProgramError:
    """Why a program has no value; the same program and inputs give the same error.

    Attributes:
        kind: Such as ``type_error``; of `End.FAIL`, the reason that the program gave.
        text: What is wrong.
        place: Where, if it is known.
        hint: What to write instead, if that is known.
    """

    kind: str
    text: str
    place: Place | None = None
    hint: str | None = None

    def __str__(self) -> str:
        where = f" (line {self.place.line}, column {self.place.column})" if self.place else ""
        hint = f". Hint: {self.hint}" if self.hint else ""
        return f"{self.kind}: {self.text}{where}{hint}"


@dataclass(frozen=True, slots=True)
class ProgramCall:
    """A call of a tool by a program.

    Attributes:
        name: Of the tool.
        arguments: By name.
        result: What it gave, as the program got it.
        error: Why it failed, if it did.
        branch: The number of the parallel branch, and of the branch in it, from 1; empty outside of branches.
    """

    name: str
    arguments: Mapping[str, Any]
    result: Any = None
    error: str | None = None
    branch: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program gave, and what it did.

    Attributes:
        value: Of the last form, or of ``return``; None if it failed. Lists, dictionaries, frozen sets, texts,
            numbers and `Keyword`; `show` prints it, `plain` makes JSON of it.
        prints: What ``println`` printed, by call.
        memory: What ``def`` has kept, for the next program; unchanged if this one failed.
        calls: Of tools, in order, those of parallel branches in the order of the branches.
        error: Why there is no value.
        end: How it ended.
        journal: Values of tasks.
        summaries: What ``step-done`` said, by step.
    """

    value: Any
    prints: tuple[str, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    calls: tuple[ProgramCall, ...] = ()
    error: ProgramError | None = None
    end: End = End.VALUE
    journal: Mapping[str, Any] = field(default_factory=dict)
    summaries: Mapping[str, str] = field(default_factory=dict)
