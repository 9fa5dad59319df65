"""What is known of a turn when the model is told of it."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from stagepost._dataclasses import dataclass

from .._outcome import ProgramError
from .._signature._signature import Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnNumber:
    """Which turn of a run it is, and how many there are.

    Attributes:
        number: From 1.
        work: How many turns may work; None for no limit.
        retries: How many more may repair the value that is returned.
        compiles: Whether its program is kept, to be run many times on other inputs.
    """

    number: int
    work: int | None = None
    retries: int = 0
    compiles: bool = False

    @property
    def left(self) -> int | None:
        """How many turns come after this one; None for no limit."""
        return None if self.work is None else max(0, self.work + self.retries - self.number)

    @property
    def is_last_work(self) -> bool:
        """Whether it is the last turn that may work: it has no tools."""
        return self.number == self.work

    @property
    def is_retry(self) -> bool:
        """Whether it may only repair the value that is returned."""
        return self.work is not None and self.number > self.work

    @property
    def is_single(self) -> bool:
        """Whether there is one turn only, whose last value is the result."""
        return self.work == 1

    @property
    def has_tools(self) -> bool:
        """Whether its program may call tools."""
        return self.compiles or self.work is None or self.number < self.work


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """A tool, as programs call it.

    Attributes:
        name: Its name.
        parameters: JSON schema of its arguments: an object.
        returns: Its result as a type of signatures, such as ``[:map]``; empty if that is not known.
        description: What it does.
    """

    name: str
    parameters: Mapping[str, Any]
    returns: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFacts:
    """What the system prompt of a turn is made of.

    Attributes:
        turn: The turn.
        mission: What the agent is for: its own prompt.
        signature: Its inputs and its result; None if they have no form in signatures.
        schema: JSON schema of its result, if that has no form in signatures.
        data: Its inputs by name.
        tools: What its program may call, without ``return`` and ``fail``.
        memory: What earlier programs have kept.
        prints: Whether a program has printed before.
        error: Why the last program failed, if it did.
        journal: Values of tasks, as they are shown.
        summaries: What was said of steps of the plan.
        model: Name of the model.
        messages: What was said before.
    """

    turn: TurnNumber
    mission: str = ""
    signature: Signature | None = None
    schema: Mapping[str, Any] | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    tools: Sequence[ToolFacts] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    prints: bool = False
    error: ProgramError | None = None
    journal: Mapping[str, Any] = field(default_factory=dict)
    summaries: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    messages: Sequence[Any] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackFacts:
    """What there is to tell after a program.

    Attributes:
        turn: The next turn; None if there is none.
        prints: What it printed.
        stored: Names that it has defined or changed.
        error: Why it failed, if it did.
        correction: What is wrong with the value that it returned, if something is.
    """

    turn: TurnNumber | None
    prints: Sequence[str] = ()
    stored: Sequence[str] = ()
    error: ProgramError | None = None
    correction: str = ""
