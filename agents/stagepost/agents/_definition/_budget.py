"""Budgets of runs, and what they have used."""

from collections.abc import Mapping
from math import inf
from typing import Any, Final, Self

from pydantic import ConfigDict, with_config
from pydantic_core import to_json

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import TypedCodec

from .._models._messages import Usage
from ..errors import BudgetExceeded, CostUnknown

_SELDOM: Final = ("cached_tokens", "cache_writes", "reasoning_tokens")  # left out of the state while they are 0


@dataclass(slots=True)
class Spent:
    """What a run has used so far. It is part of the state, as plain JSON, so that a crash resets nothing.

    It is never changed. It is not a frozen dataclass, since each turn makes one, and that would take twice as long.

    Attributes:
        turns: Answers of the model.
        tool_calls: Calls that it has asked for.
        input_tokens: Tokens that models have read.
        output_tokens: Tokens that they have written.
        cached_tokens: Input tokens that came from a provider's cache.
        cache_writes: Input tokens that were written to a provider's cache.
        reasoning_tokens: Output tokens that are thinking.
        cost: US dollars; None if nothing was used, or a price is unknown.
    """

    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_writes: int = 0
    reasoning_tokens: int = 0
    cost: float | None = None

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Self:
        """What `stored` has made."""
        return cls(**stored)

    def stored(self) -> Mapping[str, float]:
        """Its form in the state."""
        stored: dict[str, float] = {
            "turns": self.turns,
            "tool_calls": self.tool_calls,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
        }
        if self.cached_tokens or self.cache_writes or self.reasoning_tokens:
            stored.update((name, value) for name in _SELDOM if (value := getattr(self, name)))
        if self.cost is not None:
            stored["cost"] = self.cost
        return stored

    @property
    def usage(self) -> Usage:
        """Tokens and cost."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cost=self.cost,
            cached_tokens=self.cached_tokens,
            cache_writes=self.cache_writes,
            reasoning_tokens=self.reasoning_tokens,
        )

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
            self.cached_tokens + other.cached_tokens,
            self.cache_writes + other.cache_writes,
            self.reasoning_tokens + other.reasoning_tokens,
            _cost(self, other),
        )

    def beside(self, usage: Usage) -> "Spent":
        """The value after an answer that is no turn, such as a summary."""
        return self.after(usage, tool_calls=0, turns=0)

    def after(self, usage: Usage, *, tool_calls: int, turns: int = 1) -> "Spent":
        """The value after one more turn. Impossible counts are taken as 0, impossible costs as unknown."""
        if not _is_sound(usage):
            usage = _repaired(usage)
        return Spent(
            self.turns + turns,
            self.tool_calls + tool_calls,
            self.input_tokens + usage.input_tokens,
            self.output_tokens + usage.output_tokens,
            self.cached_tokens + usage.cached_tokens,
            self.cache_writes + usage.cache_writes,
            self.reasoning_tokens + usage.reasoning_tokens,
            _cost(self, usage),
        )


def _is_sound(usage: Usage) -> bool:
    counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens, usage.cache_writes, usage.reasoning_tokens)
    return min(counts) >= 0 and (usage.cost is None or 0 <= usage.cost < inf)  # which NaN is not


def _repaired(usage: Usage) -> Usage:
    return Usage(
        input_tokens=max(0, usage.input_tokens),
        output_tokens=max(0, usage.output_tokens),
        cost=usage.cost if usage.cost is not None and 0 <= usage.cost < inf else None,
        cached_tokens=max(0, usage.cached_tokens),
        cache_writes=max(0, usage.cache_writes),
        reasoning_tokens=max(0, usage.reasoning_tokens),
    )


def _cost(one: Spent, other: Spent | Usage) -> float | None:
    """The sum of both costs, if both are known. Usage without tokens and cost has cost nothing."""
    if one.cost is not None and other.cost is not None:
        return one.cost + other.cost
    if one.cost is not None:
        return None if other.tokens else one.cost
    return other.cost if other.cost is None or not one.tokens else None


class SpentCodec(TypedCodec[Spent]):
    """Saves what was used; each turn does, so pydantic is not asked which fields are left out."""

    def __init__(self) -> None:
        super().__init__(Spent, immutable=True, verify=False)  # numbers of our own

    def dump(self, value: Spent, where: str, context: object = None) -> bytes:  # noqa: ARG002  # the base's signature
        return to_json(value.stored())


@with_config(ConfigDict(extra="forbid"))  # a mistyped name in data is an error
@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of one run of an agent. None means no limit.

    Mistakes of the model (arguments or answers that do not fit, tools that do not exist) cost turns. On the last turn
    the model is told to answer and gets no tools.

    Attributes:
        turns: How often the model may be asked.
        retry_turns: How many more turns an agent with programs has to repair the value that it returns.
        tool_calls: How many tool calls it may make. Refused calls count.
        tokens: The most tokens used before another turn is allowed.
        cost: The most US dollars spent before another turn is allowed.
    """

    turns: int | None = 20
    tool_calls: int | None = 100
    tokens: int | None = None
    cost: float | None = None
    retry_turns: int = 0

    def __post_init__(self) -> None:
        """Check the limits.

        Raises:
            ValueError: A limit is not a positive number.
        """
        for name, least in (("turns", 1), ("tool_calls", 0), ("tokens", 1), ("retry_turns", 0)):
            limit = getattr(self, name)
            if name == "retry_turns" and limit is None:
                raise ValueError("a budget of None retry_turns: give a whole number, 0 for none")
            if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < least):
                raise ValueError(
                    f"a budget of {limit!r} {name}: give a whole number of at least {least}, or None for no limit"
                )
        if self.cost is not None and not _is_amount(self.cost):
            raise ValueError(f"a budget of cost={self.cost!r}: give US dollars, more than 0, or None for no limit")

    @property
    def all_turns(self) -> int | None:
        """How often the model may be asked, with the turns that repair values."""
        return None if self.turns is None else self.turns + self.retry_turns

    def is_last_turn(self, spent: Spent, *, keep: int = 0) -> bool:
        """Whether the next turn is the last one, with some reserved for others."""
        return self.turns is not None and spent.turns + 1 + keep >= self.turns + self.retry_turns

    def check_turn(self, agent: str, spent: Spent, *, keep: int = 0) -> None:
        """Check that there may be another turn, with some reserved for others.

        Raises:
            BudgetExceeded: There may not.
            CostUnknown: The cost is limited, and not known.
        """
        self._check_turns(agent, spent, keep)
        if self.tokens is not None and spent.tokens + 1 > self.tokens:
            raise BudgetExceeded(agent, "tokens", limit=self.tokens, used=spent.tokens)
        if self.cost is not None:
            self._check_cost(agent, spent, self.cost)

    def check_calls(self, agent: str, spent: Spent, *, keep: int = 0) -> None:
        """Check that the requested calls may be made, and that a turn is left to read their results.

        Raises:
            BudgetExceeded: There is not.
        """
        if self.tool_calls is not None and spent.tool_calls > self.tool_calls:
            raise BudgetExceeded(agent, "tool_calls", limit=self.tool_calls, used=spent.tool_calls)
        self._check_turns(agent, spent, keep)

    def _check_turns(self, agent: str, spent: Spent, keep: int) -> None:
        limit = self.all_turns
        if limit is not None and spent.turns + 1 + keep > limit:
            kind = "turn_budget_exhausted" if keep else "budget_exhausted" if self.retry_turns else None
            raise BudgetExceeded(agent, "turns", limit=limit, used=spent.turns, kind=kind)

    def _check_cost(self, agent: str, spent: Spent, limit: float) -> None:
        if spent.cost is None and spent.tokens:
            raise CostUnknown(agent, limit=limit)
        if spent.cost is not None and spent.cost >= limit:
            raise BudgetExceeded(agent, "cost", limit=limit, used=spent.cost)


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < inf
