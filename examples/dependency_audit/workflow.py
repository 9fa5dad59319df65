"""The audit as a workflow: find, inspect each at once, judge, and write what has to be said."""

from typing import Literal

from stagepost.workflows import Ask, Chain, Conditional, Parallel, State

from .agents import Draft, Folders, Inspections, Inventory, Judgement, Judgements, Report, clean
from .models import Distribution, Finding, Inspection

NAME = "dependency-audit"


def build_workflow(*, workers: int = 4) -> Chain:
    """The workflow ``dependency-audit``.

    It starts with the keys ``folders`` (paths), ``environment`` (what the report calls them) and ``target`` (the
    report's path), and ends with the key ``report``.

    Args:
        workers: How many distributions are inspected at once.
    """
    write_up = Chain(
        "write_up",
        [
            Parallel("findings", Ask("analyst", _judged, expect=Finding), over=_judgements, workers=workers),
            count_findings,
        ],
    )
    audit = Chain(
        NAME,
        [
            Ask("inventory", _folders, expect=Inventory),
            Parallel("inspections", Ask("inspector", _distribution, expect=Inspection), over=_found, workers=workers),
            Ask("policy", _inspections, expect=Judgements),
            Conditional("verdict", verdict, {"clean": all_clean, "needs_review": write_up}),
            Ask("editor", lambda state: _draft(state, audit.mermaid()), expect=Report, into="report"),
        ],
    )
    return audit


def verdict(state: State) -> Literal["clean", "needs_review"]:
    """Whether there is anything to write about."""
    return "clean" if clean(_judgements(state)) else "needs_review"


async def all_clean(state: State) -> dict[str, object]:
    """A finding without a complaint for each distribution."""
    findings = [
        Finding(name=one.name, version=one.version, metadata_path=one.metadata_path) for one in state["inspections"]
    ]
    return {"findings": findings, "concerned": 0}


async def count_findings(state: State) -> dict[str, object]:
    """How many distributions the findings are about."""
    return {"concerned": sum(finding.severity is not None for finding in state["findings"])}


def _folders(state: State) -> Folders:
    return Folders(paths=list(state["folders"]))


def _found(state: State) -> list[Distribution]:
    inventory: Inventory = state["inventory"]
    return inventory.distributions


def _distribution(item: Distribution) -> Distribution:
    return item


def _inspections(state: State) -> Inspections:
    return Inspections(inspections=state["inspections"])


def _judgements(state: State) -> list[Judgement]:
    judgements: Judgements = state["policy"]
    return judgements.judgements


def _judged(item: Judgement) -> Judgement:
    return item


def _draft(state: State, diagram: str) -> Draft:
    return Draft(
        inspections=state["inspections"],
        findings=state["findings"],
        environment=state["environment"],
        diagram=diagram,
        target=state["target"],
    )
