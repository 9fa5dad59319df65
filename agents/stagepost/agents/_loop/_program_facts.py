"""What a program, and the model that writes it, are given: inputs, tools, turns, budgets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, get_type_hints

from stagepost.programs import (
    InvalidSignature,
    Keyword,
    Language,
    ProgramError,
    PromptFacts,
    Signature,
    Surroundings,
    ToolFacts,
    TurnNumber,
)

from .._definition._budget import Budget, Spent
from .._definition._definition import AgentDefinition
from .._definition._request import inputs_line
from .._delegation._records import Programs
from .._delegation._state import RunState
from .._models._parts import Listing
from .._output._output import output_of
from .._tools._tool import Tool

_REQUEST: Final = "request"  # the input that is the text of the request


def signature_of(agent: AgentDefinition) -> Signature | None:
    """The types of an agent's input and output; None if its output has no form in signatures."""
    output: Any = str if agent.output is None else agent.output
    try:
        return Signature.of(output, params=agent.input)
    except InvalidSignature:
        pass
    try:
        return Signature.of(output)
    except InvalidSignature:
        return None


def turn_number(budget: Budget, number: int, *, is_last: bool = False) -> TurnNumber:
    """A turn of a run.

    Args:
        budget: The budget of its agent.
        number: From 1.
        is_last: Whether no other can follow, whatever the budget says: that of the root agent is shared.
    """
    if is_last and (budget.turns is None or number < budget.turns):
        return TurnNumber(number=number, work=number)
    return TurnNumber(number=number, work=budget.turns, retries=budget.retry_turns)


def data_of(state: RunState) -> Mapping[str, Any]:
    """The inputs of programs: the fields of the request, or its text as ``data/request``."""
    fields = state.fields
    known: dict[str, Any] = {} if fields is None else fields.model_dump(mode="json", context=Listing())
    place = state.view.request
    text = getattr(state.messages[place], "text", "") if place < len(state.messages) else ""
    return known if fields is not None and text == inputs_line(fields) else {_REQUEST: text, **known}


def surroundings(language: Language, state: RunState, depth: int, budget: Budget) -> Surroundings:
    """What a program sees beside inputs and memory.

    Args:
        language: Its language.
        state: The state of its run.
        depth: How many agents are above its own.
        budget: The budget of its agent.
    """
    program = state.program
    known = state.programs(program.agent)
    results = language.load({str(index): value for index, value in enumerate(known.results)})
    journal = language.load(known.journal) if language.keeps_tasks else None
    turn = turn_number(budget, state.spent.turns, is_last=program.is_last)
    return Surroundings(
        results=list(results.values()),
        journal=journal,
        budget=_remaining(turn, state.total, depth),
        clock=lambda: program.at,
    )


def tool_facts(tools: Iterable[Tool[..., object]]) -> Sequence[ToolFacts]:
    """Tools as models are told of them that write programs."""
    return [ToolFacts(tool.name, tool.schema.parameters, _returns(tool), tool.description) for tool in tools]


class PromptMaker:
    """Makes system prompts of an agent; what does not depend on its runs is looked at once.

    Args:
        agent: The agent.
        language: In which its programs are written.
    """

    def __init__(self, agent: AgentDefinition, language: Language) -> None:
        self._agent = agent
        self._language = language
        self._signature = signature_of(agent)
        output = None if self._signature is not None else output_of(agent.output)
        self._schema = None if output is None else output.bare_schema
        self._known: tuple[object, Sequence[ToolFacts]] = (None, ())

    def prompt(
        self,
        state: RunState,
        mission: str,
        turn: TurnNumber,
        tools: Mapping[str, Tool[..., object]],
        *,
        model: str = "",
    ) -> str:
        """The prompt of a turn.

        Args:
            state: The state of the run before it.
            mission: The agent's own prompt.
            turn: The turn.
            tools: What its program may call, by name.
            model: Name of the model.
        """
        known, language = state.programs(self._agent.name), self._language
        facts = PromptFacts(
            turn=turn,
            mission=mission,
            signature=self._signature,
            schema=self._schema,
            data=data_of(state),
            tools=self._tools(tools) if turn.has_tools else (),
            memory=language.load(state.memory(self._agent.name)),
            prints=known.prints,
            error=_error_of(known),
            journal=language.load(known.journal),
            summaries=known.summaries,
            model=model,
            messages=state.messages,
        )
        return language.system(facts)

    def _tools(self, tools: Mapping[str, Tool[..., object]]) -> Sequence[ToolFacts]:
        if self._known[0] is not tools:
            self._known = (tools, tool_facts(tools.values()))
        return self._known[1]


def _error_of(known: Programs) -> ProgramError | None:
    """Why the last program failed; None if it has not."""
    if known.error is None:
        return None
    kind, text, hint = known.error
    return ProgramError(str(kind), str(text), None, hint)


def _remaining(turn: TurnNumber, spent: Spent, depth: int) -> Mapping[str, Any]:
    """What ``(budget/remaining)`` gives."""
    work = None if turn.work is None else max(0, turn.work - turn.number)
    retries = turn.retries if turn.left is None or work else min(turn.retries, turn.left)
    tokens = {
        "input": spent.input_tokens,
        "output": spent.output_tokens,
        "total": spent.tokens,
        "cache-creation": spent.cache_writes,
        "cache-read": spent.cached_tokens,
    }
    told = {
        "turns": turn.left,
        "work-turns": work,
        "retry-turns": retries,
        "depth": _keyed({"current": depth}),
        "tokens": _keyed(tokens),
        "llm-requests": spent.turns,
    }
    return _keyed(told)


def _keyed(values: Mapping[str, Any]) -> dict[str, Any]:
    return {Keyword(name): value for name, value in values.items()}


def _returns(tool: Tool[..., object]) -> str:
    """The type of what a tool returns; empty if its function does not say."""
    try:
        hint = get_type_hints(tool.function).get("return")
        return "" if hint is None else str(Signature.of(hint))
    except (InvalidSignature, NameError, TypeError, AttributeError):
        return ""
