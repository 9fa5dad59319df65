"""The errors of runs of agents."""

from collections.abc import Sequence
from typing import Any

from stagepost.hub import describe_error

from ._root import AgentError


class EventLoopRunning(AgentError, RuntimeError):
    """`Agent.run_sync` was called in a thread with a running event loop, which it would block.

    Attributes:
        agent: Name of the agent.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"agent {agent!r} was asked by run_sync() where an event loop runs, which would block: write "
            "`await agent.run(…)`, in a notebook too, or call run_sync() in a thread of its own",
        )
        self.agent = agent


class PromptFailed(AgentError):
    """A prompt function has raised an error, which is the cause, or returned no text.

    Attributes:
        agent: Name of the agent.
        why: What has happened.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"the prompt of agent {agent!r} has failed: {why}")
        self.agent = agent
        self.why = why


class ToolsetFailed(AgentError):
    """A toolset could not give the tools of a turn.

    Attributes:
        toolset: Its name.
        why: What happened.
    """

    def __init__(self, toolset: str, why: str) -> None:
        super().__init__(f"toolset {toolset!r} has given no tools: {why}")
        self.toolset = toolset
        self.why = why


class BudgetExceeded(AgentError):
    """A run exceeds its budget. Its progress is kept: with a larger budget it can be resumed.

    Attributes:
        agent: Name of the agent.
        budget: Which one is used up: ``"turns"``, ``"tool_calls"``, ``"tokens"`` or ``"cost"``.
        limit: The limit.
        used: How much the run has used or requested.
        told: What the model was told was wrong with its last answer; empty if nothing.
        kind: The same in a word, as failures of programs have one: such as ``"max_turns_exceeded"``.
    """

    def __init__(
        self, agent: str, budget: str, *, limit: float, used: float, told: str = "", kind: str | None = None
    ) -> None:
        what = "US dollars" if budget == "cost" else budget.replace("_", " ")
        super().__init__(
            f"agent {agent!r} needs more than its budget of {limit} {what if limit != 1 else what.removesuffix('s')} "
            f"({used:.6g} so far): raise it with budget=Budget({budget}=…), or ask for less"
            + (f"; the model was last told: {told:.200}" if told else ""),
        )
        self.agent = agent
        self.budget = budget
        self.limit = limit
        self.used = used
        self.told = told
        self.kind = kind or f"max_{budget}_exceeded"

    def after(self, told: str) -> "BudgetExceeded":
        """The same, for a model that was last told what was wrong with its answer."""
        return BudgetExceeded(self.agent, self.budget, limit=self.limit, used=self.used, told=told, kind=self.kind)


class CostUnknown(AgentError):
    """A run has a cost budget, and the price of an answer is unknown. The run's progress is kept.

    Attributes:
        agent: Name of the agent that has the budget.
        limit: The budget, in US dollars.
    """

    def __init__(self, agent: str, *, limit: float) -> None:
        super().__init__(
            f"agent {agent!r} has a budget of {limit} US dollars, and a model that was asked does not say what its "
            "answer costs: ask one whose price is known, have a hook put it into the response's usage, or limit "
            "tokens with budget=Budget(tokens=…)",
        )
        self.agent = agent
        self.limit = limit


class AgentFailed(AgentError):
    """A run in memory ended with an error that is not of this layer, such as one of its model.

    Attributes:
        agent: Name of the agent.
    """

    def __init__(self, agent: str, cause: BaseException) -> None:
        super().__init__(f"agent {agent!r} failed: {describe_error(cause)}")
        self.agent = agent


class ChainedFailure(AgentError):
    """An agent of a chain has failed, which is the cause; those after it were not asked.

    Attributes:
        chain: Name of the chain.
        agent: Name of the agent that has failed.
        upstream: The results of the agents before it, each an `AgentResult`, in order.
        skipped: Names of the agents that were not asked.
    """

    def __init__(self, chain: str, agents: Sequence[str], upstream: Sequence[Any], cause: BaseException) -> None:
        self.chain = chain
        self.agent = agents[len(upstream)]
        self.upstream = tuple(upstream)
        self.skipped = tuple(agents[len(upstream) + 1 :])
        before = ", ".join(map(repr, agents[: len(upstream)]))
        answered = f", after {before} had answered" if before else ""
        skipped = f"; not asked: {', '.join(map(repr, self.skipped))}" if self.skipped else ""
        super().__init__(
            f"agent {self.agent!r} has failed as number {len(upstream) + 1} of {len(agents)} in chain "
            f"{chain!r}{answered}{skipped}: {describe_error(cause)}"
        )


class AgentGaveUp(AgentError):
    """The model has said that it cannot do what was asked.

    Attributes:
        agent: Name of the agent.
        reason: Why, in the model's words.
        kind: Why in a word, if a program has said it, or has ended the run: such as ``"not_found"``.
    """

    def __init__(self, agent: str, reason: str, kind: str | None = None) -> None:
        super().__init__(f"agent {agent!r} has given up: {reason}{f' ({kind})' if kind else ''}")
        self.agent = agent
        self.reason = reason
        self.kind = kind


class JournalMismatch(AgentError):
    """A program that runs again makes other calls than before: the program, its inputs or its language have changed.

    Nothing was called. The run can be resumed once the program makes the same calls again.

    Attributes:
        agent: Name of the agent.
        kind: ``"journal_mismatch"``.
    """

    kind = "journal_mismatch"

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(
            f"a program of agent {agent!r} ran again against its journal, and {why}: run it with the code and the "
            "inputs that it began with (journal_mismatch)"
        )
        self.agent = agent


class NotCompilable(AgentError, ValueError):
    """An agent cannot be compiled. No model was asked.

    Attributes:
        agent: Name of the agent.
        reasons: All that forbids it, each with what to do.
    """

    def __init__(self, agent: str, reasons: Sequence[str]) -> None:
        super().__init__(f"agent {agent!r} cannot be compiled: {'; '.join(reasons)}")
        self.agent = agent
        self.reasons = tuple(reasons)


class CompileFailed(AgentError):
    """The model of an agent has written no program that passes its check.

    Attributes:
        agent: Name of the agent.
        why: What is wrong with the last program.
        source: The last program, or the answer that has none.
        turns: How often the model was asked.
    """

    def __init__(self, agent: str, why: str, source: str, turns: int) -> None:
        times = "answer of its model" if turns == 1 else f"of {turns} answers of its model"
        super().__init__(
            f"agent {agent!r} was not compiled, as the last {times} does not pass: {why}. Say more in the prompt, give "
            "a sample= that is like real inputs, or ask another model"
        )
        self.agent = agent
        self.why = why
        self.source = source
        self.turns = turns


class InvalidProgram(AgentError, ValueError):
    """A program cannot be what a compiled agent runs.

    Attributes:
        name: Name of the compiled agent.
        problems: All that is wrong with it.
    """

    def __init__(self, name: str, problems: Sequence[str]) -> None:
        super().__init__(f"the program of {name!r} cannot run: {'; '.join(problems)}")
        self.name = name
        self.problems = tuple(problems)
