"""What a supervisor depends on: its model, and those of its workers."""

from collections.abc import Iterator, Sequence

from stagepost.agents import Agent, AgentTool, Model

from .._http._checks import model_check
from .._http._health import HealthCheck


def model_checks(supervisor: Agent[str]) -> Sequence[HealthCheck]:
    """A check of each model of a supervisor and of the agents below it, such as ``model gpt-5-mini``.

    They are not needed: a model without a key may do without one, and a worker without its model is told of as failed.
    """
    models: dict[str, Model | str] = {}
    for agent, model in _models(supervisor):
        if not any(model is known for known in models.values()):  # one without a name has that of who asks it first
            models.setdefault(_named(model, agent), model)
    return [model_check(name, model, is_needed=False) for name, model in models.items()]


def _models(agent: Agent[object]) -> Iterator[tuple[Agent[object], Model | str]]:
    if agent.model is not None:
        yield agent, agent.model
    for tool in agent.tools:
        if isinstance(tool, AgentTool) and isinstance(tool.agent, Agent):
            yield from _models(tool.agent)


def _named(model: Model | str, agent: Agent[object]) -> str:
    name = model if isinstance(model, str) else getattr(model, "name", None)
    return f"model {name}" if name else f"model of {agent.name}"
