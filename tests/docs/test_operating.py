"""docs/operating.md: the errors, events and metrics that its tables name exist where the page says."""

import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest

from stagepost import checkpoint, workflows
from stagepost.agents import errors as of_agents
from stagepost.checkpoint import errors as of_checkpoint
from stagepost.hub import AgentMetrics, HubMetrics
from stagepost.workflows import errors as of_workflows

TEXT = (Path(__file__).parents[2] / "docs" / "operating.md").read_text()
WATCHED = TEXT.partition("\n## What to watch\n")[2].partition("\n## ")[0]
STORES, _, RUNS = TEXT.partition("\n## Troubleshooting\n")[2].partition("\nRuns (`")
NAME = re.compile(r"`([A-Z]\w+)`")
LAYERS = {
    "stagepost.checkpoint": of_checkpoint,
    "stagepost.workflows": of_workflows,
    "stagepost.agents": of_agents,
}


def named(table: str, layer: str) -> Iterator[tuple[str, str]]:
    """The errors of the first column, each with the layer that its row names, or the table's."""
    for cell in re.findall(r"^\| (`[^|]+) \|", table, re.MULTILINE):
        where = re.search(r"\(`(stagepost\.\w+)`\)", cell)
        for name in NAME.findall(cell):
            yield where[1] if where else layer, name


ERRORS = [*named(STORES, "stagepost.checkpoint"), *named(RUNS, "stagepost.workflows")]


@pytest.mark.parametrize(("layer", "name"), ERRORS, ids=[name for _, name in ERRORS])
def test_an_error_that_is_named_exists_where_the_page_says(layer: str, name: str) -> None:
    assert issubclass(getattr(LAYERS[layer], name), Exception)


def test_an_error_is_named_once() -> None:
    names = [name for _, name in ERRORS]
    assert len(names) > 30
    assert sorted(set(names)) == sorted(names)


def test_all_errors_of_a_store_as_a_whole_are_named_but_those_of_its_code() -> None:
    errors = {name for name in of_checkpoint.__all__ if issubclass(getattr(of_checkpoint, name), checkpoint.StoreError)}
    of_code = {"StoreError", "StoreClosed", "BackendNotSupported"}  # the root, and what a program does wrong each time
    assert errors - of_code <= {name for _, name in ERRORS}


def test_the_events_and_metrics_to_watch_exist() -> None:
    events = [
        name for row in re.findall(r"^\| the events? ([^|]*)\|", WATCHED, re.MULTILINE) for name in NAME.findall(row)
    ]
    assert events
    assert all(issubclass(getattr(workflows, name), workflows.RunEvent) for name in events)
    (row,) = re.findall(r"^\| `hub\.metrics\(\)`: ([^|]*)", WATCHED, re.MULTILINE)
    of_hub, _, of_agent = row.partition("for each agent")
    assert set(re.findall(r"`(\w+)`", of_hub)) <= {field.name for field in fields(HubMetrics)}
    assert set(re.findall(r"`(\w+)`", of_agent)) <= {field.name for field in fields(AgentMetrics)}
