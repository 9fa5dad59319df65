"""What an agent's definition has to be, checked where it is built."""

from collections.abc import Iterable
from typing import Final, get_args

from pydantic import BaseModel

from stagepost.hub import get_logger

from .._context._policy import ContextPolicy
from .._context._window import summary_by
from .._definition._budget import Budget
from .._definition._definition import (
    AgentDefinition,
    input_names,
    provider_tools_of,
    reachable,
    reserved,
    sub_agents_of,
    toolsets_of,
)
from .._definition._hooks import hook_problem
from .._definition._prompt import placeholders
from .._definition._prompting import prompt_problem
from .._delegation._handoff import group_of, handoffs_of
from .._delegation._messaging import message_tool
from .._loop._settings import check_settings
from .._output._fitting import Unsendable
from .._output._output import OutputMode, output_of
from .._tools._tool import Tool
from ..errors import InvalidAgent

_LANGUAGE: Final = ("find", "start", "system", "feedback", "dump", "load")
_HOOKS: Final = ("model_call", "tool_call", "tool_progress")


def check_agent(agent: AgentDefinition, kind: type[AgentDefinition]) -> None:
    """See that the parts of an agent fit together.

    Args:
        agent: The agent.
        kind: The class of agents.

    Raises:
        InvalidAgent: They do not.
    """
    check_budget(agent)
    check_context(agent)
    check_input(agent)
    check_output(agent)
    check_programs(agent)
    check_models(agent)
    check_sub_agents(agent, kind)
    check_tools(agent)
    check_settings(agent)
    check_prompt(agent)
    check_hooks(agent)
    check_approvals(agent)


def check_models(agent: AgentDefinition) -> None:
    """See that its models can be asked, and that no name leads from one place to another in the same mapping.

    Raises:
        InvalidAgent: One cannot, or does.
    """
    if agent.model is not None:
        _check_model(agent.name, "model", agent.model)
    for name, model in agent.models.items():
        _check_model(agent.name, f"models[{name!r}]", model)
        if isinstance(model, str) and model in agent.models:
            raise InvalidAgent(agent.name, f"models[{name!r}] is {model!r}, another name of models=: give the model")


def check_budget(agent: AgentDefinition) -> None:
    """See that its budget is one.

    Raises:
        InvalidAgent: It is something else.
    """
    if not isinstance(agent.budget, Budget):
        raise InvalidAgent(agent.name, f"budget={agent.budget!r} is not a Budget: give Budget(turns=…, tool_calls=…)")


def check_context(agent: AgentDefinition) -> None:
    """See that its policy for what the model sees is one, and that the models of its summaries can be asked.

    Raises:
        InvalidAgent: It is something else, or one cannot.
    """
    policy: object = agent.context
    if policy is None:
        return
    if not isinstance(policy, ContextPolicy):
        why = f"context={policy!r:.80} is not a ContextPolicy: give ContextPolicy(limit=…, result_limit=…)"
        raise InvalidAgent(agent.name, why)
    for each in policy.compact:
        model = summary_by(each).model
        if model is not None:
            _check_model(agent.name, f"the model of {type(each).__name__}", model)


def check_programs(agent: AgentDefinition) -> None:
    """See that its programs have a language, and that nothing else says how it answers.

    Raises:
        InvalidAgent: They have not, or something does.
    """
    language: object = agent.programs
    if language is None:
        if agent.budget.retry_turns:
            why = "Budget(retry_turns=…) is for agents with programs, which repair what they return: leave it out"
            raise InvalidAgent(agent.name, why)
        return
    if isinstance(language, type) or not all(callable(getattr(language, name, None)) for name in _LANGUAGE):
        raise InvalidAgent(agent.name, f"programs={language!r:.80} is not a language: give PtcLisp()")
    if agent.output_mode != "tool":
        why = f"output_mode={agent.output_mode!r} and programs=: a program returns its value, so leave output_mode out"
        raise InvalidAgent(agent.name, why)
    if provider_tools_of(agent):
        raise InvalidAgent(agent.name, "no program can call tools of its provider: leave them out, or programs=")


def check_input(agent: AgentDefinition) -> None:
    """See that its input is a pydantic model.

    Raises:
        InvalidAgent: It is something else.
    """
    given: object = agent.input
    if given is not None and not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise InvalidAgent(agent.name, f"input={given!r} is not a pydantic model: give a class, or None for plain text")


def check_output(agent: AgentDefinition) -> None:
    """See that its output is a type whose schema every provider takes, and that its mode can be kept.

    Raises:
        InvalidAgent: It is not, or cannot.
    """
    mode: object = agent.output_mode
    if mode not in get_args(OutputMode):
        raise InvalidAgent(agent.name, f"output_mode={mode!r}: give 'tool', 'native' or 'prompted'")
    try:
        output = output_of(agent.output)
    except Unsendable as error:
        raise InvalidAgent(agent.name, f"output={agent.output!r}: {error}") from error
    if output is None and mode != "tool":
        raise InvalidAgent(
            agent.name, f"output_mode={mode!r} says how output= is told, and there is none: leave it out"
        )
    if mode == "native" and (agent.sub_agents or _has_tools(agent)):
        why = (
            "output_mode='native' is for agents without tools, servers and sub-agents: beside tools, providers refuse "
            "response_format, or never call a tool. Use 'tool' or 'prompted'"
        )
        raise InvalidAgent(agent.name, why)


def check_tools(agent: AgentDefinition) -> None:
    """See that the model can tell the tools apart.

    Raises:
        InvalidAgent: Two have one name, or one has a reserved name or that of an input of programs; or agents that hand
            over do not fit together.
    """
    for handoff in handoffs_of(agent).values():
        if handoff.target_name == agent.name:
            raise InvalidAgent(agent.name, f"{handoff.name!r} hands over to the agent itself: leave it out")
    group_of(agent, is_whole=False)
    names = [tool.name for tool in agent.tools]
    provided = [tool.name for tool in provider_tools_of(agent)]
    for name in provided:
        if provided.count(name) > 1:
            raise InvalidAgent(agent.name, f"two provider tools are named {name!r}: leave one out")
    for name in names:
        if name in reserved(agent):
            raise InvalidAgent(agent.name, f"tool name {name!r} is reserved: rename the tool with @tool(name=…)")
        if name in input_names(agent):
            why = f"a tool and an input of its programs are named {name!r}: rename the tool with @tool(name=…)"
            raise InvalidAgent(agent.name, why)
        if names.count(name) > 1:
            raise InvalidAgent(agent.name, f"two tools are named {name!r}: rename one with @tool(name=…)")


def _has_tools(agent: AgentDefinition) -> bool:
    return bool(agent.tools or agent.toolsets or agent.servers)


def check_sub_agents(agent: AgentDefinition, kind: type[AgentDefinition]) -> None:
    """See that they are agents, or names of agents, and that the model can tell them apart.

    Args:
        agent: The agent.
        kind: The class of agents.

    Raises:
        InvalidAgent: One is something else, or two have one name, or one has that of the agent itself.
    """
    names = [_name_of(agent.name, each, kind) for each in agent.sub_agents]
    for name in names:
        if name == agent.name:
            raise InvalidAgent(agent.name, f"its sub-agent {name!r} has its own name: no agent can ask itself")
        if names.count(name) > 1:
            raise InvalidAgent(agent.name, f"two of its sub-agents are named {name!r}: rename one, or leave one out")


def check_prompt(agent: AgentDefinition) -> None:
    """See that every placeholder stands for a field of the input, or that a function takes what it will get.

    Raises:
        InvalidAgent: One does not, or the prompt is neither.
    """
    if isinstance(agent.prompt, str):
        _check_placeholders(agent, placeholders(agent.prompt))
        return
    if not callable(agent.prompt):
        raise InvalidAgent(
            agent.name, f"prompt={agent.prompt!r} is not a prompt: give a text, or a function that makes one"
        )
    problem = prompt_problem(agent.prompt, agent.input)
    if problem is not None:
        raise InvalidAgent(agent.name, f"its prompt does not fit: {problem}")


def check_hooks(agent: AgentDefinition) -> None:
    """See that every hook hooks into something.

    Raises:
        InvalidAgent: One does not.
    """
    for hook in agent.hooks:
        if isinstance(hook, type) or not any(callable(getattr(hook, name, None)) for name in _HOOKS):
            raise InvalidAgent(
                agent.name,
                f"hooks contains {hook!r}, which is not a hook: give objects with `async def {_HOOKS[0]}`, "
                f"`{_HOOKS[1]}` or `{_HOOKS[2]}`",
            )
        problem = hook_problem(hook)
        if problem is not None:
            raise InvalidAgent(agent.name, f"its hooks do not fit: {problem}")


def check_approvals(agent: AgentDefinition) -> None:
    """Log a warning for each rule that no tool fits, be it the agent's or one below it, if all of them are known."""
    if not agent.approvals.rules:
        return
    try:
        team = tuple(reachable(agent))
    except InvalidAgent:  # some are only names so far
        return
    if any(each.servers or toolsets_of(each) for each in team):
        return
    tools: list[Tool[..., object]] = [tool for each in team for tool in each.tools]
    tools += [message_tool(below) for each in team if (below := sub_agents_of(each))]
    for why in agent.approvals.preview(tools).warnings:
        get_logger("agents").warning("approval_rule_unused", agent=agent.name, why=why)


def _check_placeholders(agent: AgentDefinition, names: Iterable[str]) -> None:
    known = () if agent.input is None else tuple(agent.input.model_fields)
    for name in names:
        if name not in known:
            why = f"its prompt has the placeholder {{{name}}}, and {_way_out(name, agent.input)}"
            raise InvalidAgent(agent.name, why)


def _check_model(agent: str, what: str, model: object) -> None:
    named = isinstance(model, str) and bool(model)
    if isinstance(model, type) or (not named and not callable(getattr(model, "answer", None))):
        way_out = 'give a name such as "openai/gpt-5-mini", or an object with `async def answer(request)`'
        raise InvalidAgent(agent, f"{what}={model!r} is not a model: {way_out}")


def _name_of(agent: str, sub_agent: object, kind: type[AgentDefinition]) -> str:
    if isinstance(sub_agent, str):
        return sub_agent
    if not isinstance(sub_agent, kind):
        raise InvalidAgent(
            agent, f"sub_agents contains {sub_agent!r}, which is not an agent: give agents, or their names"
        )
    return sub_agent.name


def _way_out(name: str, fields: type[BaseModel] | None) -> str:
    if fields is None:
        return f"it has no input: give input=, a model with this field, or write {{{{{name}}}}} for the text itself"
    return (
        f"input={fields.__name__} has no such field (it has {', '.join(fields.model_fields)}): "
        f"correct one of them, or write {{{{{name}}}}} for the text itself"
    )
