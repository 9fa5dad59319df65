import pytest
from tests.workflows._words import NOTHING

from stagepost.workflows import Chain, DefinitionError, Graph, UnknownWorkflow
from stagepost.workflows._registry import Registry

OLD, NEW = Chain("work", [NOTHING]), Chain("work", [NOTHING], version=2)


def test_versions_stand_beside_each_other() -> None:
    registry = Registry([OLD, NEW, OLD])
    assert registry.find("r", "work", 1) is OLD
    assert registry.find("r", "work", 2) is NEW


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
        Registry([OLD]).find("r", "work", 3)
    assert (caught.value.run_id, caught.value.workflow, caught.value.version) == ("r", "work", 3)
    assert isinstance(caught.value, LookupError)
