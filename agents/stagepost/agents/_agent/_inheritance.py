"""Which model an agent asks, where it has none of its own or only a name of one."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from .._context._policy import ContextPolicy
from .._context._window import summary_by
from .._definition._definition import AgentDefinition
from .._models._as_model import as_model
from .._models._model import Model
from ..errors import InvalidRequest

Models: TypeAlias = Mapping[str, Model | str]


class Link(NamedTuple):
    """One agent on the way from a root to a member of its team.

    Attributes:
        agent: The agent.
        given: The model that the tool gives it by which the agent above asks it; None if it gives none.
    """

    agent: AgentDefinition
    given: Model | str | None = None


def resolve_model(way: Sequence[Link], *, run: Model | str | None = None) -> Model | None:
    """The model that the last agent of a way asks: its own, or that of its tool, of the agent above, of the run.

    A name is looked up where it is written: in ``models=`` of that agent, then of the agents above it. What it means
    there may be a name again, which is looked up further above. A name that nobody knows is one of litellm's.

    Args:
        way: From the root to the agent, both included.
        run: What the run was given; it stands in for the root's own, as if it were written there.

    Returns:
        None if there is no model anywhere.

    Raises:
        InvalidModel: What is found is no model.
    """
    registries: list[Models] = []
    found: Model | str | None = None
    for agent, given in way:
        given_above = _meant(given, registries)
        own = agent.model if registries or run is None else run
        registries.insert(0, agent.models)
        found = _first(_meant(own, registries), given_above, found)
    return None if found is None else as_model(found)


def model_of_run(agent: AgentDefinition, model: Model | str | None, override: Model | str | None) -> Model | str | None:
    """What stands where the root's own model does, in one run; None if nothing is given.

    Args:
        agent: The agent at the root.
        model: What it asks without a model of its own.
        override: What it asks instead of it.

    Raises:
        InvalidRequest: It has a model of its own, and `model` would have no effect; or both are given.
    """
    if model is None or (agent.model is None and override is None):
        return model if override is None else override
    if agent.model is None:
        raise InvalidRequest(agent.name, "model= and override_model= are given: one of them is enough")
    raise InvalidRequest(
        agent.name,
        "it has a model of its own, which model= does not replace: leave model= out, or give override_model= where "
        "another one is to stand in for it, as in a test",
    )


def writers_of(way: Sequence[Link], policy: ContextPolicy) -> Sequence[Model | None]:
    """The models that write the summaries of each compaction of a policy; None for the model of whoever has the policy.

    Args:
        way: From the root to the agent where the policy is written, both included: a name is looked up in ``models=``
            of these, that agent's first.
        policy: The policy.
    """
    registries = [link.agent.models for link in reversed(way)]
    named = [_meant(summary_by(each).model, registries) for each in policy.compact]
    return tuple(None if model is None else as_model(model) for model in named)


def _meant(model: Model | str | None, registries: Sequence[Models]) -> Model | str | None:
    """What a model stands for, asking the nearest registry first; each is asked once, so it comes to an end."""
    for models in registries:
        if isinstance(model, str):
            model = models.get(model, model)
    return model


def _first(*models: Model | str | None) -> Model | str | None:
    return next((model for model in models if model is not None), None)
