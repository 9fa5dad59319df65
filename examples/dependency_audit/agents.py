"""The five agents of the audit, and what they are asked."""

import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from anyio import to_thread

from stagepost.hub import Hub

from .analysis import write_finding
from .environment import find_distributions
from .inspection import inspect
from .models import Distribution, Finding, Inspection, Value, Violation
from .policy import Policy, judge
from .report import render

Analyst: TypeAlias = Callable[..., Awaitable[Finding]]
"""Takes a `Judgement`: `analyst`, which goes by rules, or one that asks a model."""


class Folders(Value):
    """For the inventory: the folders to look into."""

    paths: list[str]


class Inventory(Value):
    """From the inventory: what is installed in them."""

    distributions: list[Distribution]


class Inspections(Value):
    """For the policy: what was found on disk."""

    inspections: list[Inspection]


class Judgement(Value):
    """One inspection and the rules that it breaks."""

    inspection: Inspection
    violations: list[Violation]


class Judgements(Value):
    """From the policy: one judgement for each inspection, in the same order."""

    judgements: list[Judgement]


class Draft(Value):
    """For the editor: everything that the report says, and where it goes."""

    inspections: list[Inspection]
    findings: list[Finding]
    environment: str
    diagram: str
    target: str


class Report(Value):
    """From the editor: where the report is."""

    path: str


async def inventory(folders: Folders) -> Inventory:
    """Find the distributions in some folders."""
    found = [await to_thread.run_sync(find_distributions, path) for path in folders.paths]
    return Inventory(distributions=[distribution for part in found for distribution in part])


class Inspector:
    """Looks at one distribution on disk.

    Args:
        log: A file that gets a line whenever an inspection begins, so that anybody can count how often each ran.
    """

    def __init__(self, log: Path | None = None) -> None:
        self._log = log

    async def __call__(self, distribution: Distribution) -> Inspection:
        """Inspect it, in a thread."""
        return await to_thread.run_sync(self._inspect, distribution)

    def _inspect(self, distribution: Distribution) -> Inspection:
        if self._log is not None:
            append_line(self._log, distribution.metadata_path)
        return inspect(distribution)


class Officer:
    """Holds inspections against the policy."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def __call__(self, asked: Inspections) -> Judgements:
        """Judge each of them."""
        judged = [Judgement(inspection=one, violations=judge(one, self._policy)) for one in asked.inspections]
        return Judgements(judgements=judged)


async def analyst(judgement: Judgement) -> Finding:
    """Write down what is wrong with one distribution, and what to do about it."""
    return write_finding(judgement.inspection, judgement.violations)


async def editor(draft: Draft) -> Report:
    """Write the report. Writing it again gives the same file, and nobody sees half of it."""
    text = render(draft.inspections, draft.findings, environment=draft.environment, diagram=draft.diagram)
    await to_thread.run_sync(replace_text, Path(draft.target), text)
    return Report(path=draft.target)


def register_agents(
    hub: Hub, policy: Policy, *, log: Path | None = None, inspectors: int = 16, analyst: Analyst = analyst
) -> None:
    """Put the five agents on a hub."""
    hub.register("inventory", inventory)
    hub.register("inspector", Inspector(log), concurrency=inspectors)
    hub.register("policy", Officer(policy))
    hub.register("analyst", analyst, concurrency=inspectors)
    hub.register("editor", editor)


def append_line(path: Path, line: str) -> None:
    """Add a line to a file in one write, which a kill cannot cut in two."""
    with path.open("ab", buffering=0) as file:
        file.write(f"{line}\n".encode())


def replace_text(path: Path, text: str) -> None:
    """Write a file as a whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}.draft")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


def clean(judgements: Sequence[Judgement]) -> bool:
    """Whether no rule is broken."""
    return not any(judgement.violations for judgement in judgements)
