from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import pytest
from tests.workflows._words import NOTHING

from stagepost.checkpoint import RunInfo, RunStatus
from stagepost.workflows import Chain, DefinitionError, Graph, Parallel, Pattern, UnknownWorkflow
from stagepost.workflows._runs._registry import Registry

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
OLD, NEW = Chain("work", [NOTHING]), Chain("work", [NOTHING], version=2)


def stored(version: int) -> RunInfo:
    """A run of some version."""
    return RunInfo(
        run_id="r",
        workflow="work",
        version=version,
        status=RunStatus.RUNNING,
        key=None,
        input=b"{}",
        error=None,
        cancelling=False,
        owner=1,
        epoch=1,
        attempts=0,
        created_at=NOON,
        finished_at=None,
    )


def test_versions_stand_beside_each_other() -> None:
    registry = Registry([OLD, NEW, OLD])
    assert registry.find(stored(1)).workflow is OLD
    assert registry.find(stored(2)).workflow is NEW


def test_one_version_has_one_definition() -> None:
    with pytest.raises(DefinitionError, match="another one of version 1 is registered: raise version= or change the"):
        Registry([OLD, Chain("work", [NOTHING])])


def test_what_does_not_fit_together_is_said_when_it_is_registered() -> None:
    with pytest.raises(DefinitionError, match="it has no start"):
        Registry([Graph("g")])


def test_only_what_is_registered_can_be_started() -> None:
    registry = Registry([OLD])
    registry.check(OLD)
    for other in (NEW, Chain("work", [NOTHING])):
        with pytest.raises(DefinitionError, match=r"nobody could recover its runs: add it to workflows=, or serve\(\)"):
            registry.check(other)


def test_an_unknown_workflow_is_named() -> None:
    with pytest.raises(UnknownWorkflow, match="run 'r' belongs to workflow 'work' version 3, which this") as caught:
        Registry([OLD]).find(stored(3))
    assert (caught.value.run_id, caught.value.workflow, caught.value.version) == ("r", "work", 3)
    assert isinstance(caught.value, LookupError)


def test_a_run_belongs_to_the_next_version_that_it_can_be_migrated_to() -> None:
    def one_to_two(run: dict[str, Any]) -> dict[str, Any]:
        return run

    registry = Registry([NEW], {"work": {1: one_to_two}})
    definition = registry.find(stored(1))
    assert (definition.workflow, definition.migrations) == (NEW, (one_to_two,))
    assert registry.find(stored(2)).migrations == ()
    assert Registry([OLD, NEW], {"work": {1: one_to_two}}).find(stored(1)).workflow is OLD
    with pytest.raises(UnknownWorkflow):
        registry.find(stored(0))


def test_companions_are_known_too_wherever_they_are_said() -> None:
    leaf, worker = Chain("leaf", [NOTHING]), Chain("worker", [NOTHING], companions=[OLD])
    fan = Parallel("fan", worker, over="items")
    branch = Parallel("at-once", {"a": Chain("inside", [NOTHING], companions=[leaf])})
    registry = Registry([Chain("outer", [fan, branch])])
    registry.check(OLD)
    registry.check(leaf)
    with pytest.raises(DefinitionError, match="does not know it"):
        registry.check(worker)  # a part has no runs of its own


def test_companions_may_know_each_other() -> None:
    class Team:
        def __init__(self, name: str) -> None:
            self.others: list[Team] = []
            self.name = name

        @cached_property
        def work(self) -> Chain:
            return Chain(self.name, [NOTHING], companions=self.others)

        def as_workflow(self) -> Pattern:
            return self.work

    one, two = Team("one"), Team("two")
    one.others.append(two)
    two.others.append(one)
    registry = Registry([one])
    registry.check(one.work)
    registry.check(two.work)


def test_nothing_is_added_if_a_companion_does_not_fit() -> None:
    registry = Registry([OLD])
    work = Chain("other", [NOTHING], companions=[Chain("work", [NOTHING])])
    with pytest.raises(DefinitionError, match="another one of version 1 is registered"):
        registry.add(work)
    with pytest.raises(DefinitionError, match="does not know it"):
        registry.check(work)
