"""Which agents cannot be compiled, and why."""

from collections.abc import Iterator, Mapping, Sequence

from stagepost.programs import Signature

from .._definition._definition import AgentDefinition, toolsets_of
from .._delegation._delegate_tool import DelegateTool
from .._delegation._handoff import Handoff
from .._loop._program_facts import signature_of
from .._tools._tool import Tool
from ._standing import StandIn, has_effects


def refusals(agent: AgentDefinition, signature: Signature | None, stand_ins: Mapping[str, StandIn]) -> Sequence[str]:
    """Why an agent cannot be compiled; all reasons, each with all names.

    Args:
        agent: The agent.
        signature: What goes in and comes out, if it is not that of the agent.
        stand_ins: What is called instead of tools while the program is checked.
    """
    return [*_of_answers(agent, signature), *_of_tools(agent), *_of_effects(agent, stand_ins)]


def asking_tools(tools: Sequence[Tool[..., object]]) -> Sequence[str]:
    """Names of tools that ask a model."""
    return [tool.name for tool in tools if isinstance(tool, DelegateTool | Handoff)]


def _of_answers(agent: AgentDefinition, signature: Signature | None) -> Iterator[str]:
    if agent.programs is None:
        yield "its answers are no programs: give it programs=PtcLisp()"
    if agent.budget.turns != 1:
        yield f"it has {_turns(agent.budget.turns)}, and one program is compiled: give it budget=Budget(turns=1)"
    if not isinstance(agent.prompt, str):
        yield "its prompt is a function of each run, and the program is written before all of them: give it a text"
    if signature is None and signature_of(agent) is None:
        yield "its output has no form in signatures: give signature="
    if agent.input is not None and signature is not None:
        given, own = {field.name for field in signature.params}, set(agent.input.model_fields)
        if given != own:
            yield f"signature= takes {_listed(sorted(given))}, and its input {_listed(sorted(own))}: leave one out"


def _of_tools(agent: AgentDefinition) -> Iterator[str]:
    below = [each if isinstance(each, str) else each.name for each in agent.sub_agents]
    asking = [*asking_tools(agent.tools), *below]
    if asking:
        yield f"{_listed(asking)}: prompts and agents ask a model, which a compiled program must not; leave them out"
    others = [*(server.name for server in agent.servers), *(each.name or repr(each) for each in toolsets_of(agent))]
    if others:
        yield f"{_listed(others)}: which tools servers and toolsets have is known in a run only; give the tools as such"


def _of_effects(agent: AgentDefinition, stand_ins: Mapping[str, StandIn]) -> Iterator[str]:
    names = [tool.name for tool in agent.tools]
    asking = asking_tools(agent.tools)
    acting = [t.name for t in agent.tools if has_effects(t) and t.name not in asking and t.name not in stand_ins]
    if acting:
        yield (
            f"{_listed(acting)}: the program is checked on a sample, which must not have effects: give stand_ins=, a "
            "function for each of them, or make them idempotent=True"
        )
    unknown = [name for name in stand_ins if name not in names]
    if unknown:
        yield f"{_listed(unknown)} of stand_ins= are none of its tools: {_listed(names)}"


def _turns(turns: int | None) -> str:
    return "any number of turns" if turns is None else f"{turns} turns"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "nothing"
