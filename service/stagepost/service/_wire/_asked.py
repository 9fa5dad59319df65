"""What comes in: the bodies and filters of requests. A field that nobody knows is refused."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, model_validator

from stagepost.checkpoint import RunFilters, RunStatus

from ._output import RunStatusName

_LARGEST: Final = 2**63 - 1
_OPEN: Final = "open"


def _label(text: str) -> str:
    name, equals, _ = text.partition("=")
    if not (name and equals):
        raise ValueError("a label is of the form NAME=VALUE")
    return text


Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=1_000)]
Cursor = Annotated[str, Field(max_length=4_000)]
Label = Annotated[Text, AfterValidator(_label)]
Labels = Annotated[dict[Name, Text], Field(max_length=16)]
PageSize = Annotated[int, Field(ge=1, le=10_000)]
Number = Annotated[int, Field(ge=0, le=_LARGEST)]


class Asked(BaseModel):
    """Root of all that comes in."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class StartRun(Asked):
    """A run to start."""

    workflow: Name
    """Name of a workflow, or of an agent."""
    request: JsonValue = None
    """For an agent: a text, or the fields of its input."""
    state: dict[str, JsonValue] | None = None
    """For any other workflow: the state that it begins with."""
    run_id: Name | None = None
    """The run's id; by default one that sorts by time. The id of a run that is there joins that run."""
    labels: Labels = {}
    """What the run can be found by."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if {"request", "state"} <= self.model_fields_set:
            raise ValueError("give a request (for an agent) or a state (for another workflow), and not both")
        return self


class FollowUp(Asked):
    """How a task that has ended goes on, as a task of its own."""

    request: JsonValue
    """A text, or the fields of the agent's input."""
    run_id: Name | None = None
    """The new run's id; by default one that sorts by time."""
    labels: Labels | None = None
    """What it can be found by; by default the labels of the other one."""


class SayMessage(Asked):
    """Something that is said in a conversation."""

    agent: Name
    """Name of the agent."""
    request: JsonValue
    """A text, or the fields of the agent's input."""


class ConversationAsked(Asked):
    """A conversation to show."""

    agent: Name
    """Name of the agent."""
    limit: PageSize = 100
    """At most so many texts, the last ones."""


class RunsAsked(Asked):
    """Which runs are looked for: those of which all that is given holds."""

    status: Annotated[list[RunStatusName | Literal["open"]], Field(max_length=10)] = []
    """With one of these statuses; ``open`` for all that have not ended."""
    workflow: Name | None = None
    """Of this workflow."""
    key: Text | None = None
    """Started with this key."""
    label: Annotated[list[Label], Field(max_length=16)] = []
    """With all of these labels, each ``NAME=VALUE``."""
    text: Text | None = None
    """Failed with an error in which these words occur."""
    since: AwareDatetime | None = None
    """Started at this time or later."""
    until: AwareDatetime | None = None
    """Started before this time."""
    ended_since: AwareDatetime | None = None
    """Ended at this time or later."""
    ended_until: AwareDatetime | None = None
    """Ended before this time."""
    below: Name | None = None
    """Started by steps of this run, or of such runs."""
    forked_from: Name | None = None
    """Forks of this run."""

    def filters(self) -> RunFilters:
        """It as a store takes it."""
        names = set(self.status)
        statuses = [each for each in RunStatus if each.value in names or (_OPEN in names and each.is_open)]
        return RunFilters(
            status=statuses or None,
            workflow=self.workflow,
            key=self.key,
            labels=read_labels(self.label),
            text=self.text,
            since=self.since,
            until=self.until,
            ended_since=self.ended_since,
            ended_until=self.ended_until,
            below=self.below,
            forked_from=self.forked_from,
        )


class RunsPageAsked(RunsAsked):
    """A page of runs."""

    newest_first: bool = True
    """Begin with the newest."""
    after: Cursor | None = None
    """``next`` of a page, for the one that follows it."""
    before: Cursor | None = None
    """``previous`` of a page, for the one that precedes it."""
    limit: PageSize = 20
    """At most so many."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.after is not None and self.before is not None:
            raise ValueError("give after or before, and not both")
        return self


class CountsAsked(RunsAsked):
    """How many runs there are."""

    by: Literal["status", "workflow"] = "status"
    """What they are counted by."""


class HistoryAsked(Asked):
    """A page of what has happened to a run."""

    after: Number | None = None
    """``next`` of the page before, or the ``number`` of an entry."""
    limit: PageSize = 100
    """At most so many entries."""


class WaitsAsked(Asked):
    """A page of what runs wait for."""

    run: Name | None = None
    """Only what this run and those below it wait for."""
    kind: Literal["answer", "signal", "timer", "child", "effect"] | None = None
    """Only waits of this kind."""
    after: Cursor | None = None
    """``next`` of the page before."""
    limit: PageSize = 100
    """At most so many."""


class SchedulesAsked(Asked):
    """A page of schedules."""

    after: Cursor | None = None
    """``next`` of the page before."""
    limit: PageSize = 100
    """At most so many."""


class EventsAsked(Asked):
    """Where a stream begins, and what it tells."""

    after: Cursor | None = None
    """``id`` of the last event that is known, as the header ``Last-Event-ID``."""
    view: Literal["parts", "watch"] = "parts"
    """``parts``: all parts of the run's stream. ``watch``: in short what becomes of it, as ``stagepost runs watch``
    shows it; these events have no ids, and begin with where the run stands."""
    settled: bool = False
    """With ``view=watch``: end as well when the run waits for somebody."""


class AnswerWait(Asked):
    """What is said to something that a run waits for.

    Exactly one of ``answer``, ``refuse``, ``allow``, ``deny``, ``result`` and ``retry``.
    """

    answer: JsonValue = None
    """The value."""
    refuse: Text | None = None
    """Why a question of an external tool or a server is not answered; the model is told."""
    allow: Literal[True] | None = None
    """An agent's call may be made."""
    arguments: dict[str, JsonValue] | None = None
    """With ``allow``: the arguments that the call is made with instead of its own."""
    deny: Text | None = None
    """Why an agent's call may not be made; the model is told."""
    result: JsonValue = None
    """Of an effect in doubt: it has happened, and this is what it returned. For an agent's call it is a text."""
    retry: Literal[True] | None = None
    """Of an effect in doubt: it has not happened, and is to happen now."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        words = (self.refuse, self.allow, self.deny, self.retry)
        values = {"answer", "result"} & self.model_fields_set  # which may be null
        if len(values) + sum(word is not None for word in words) != 1:
            raise ValueError("give exactly one of answer, refuse, allow, deny, result and retry")
        if self.arguments is not None and self.allow is None:
            raise ValueError("arguments go with allow only")
        return self

    @property
    def is_about_doubt(self) -> bool:
        """Whether it says what became of an effect in doubt."""
        return self.retry is not None or "result" in self.model_fields_set

    def value(self) -> Any:
        """An answer or a verdict as the run takes it."""
        if self.refuse is not None:
            return refusal(self.refuse)
        return self.answer if "answer" in self.model_fields_set else verdict(self.deny, self.arguments)


class SettleEffect(Asked):
    """What became of an effect in doubt: exactly one of ``value`` and ``retry``."""

    key: Text
    """The effect's key."""
    value: JsonValue = None
    """It has happened, and this is what it returned."""
    retry: Literal[True] | None = None
    """It has not happened: the step does it now."""
    place: Text | None = None
    """Which step, if several are in doubt about an effect of this key."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if ("value" in self.model_fields_set) is (self.retry is not None):
            raise ValueError("give value (null for nothing) if it has happened, or retry if it has not")
        return self


class SendSignal(Asked):
    """A signal to a run."""

    name: Name
    """Its name."""
    value: JsonValue = None
    """What it carries."""
    dedup: Text | None = None
    """Signals of one name with the same are one."""


class TellTask(Asked):
    """A message to a running task."""

    text: Annotated[str, Field(min_length=1)]
    """The message."""
    dedup: Text | None = None
    """Messages with the same are one."""


class NewRun(Asked):
    """What a run made of another one is called, and found by."""

    run_id: Name | None = None
    """The new run's id; by default one that sorts by time."""
    labels: Labels = {}
    """Its labels, beside those of the other run."""


class ForkRun(NewRun):
    """Where a new run goes on, and what it changes."""

    at: Number | Text | None = None
    """A number of the other run's history, or the path of a step that has completed; null for where it stands."""
    changes: dict[str, JsonValue] | None = None
    """Values in the place of those of its state."""
    effects: Literal["again", "keep"] | None = None
    """What becomes of effects that the other run has had after that point."""


class RetryItems(NewRun):
    """Which items of a fan-out run again: those that have failed, were cancelled or were not begun."""

    path: Text | None = None
    """Path of the fan-out; by default the last one that had failures."""


def verdict(deny: str | None, arguments: Mapping[str, JsonValue] | None = None) -> dict[str, JsonValue]:
    """What is said to a call that needs approval, as the run takes it.

    Args:
        deny: Why it may not be made; None if it may.
        arguments: What it is made with instead of its own arguments.
    """
    if deny is not None:
        return {"kind": "deny", "reason": deny}
    return {"kind": "allow"} if arguments is None else {"kind": "allow", "arguments": dict(arguments)}


def refusal(reason: str) -> dict[str, JsonValue]:
    """What is said to a question that is not answered, as the run takes it.

    Args:
        reason: Why not.
    """
    return {"kind": "refuse", "reason": reason}


def read_labels(given: Sequence[str]) -> dict[str, str]:
    """Labels of the form ``NAME=VALUE`` as a mapping."""
    return {name: value for name, _, value in (label.partition("=") for label in given)}
