"""What can be done to a run: the one table of acts."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from stagepost._dataclasses import dataclass

from .._keys._key import Scope
from .._verbs._scopes import SCOPES
from .._wire._runs import RunRow

OPEN: Final = frozenset({"running", "waiting"})
FAILED: Final = frozenset({"failed", "dead"})
STOPPED: Final = FAILED | {"cancelled"}
ENDED: Final = STOPPED | {"completed"}
_ALL: Final = OPEN | ENDED


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can be done to a run.

    Attributes:
        name: Of the verb.
        title: What its button says.
        did: What is said once it is done.
        statuses: Of the runs that it can be done to.
        tells: What will happen, in a sentence.
        is_final: Whether nothing brings back how it was before.
        only_agents: Whether it is for tasks of agents.
        of_many: What it is called for all runs that match; empty if it is for one.
    """

    name: str
    title: str
    did: str
    statuses: frozenset[str]
    tells: str
    is_final: bool = False
    only_agents: bool = False
    of_many: str = ""

    @property
    def scope(self) -> Scope:
        """What a key needs for it."""
        return SCOPES[self.name]

    def fits(self, run: RunRow, *, is_agent: bool) -> bool:
        """Whether it can be done to a run."""
        is_stuck = self.name == "resume" and run.status in OPEN and run.blocked is not None
        return (run.status in self.statuses or is_stuck) and (is_agent or not self.only_agents)


_ACTS: Final = (
    Act(
        "resume",
        "Resume",
        "The run goes on.",
        FAILED,
        "It goes on where it stopped. What was done stays done; what failed is tried again.",
        of_many="Resume those that failed",
    ),
    Act(
        "retry_items",
        "Retry failed items",
        "A new run tries the failed items again.",
        _ALL,
        "A new run begins at the fan-out. Items that went well keep their values; only the others run again. This run "
        "stays as it is.",
        of_many="Retry failed items",
    ),
    Act(
        "fork",
        "Fork",
        "This is the new run.",
        _ALL,
        "A new run goes on from there, with the values that you change. This run stays as it is.",
    ),
    Act(
        "tell",
        "Tell the agent",
        "The agent gets the message before its next answer.",
        OPEN,
        "The agent's model gets the message before its next answer.",
        only_agents=True,
    ),
    Act(
        "signal",
        "Send a signal",
        "The signal was sent.",
        OPEN,
        "A step that waits for it goes on. If none does, the signal is kept until one does.",
    ),
    Act(
        "cancel",
        "Cancel",
        "The run was cancelled.",
        OPEN,
        "It ends for good, wherever it stands. What it has done stays stored, and is not undone.",
        is_final=True,
        of_many="Cancel those that are open",
    ),
    Act(
        "delete",
        "Delete",
        "The run was deleted.",
        ENDED,
        "It is forgotten, with its history and the ended runs that its steps have started. Its key and id are free.",
        is_final=True,
        of_many="Delete those that have ended",
    ),
)
ACTS: Final[Mapping[str, Act]] = MappingProxyType({act.name: act for act in _ACTS})
