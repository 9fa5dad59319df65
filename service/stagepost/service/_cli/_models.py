"""What the command writes with ``--json``: one model for each kind of output.

Fields are only added, and never change their meaning, so that a program that reads them goes on working.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, JsonValue


class Output(BaseModel):
    """Root of all output."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class CommandFailed(Output):
    """Why a command could not do what it was asked for; on standard error."""

    code: int
    """The exit code."""
    kind: str
    """The error's class."""
    message: str
    """What is wrong, and what to do."""


class RunRow(Output):
    """A run without its state."""

    run_id: str
    """Its id."""
    workflow: str
    """Name of its workflow."""
    version: int
    """Version of the workflow."""
    status: Literal["running", "waiting", "completed", "failed", "cancelled", "dead"]
    """Where it stands."""
    key: str | None
    """Its start-once key."""
    labels: dict[str, str]
    """What it can be found by."""
    created_at: datetime
    """When it was started."""
    finished_at: datetime | None
    """When it ended."""
    error: str | None
    """Why it failed."""
    blocked: str | None
    """Why nobody can go on with it."""
    cancelling: bool
    """Whether its end was requested."""
    attempts: int
    """How often it was claimed after its owner's death since its last commit."""
    forked_from: str | None
    """The run that it is a fork of."""
    forked_at: int | None
    """At which number of that one's history; null if it was forked where it stood."""


class DamagedRun(Output):
    """A run that cannot be read."""

    run_id: str
    """Its id."""
    reason: str
    """What was found."""


class RunPage(Output):
    """Runs that were found (`runs ls`)."""

    runs: list[RunRow]
    """The runs."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""
    previous: str | None
    """For ``--before``: where the page before ends; null if there is none."""
    damaged: list[DamagedRun]
    """Runs that cannot be read."""


class RunCounts(Output):
    """How many runs there are (`runs ls --counts`)."""

    total: int
    """In all."""
    by: Literal["status", "workflow"]
    """What they are counted by."""
    counts: dict[str, int]
    """How many of each."""


class WaitRow(Output):
    """Something that a run waits for."""

    wait_id: str
    """Its id, for ``runs answer``."""
    run_id: str
    """The run."""
    workflow: str
    """Name of its workflow."""
    place: str
    """The step that waits."""
    kind: Literal["answer", "signal", "timer", "child", "effect"]
    """What ends it."""
    name: str
    """Of the step, the signal, the other run, or the effect's key, by its kind."""
    shown: JsonValue
    """What whoever answers is shown."""
    opened_at: datetime
    """Since when it waits."""
    due_at: datetime | None
    """When it ends by itself."""
    blocked: str | None
    """Why its run cannot go on."""
    refused: str | None
    """Why the last answer was dropped."""


class WaitList(Output):
    """What runs wait for (`runs waits`)."""

    waits: list[WaitRow]
    """The waits, in the order of their ids."""


class FrameRow(Output):
    """A branch of a run: where it stands."""

    path: str
    """Which branch; empty for the run itself."""
    next: str | None
    """Path of the place where it goes on; null at its end."""
    saves: int
    """How often it was saved."""
    saved_at: datetime | None
    """When it was saved last."""


class FanOutRow(Output):
    """A fan-out under way."""

    path: str
    """Its path."""
    total: int
    """How many items it has."""
    ok: int
    """How many are done."""
    failed: int
    """How many have failed."""


class SignalRow(Output):
    """A signal that was sent to a run."""

    number: int
    """Its place among the signals of the run."""
    name: str
    """Its name."""
    value: JsonValue
    """What it carries."""


class EffectRow(Output):
    """Something that a run has done to the world outside."""

    place: str
    """The step."""
    key: str
    """Its key."""
    status: Literal["intent", "done", "undone"]
    """``intent``: it was begun, and nobody knows yet whether it has happened."""
    value: JsonValue
    """What it returned."""


class RunShown(Output):
    """All that is stored of a run (`runs show`)."""

    run: RunRow
    """What is known of it."""
    traceback: str | None
    """Traceback of the error that it failed with."""
    keep: str
    """What stays of it."""
    input: JsonValue
    """What it was started with."""
    state: dict[str, JsonValue]
    """Its state."""
    next: str | None
    """Path of the place where it goes on; null at its end."""
    branches: list[FrameRow]
    """Branches of it under way, itself first."""
    fan_outs: list[FanOutRow]
    """Fan-outs under way."""
    waits: list[WaitRow]
    """What it waits for; where it waits for other runs, what those wait for."""
    signals: list[SignalRow]
    """Signals that it was sent, at most 100."""
    effects: list[EffectRow]
    """What it has done to the world outside."""
    owner: str | None
    """The process that owns the file at this moment."""


class WatchEvent(Output):
    """A line of ``runs watch``, and of the progress of ``runs resume``; one JSON object per line."""

    event: Literal["at", "item", "wait", "wait_over", "child", "status"]
    """What has changed: the place where the run goes on, items that are done, a wait, a run that a step has started, or
    the run's status, which is the last line if the run has ended."""
    at: datetime
    """When it was saved, as far as that is stored; else when it was seen."""
    run_id: str
    """The run, or the one that a step of it has started."""
    place: str | None = None
    """The place where it goes on, or that of the fan-out or wait."""
    status: str | None = None
    """Of the run, or of the wait that is over."""
    done: int | None = None
    """How many items have ended."""
    total: int | None = None
    """How many items there are."""
    wait_id: str | None = None
    """The wait."""
    kind: str | None = None
    """What ends the wait."""
    by: str | None = None
    """Who has answered."""
    error: str | None = None
    """Why the run has failed."""


class Done(Output):
    """What was done (`runs answer`, `signal`, `settle`, `cancel`, `delete`, `schedules …`)."""

    action: str
    """What: ``answered``, ``signalled``, ``settled``, ``cancelled``, ``cancel_requested``, ``deleted`` …"""
    id: str
    """Of what: a run, a wait, a schedule."""
    owner: str | None
    """The process that hears of it now; null if nobody owns the file, so that the next owner does."""
    is_new: bool = True
    """False of a signal that was sent before."""


class HistoryRow(Output):
    """Something that has happened to a run; it has more fields, by its type, as `stagepost.workflows` describes."""

    model_config = ConfigDict(extra="allow")

    type: Literal["run", "attempt", "items", "wait", "frame", "child"]
    """What kind of entry it is."""
    number: int | None
    """Its place in the history, for ``--after`` and ``runs fork --at``; null of what is under way."""
    saved_at: datetime
    """When it was stored."""


class HistoryPage(Output):
    """What has happened to a run (`runs history`)."""

    run_id: str
    """The run."""
    workflow: str
    """Name of its workflow."""
    version: int
    """Version of the workflow."""
    status: Literal["running", "waiting", "completed", "failed", "cancelled", "dead"]
    """Where it stands."""
    is_complete: bool
    """Whether the run keeps its history; if not, the entries are what is still known of it."""
    items: list[HistoryRow]
    """What has happened, in the order in which it was stored."""
    under_way: list[HistoryRow]
    """What has begun and not ended, with the last page only."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""


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


class ScheduleRow(Output):
    """When runs of a workflow are started."""

    key: str
    """Its name."""
    workflow: str
    """The workflow of its runs."""
    when: str | None
    """The cron text; null if it has a fixed distance."""
    every: float | None
    """Seconds between two runs; null if it has a cron text."""
    timezone: str
    """The time zone of the cron text."""
    missed: str
    """What is done about times that have passed without a run."""
    overlap: str
    """What is done while the last run is open."""
    paused: bool
    """Whether it starts nothing."""
    next_due: datetime | None
    """The time that the next run is for; null if there is none any more."""
    last_due: datetime | None
    """The time that the last run is for."""
    last_run: str | None
    """The id of that run."""
    not_started: int
    """For how many times no run was started."""
    failures: int
    """How often in a row a run could not be started."""
    error: str | None
    """Why, the last time."""


class ScheduleList(Output):
    """Schedules (`schedules ls`)."""

    schedules: list[ScheduleRow]
    """The schedules, in the order of their keys."""
    next: str | None
    """For ``--after``: where the next page begins; null if there is none."""


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


class ChatEvent(Output):
    """A line of ``chat --json``: a part of the answer's stream."""

    part: dict[str, Any]
    """As `StreamPart.to_dict` gives it."""
