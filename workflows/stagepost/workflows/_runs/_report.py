"""What a check of the open runs of a store has found."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import RunStatus


class RunVerdict(StrEnum):
    """What becomes of an open run when this code takes it up."""

    GOES_ON = "goes_on"
    """It goes on, or rests on, with the version of its workflow that it has."""
    MIGRATED = "migrated"
    """It is migrated to a newer version of its workflow, and goes on, or rests on, with that."""
    REFUSED = "refused"
    """It is left open, and `RunFinding.reason` says why."""
    UNKNOWN = "unknown"
    """It is left open: no workflow of its name and version is registered, and no migration leads to one."""
    BLOCKED = "blocked"
    """It is left open, as it was by the code before: its row says that nobody could go on with it."""
    CANCELLED = "cancelled"
    """Its end was requested, and is committed."""
    DEAD = "dead"
    """Its process has died with it too often, and that is committed as its end."""


_WORDS: Final[Mapping[RunVerdict, str]] = {
    RunVerdict.REFUSED: "refused",
    RunVerdict.UNKNOWN: "of an unknown workflow",
    RunVerdict.BLOCKED: "left open already",
    RunVerdict.DEAD: "dead",
    RunVerdict.CANCELLED: "cancelled",
    RunVerdict.MIGRATED: "migrated",
    RunVerdict.GOES_ON: "going on",
}
_FAILING: Final = frozenset({RunVerdict.REFUSED, RunVerdict.UNKNOWN})


@dataclass(frozen=True, slots=True)
class RunFinding:
    """What becomes of one open run.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        version: The version of the workflow that it has.
        status: Whether it runs or waits.
        verdict: What becomes of it.
        target: The version that it goes on with; None if it does not.
        reason: Why it does not go on, as `Runner.recover` would say.
        error: Name of the error that says so.
        blocked: Why nobody could go on with it, as its row says.
        notes: What else changes for it: answers that are dropped and asked for again, waits that are forgotten.
    """

    run_id: str
    workflow: str
    version: int
    status: RunStatus
    verdict: RunVerdict
    target: int | None = None
    reason: str | None = None
    error: str | None = None
    blocked: str | None = None
    notes: Sequence[str] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it goes on as if nothing had been deployed."""
        return self.verdict is RunVerdict.GOES_ON and not self.notes

    def to_dict(self) -> dict[str, Any]:
        """It as JSON values."""
        return {
            "run_id": self.run_id,
            "workflow": self.workflow,
            "version": self.version,
            "status": self.status.value,
            "verdict": self.verdict.value,
            "target": self.target,
            "reason": self.reason,
            "error": self.error,
            "blocked": self.blocked,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        moves = f" to {self.target}" if self.verdict is RunVerdict.MIGRATED else ""
        what = f"{self.run_id} ({self.workflow} version {self.version}, {self.status}): {self.verdict}{moves}"
        return "; ".join((what, *filter(None, (self.reason, *self.notes))))


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What becomes of all open runs of a store when this code takes them up.

    Attributes:
        findings: One for each run, first those of which something is to be said, each part in the order in which the
            runs were started. Of very many runs only the first are here; see `unlisted`.
        counts: How many runs there are of each verdict, by workflow.
        unlisted: How many runs have no finding here, since there are too many.
    """

    findings: Sequence[RunFinding]
    counts: Mapping[str, Mapping[RunVerdict, int]]
    unlisted: int = 0

    @property
    def ok(self) -> bool:
        """Whether this code leaves no run open that is not left open already."""
        return not any(verdict in _FAILING for counts in self.counts.values() for verdict in counts)

    @property
    def total(self) -> int:
        """How many runs were looked at."""
        return sum(sum(counts.values()) for counts in self.counts.values())

    def count(self, verdict: RunVerdict) -> int:
        """How many runs have a verdict."""
        return sum(counts.get(verdict, 0) for counts in self.counts.values())

    def to_dict(self) -> dict[str, Any]:
        """It as JSON values."""
        return {
            "ok": self.ok,
            "total": self.total,
            "unlisted": self.unlisted,
            "counts": {
                workflow: {verdict.value: count for verdict, count in counts.items()}
                for workflow, counts in self.counts.items()
            },
            "findings": [finding.to_dict() for finding in self.findings],
        }

    def __str__(self) -> str:
        all_of_them = _worded({each: self.count(each) for each in _WORDS})
        lines = [f"{self.total} open run{'' if self.total == 1 else 's'}: {all_of_them}"]
        lines += [f"  {workflow}: {_worded(self.counts[workflow])}" for workflow in sorted(self.counts)]
        lines += [f"- {finding}" for finding in self.findings if not finding.is_plain]
        return "\n".join(lines)


def _worded(counts: Mapping[RunVerdict, int]) -> str:
    return ", ".join(f"{counts[each]} {word}" for each, word in _WORDS.items() if counts.get(each)) or "none"
