"""What is found of a store and of an installation."""

from typing import Literal

from ._output import Output


class BackupMade(Output):
    """A copy of the store (`backup`)."""

    path: str
    """The copy."""
    size: int
    """Its bytes."""


class CheckFinding(Output):
    """What becomes of one open run."""

    run_id: str
    """The run."""
    workflow: str
    """Name of its workflow."""
    version: int
    """The version of the workflow that it has."""
    status: Literal["running", "waiting"]
    """Whether it runs or waits."""
    verdict: Literal["goes_on", "migrated", "refused", "unknown", "blocked", "cancelled", "dead"]
    """What becomes of it."""
    target: int | None
    """The version that it goes on with."""
    reason: str | None
    """Why it does not go on."""
    error: str | None
    """Name of the error that says so."""
    blocked: str | None
    """Why nobody could go on with it before."""
    notes: list[str]
    """What else changes for it."""


class CheckFound(Output):
    """What this code would do with the open runs (`check`)."""

    ok: bool
    """Whether no run is left open that is not left open already."""
    total: int
    """How many open runs there are."""
    unlisted: int
    """How many have no finding here, since there are too many."""
    counts: dict[str, dict[str, int]]
    """How many there are of each verdict, by workflow."""
    findings: list[CheckFinding]
    """One for each run."""


class DamageRow(Output):
    """Something that is damaged."""

    kind: str
    """The error's class."""
    run_id: str | None
    """The run, if it is one's."""
    message: str
    """What was found, and what to do."""


class VerifyFound(Output):
    """Whether the file is whole (`verify`)."""

    ok: bool
    """Whether nothing is damaged."""
    damage: list[DamageRow]
    """What is damaged."""


class DoctorCheck(Output):
    """Something that ``doctor`` has looked at."""

    name: str
    """What."""
    status: Literal["ok", "note", "warning", "problem"]
    """How it is."""
    found: str
    """What was found."""
    advice: str | None = None
    """What to do about it."""


class DoctorReport(Output):
    """What ``doctor`` has found."""

    checks: list[DoctorCheck]
    """Everything that it has looked at."""
    ok: bool
    """Whether there is no problem."""
