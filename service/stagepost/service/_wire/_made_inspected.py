"""What pages show, made of what the store gives."""

from typing import Any

from stagepost.checkpoint import Snapshot
from stagepost.workflows import CheckReport

from ._inspected import StateAt
from ._made import value_of
from ._store import CheckFinding, CheckFound


def check_found(report: CheckReport) -> CheckFound:
    """What a check of the open runs has found."""
    return CheckFound(
        ok=report.ok,
        total=report.total,
        unlisted=report.unlisted,
        counts={name: {each.value: count for each, count in counts.items()} for name, counts in report.counts.items()},
        findings=[CheckFinding.model_validate(finding.to_dict()) for finding in report.findings],
    )


def state_at(number: int, snapshot: Snapshot) -> StateAt:
    """The state of a run as it was: with number 0 what it was started with."""
    if not number:
        begun: Any = value_of(snapshot.run.input)
        return StateAt(number=0, state=begun if isinstance(begun, dict) else {})
    return StateAt(number=number, state={key: value_of(data) for key, data in snapshot.root.state.items()})
