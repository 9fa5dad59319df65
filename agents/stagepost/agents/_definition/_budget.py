"""How much a run may use, and how much it has used."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from .._models._messages import Usage
from ..errors import BudgetExceeded


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has used so far: part of its state, as plain JSON, so that a crash resets nothing.

    Attributes:
        turns: Answers of the model.
        tool_calls: Calls that it has asked for.
        input_tokens: Tokens that models have read.
        output_tokens: Tokens that they have written.
    """

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @classmethod
    def read(cls, stored: Mapping[str, int]) -> Self:
        """What `stored` has made."""
        return cls(**stored)

    def stored(self) -> Mapping[str, int]:
        """Its form in the state."""
        return {
            "turns": self.turns,
            "tool_calls": self.tool_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }

    @property
    def usage(self) -> Usage:
        """Tokens."""
        return Usage(input_tokens=self.input_tokens, output_tokens=self.output_tokens)

    @property
    def tokens(self) -> int:
        """All of them."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.turns + other.turns,
            self.tool_calls + other.tool_calls,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
        )

    def after(self, usage: Usage, *, tool_calls: int) -> "Spent":
        """One turn later."""
        return Spent(
            self.turns + 1,
            self.tool_calls + tool_calls,
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
        )


@dataclass(frozen=True, slots=True)
class Budget:
    """How much one run of an agent may use. None means no limit.

    Mistakes of the model (arguments or answers that do not fit, tools that do not exist) cost turns. On the last turn
    the model is told to answer and is given no tools.

    Attributes:
        turns: How often the model is asked.
        tool_calls: How many tools it may call. Calls that were refused count.
        tokens: How many tokens may have been used before a further turn.
    """

    turns: int | None = 20
    tool_calls: int | None = 100
    tokens: int | None = None

    def __post_init__(self) -> None:
        """See that the limits can be kept.

        Raises:
            ValueError: A limit is not positive.
        """
        for name, least in (("turns", 1), ("tool_calls", 0), ("tokens", 1)):
            limit = getattr(self, name)
            if limit is not None and limit < least:
                raise ValueError(f"a budget of {limit} {name}: give at least {least}, or None for no limit")

    def is_last_turn(self, spent: Spent, *, keep: int = 0) -> bool:
        """Whether the turn that comes next is the last one, if some are kept for others."""
        return self.turns is not None and spent.turns + 1 + keep >= self.turns

    def check_turn(self, agent: str, spent: Spent, *, keep: int = 0) -> None:
        """See that there may be another turn, if some are kept for others.

        Raises:
            BudgetExceeded: There may not.
        """
        if self.turns is not None and spent.turns + 1 + keep > self.turns:
            raise BudgetExceeded(agent, "turns", limit=self.turns, used=spent.turns)
        if self.tokens is not None and spent.tokens + 1 > self.tokens:
            raise BudgetExceeded(agent, "tokens", limit=self.tokens, used=spent.tokens)

    def check_calls(self, agent: str, spent: Spent, *, keep: int = 0) -> None:
        """See that the calls that were asked for may be made, and that there is a turn left to read their results.

        Raises:
            BudgetExceeded: There is not.
        """
        if self.tool_calls is not None and spent.tool_calls > self.tool_calls:
            raise BudgetExceeded(agent, "tool_calls", limit=self.tool_calls, used=spent.tool_calls)
        if self.turns is not None and spent.turns + 1 + keep > self.turns:
            raise BudgetExceeded(agent, "turns", limit=self.turns, used=spent.turns)
