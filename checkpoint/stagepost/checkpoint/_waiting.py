"""What a run waits for, what it was sent, and what it has done to the world outside: frozen values.

A *place* is a step of a run at one visit: its path from the root, with ``#`` and the visits of the graph nodes and
fan-outs around it, if there are any: ``approval``, ``orders[3]/charge``, ``review/ask#2``.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from stagepost._dataclasses import dataclass

from ._happening import Happening


class WaitKind(StrEnum):
    """What ends a wait: somebody's answer, a signal, the time, the end of another run, or word of an effect."""

    ANSWER = "answer"
    SIGNAL = "signal"
    TIMER = "timer"
    CHILD = "child"
    EFFECT = "effect"


class WaitStatus(StrEnum):
    """Where a wait stands."""

    OPEN = "open"
    ANSWERED = "answered"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True)
class NewWait:
    """A wait to be opened.

    Attributes:
        place: The step that waits.
        kind: What ends it.
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        prompt: JSON of what is shown to whoever answers.
        due_at: When it expires (UTC); None for never.
        happened: What has happened since the last commit, for the history of a run that keeps all.
    """

    place: str
    kind: WaitKind
    name: str
    prompt: bytes | None = None
    due_at: datetime | None = None
    happened: Sequence[Happening] = ()


@dataclass(frozen=True, slots=True)
class StoredWait:
    """A wait as it is stored.

    Attributes:
        place: The step that waits.
        kind: What ends it.
        name: Of the step, the signal, the other run, or the effect's key, by its kind.
        prompt: JSON of what is shown to whoever answers.
        due_at: When it expires (UTC); None for never.
        status: Where it stands.
        value: JSON of the answer or signal, once there is one.
        by: Who has answered.
        opened_at: When it was opened (UTC).
        ended_at: When it was answered or expired (UTC).
        checked: Whether it was ended by somebody who knew that the value fits.
        refused: Why the last answer to it was dropped, so that it is open again.
    """

    place: str
    kind: WaitKind
    name: str
    prompt: bytes | None
    due_at: datetime | None
    status: WaitStatus
    value: bytes | None
    by: str | None
    opened_at: datetime
    ended_at: datetime | None
    checked: bool = True
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class OpenWait:
    """A wait and the run that it belongs to.

    Attributes:
        run_id: The run.
        workflow: Name of its workflow.
        version: Declared version of that workflow.
        wait: The wait.
        blocked: Why nobody can go on with the run.
    """

    run_id: str
    workflow: str
    version: int
    wait: StoredWait
    blocked: str | None = None


@dataclass(frozen=True, slots=True)
class SentSignal:
    """A signal as it was sent, whether somebody has received it or not.

    Attributes:
        number: Its place among all signals of its run.
        name: Its name.
        value: JSON.
        checked: Whether it was sent by somebody who knew that the value fits.
    """

    number: int
    name: str
    value: bytes
    checked: bool = True


class EffectStatus(StrEnum):
    """Where an effect stands: about to happen, or done. In a commit ``undone`` says that it did not happen."""

    INTENT = "intent"
    DONE = "done"
    UNDONE = "undone"


class Effect(NamedTuple):
    """Something that a step does to the world outside, at most once.

    Attributes:
        place: The step.
        key: Its name within the step.
        status: Where it stands.
        value: JSON of what it returned, once it is done.
        number: The last number in the run's history when this was saved; None if the run keeps none. Of no account in
            a commit.
        is_note: Whether it is none, but something that a step has to know when it runs again, such as an answer.
    """

    place: str
    key: str
    status: EffectStatus
    value: bytes | None = None
    number: int | None = None
    is_note: bool = False


class EffectBelow(NamedTuple):
    """An effect of a run that a step of another one has started, or of one that such a run has started, and so on.

    Attributes:
        run_id: The run that has had it.
        place: The step of that run.
        key: Its name within the step.
        starter: The step of the other run by which all of that was started.
        is_after: Whether that step has done so after the number that was asked for.
    """

    run_id: str
    place: str
    key: str
    starter: str | None
    is_after: bool


class Latest(NamedTuple):
    """What was written for a run from outside since its owner heard of it last.

    Attributes:
        waits: Those that have ended since, in the order in which they did.
        news: How much was written for it until now, signals included: what its owner has heard of with this.
    """

    waits: Sequence[StoredWait]
    news: int
