from collections.abc import Mapping, Sequence

import pytest

from stagepost.agents import Agent, LiteLLM, Model, ScriptedModel
from stagepost.agents._agent._inheritance import Link, resolve_model

OWN, TOOL, PARENT, RUN, FAST = (ScriptedModel([name]) for name in ("own", "tool", "parent", "run", "fast"))


def agent(name: str, model: Model | str | None = None, models: Mapping[str, Model | str] | None = None) -> Agent[str]:
    return Agent(name, prompt="", model=model, models=models or {})


@pytest.mark.parametrize(
    ("way", "run", "expected"),
    [
        ([Link(agent("root", PARENT)), Link(agent("leaf", OWN), TOOL)], RUN, OWN),
        ([Link(agent("root", PARENT)), Link(agent("leaf"), TOOL)], RUN, TOOL),
        ([Link(agent("root", PARENT)), Link(agent("leaf"))], None, PARENT),
        ([Link(agent("root")), Link(agent("leaf"))], RUN, RUN),
        ([Link(agent("root", PARENT)), Link(agent("leaf"))], RUN, RUN),
        ([Link(agent("root", PARENT)), Link(agent("leaf", OWN))], RUN, OWN),
        ([Link(agent("root", PARENT))], RUN, RUN),
        ([Link(agent("root", PARENT)), Link(agent("middle")), Link(agent("leaf"))], None, PARENT),
        ([Link(agent("root", PARENT)), Link(agent("middle"), TOOL), Link(agent("leaf"))], None, TOOL),
        ([Link(agent("root")), Link(agent("leaf"))], None, None),
        ([Link(agent("root", "fast", {"fast": FAST}))], None, FAST),
        ([Link(agent("root", None, {"fast": FAST})), Link(agent("leaf", "fast"))], None, FAST),
        ([Link(agent("root", None, {"fast": TOOL})), Link(agent("leaf", "fast", {"fast": FAST}))], None, FAST),
        ([Link(agent("root", "fast", {"fast": FAST})), Link(agent("leaf", None, {"fast": TOOL}))], None, FAST),
        ([Link(agent("root", None, {"fast": FAST})), Link(agent("leaf", None, {"fast": OWN}), "fast")], None, FAST),
        ([Link(agent("root", None, {"gpt": FAST})), Link(agent("leaf", "fast", {"fast": "gpt"}))], None, FAST),
        ([Link(agent("root", None, {"fast": FAST}))], "fast", FAST),
    ],
    ids=[
        "own before all",
        "tool before parent",
        "parent",
        "run",
        "run instead of the root's",
        "run not instead of a member's",
        "run for the root alone",
        "grandparent",
        "tool further up",
        "none anywhere",
        "own registry",
        "registry above",
        "nearest registry",
        "a parent's name means what it means there",
        "a tool's name means what it means above",
        "a name for a name further up",
        "the run's name",
    ],
)
def test_the_model_of_a_member(way: Sequence[Link], run: Model | str | None, expected: Model | None) -> None:
    assert resolve_model(way, run=run) is expected


def test_a_name_that_nobody_knows_is_one_of_litellm() -> None:
    found = resolve_model([Link(agent("root", "openai/gpt-5-mini", {"fast": FAST}))])
    assert isinstance(found, LiteLLM)
    assert found.name == "openai/gpt-5-mini"
