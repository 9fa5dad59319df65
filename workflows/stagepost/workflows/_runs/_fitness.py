"""Whether the code of this process can go on with a stored run."""

from collections import OrderedDict
from datetime import datetime
from typing import Final, NamedTuple

from stagepost.checkpoint import CorruptRun, RunInfo, RunStatus, Snapshot, WaitStatus
from stagepost.hub import Hub

from .._engine._engine import check_hub
from .._patterns._pattern import Pattern
from .._plans._plan import COUNTER
from .._values._secrets import Secrets
from ..errors import IncompatibleCheckpoint, RunCancelled, RunDead, RunError, WorkflowError
from ._compatibility import misfit
from ._migration import Definition, Prepared
from ._registry import Registry

REMEMBERED: Final = 1_000


class _Parked(NamedTuple):
    """A run that rests as this process has left it.

    Attributes:
        epoch: The claim under which it was executed.
        created_at: When it was started: a later run may have its id.
        workflow: What it was executed by.
    """

    epoch: int
    created_at: datetime
    workflow: Pattern


class Fitness:
    """Asked whenever a stored run is to go on: after a crash, an answer, a signal, the time, the end of a child.

    Args:
        registry: The definitions.
        hub: Where steps ask agents, if there is one.
        secrets: Must not be shown by a reason.
        remembered: How many runs are remembered that rest as this process has left them; others are looked at.

    Attributes:
        registry: The definitions.
    """

    def __init__(self, registry: Registry, hub: Hub | None, secrets: Secrets, *, remembered: int = REMEMBERED) -> None:
        self.registry = registry
        self._hub = hub
        self._secrets = secrets
        self._remembered = remembered
        self._parked: OrderedDict[str, _Parked] = OrderedDict()

    def note_parked(self, run: RunInfo, epoch: int, workflow: Pattern) -> None:
        """A run rests that this process has executed.

        Args:
            run: It, as it was when it was claimed.
            epoch: The claim's number.
            workflow: What it was executed by.
        """
        self._parked[run.run_id] = _Parked(epoch, run.created_at, workflow)
        if len(self._parked) > self._remembered:
            self._parked.popitem(last=False)

    def definition_of(self, info: RunInfo) -> Definition:
        """What a run is executed by.

        Raises:
            UnknownWorkflow: Nobody knows its workflow.
            HubRequired: A step of it asks an agent, and there is no hub.
        """
        definition = self.registry.find(info)
        check_hub(definition.workflow.name, definition.workflow.plan, self._hub)
        return definition

    def check(self, snapshot: Snapshot) -> Prepared:
        """A run that can go on.

        Raises:
            UnknownWorkflow: Nobody knows its workflow.
            HubRequired: A step of it asks an agent, and there is no hub.
            IncompatibleCheckpoint: It does not fit its workflow, or what reads it has failed.
            CorruptRun: It is not what was stored.
        """
        try:
            definition = self.definition_of(snapshot.run)
            if _fits(snapshot, definition) or self._is_as_parked(snapshot, definition.workflow):
                return Prepared(definition, None, {})
            return definition.prepared(snapshot)
        except IncompatibleCheckpoint as error:
            self._mask(error)
            raise

    def is_known(self, info: RunInfo) -> bool:
        """Whether a run can go on, where that is known without reading it: nothing that it depends on has changed.

        So of a run that was claimed with a workflow of the very same shape, and whose values have no types; and of one
        that this process has executed, and nobody since.
        """
        workflow = self.registry.same(info)
        return workflow is not None and (_is_unchanged(info, workflow) or self._was_parked(info, workflow))

    def mask(self, text: str) -> str:
        """A text that shows no secret."""
        return self._secrets.mask(text)

    def reason(self, snapshot: Snapshot) -> WorkflowError | CorruptRun | None:
        """Why a run cannot go on; None if it can."""
        try:
            self.check(snapshot)
        except (WorkflowError, CorruptRun) as error:
            return error
        return None

    def _was_parked(self, info: RunInfo, workflow: Pattern) -> bool:
        """Whether this process has executed it by this very workflow, and nobody has claimed it since."""
        return self._parked.get(info.run_id) == (info.epoch, info.created_at, workflow)

    def _is_as_parked(self, snapshot: Snapshot, workflow: Pattern) -> bool:
        """Whether a run is as this process has left it, but for what it was sent since, which its steps can read."""
        if not self._was_parked(snapshot.run, workflow):
            return False
        sent = [wait for wait in snapshot.waits if wait.status is WaitStatus.ANSWERED]
        return all(misfit(workflow.plan, wait) is None for wait in sent)

    def _mask(self, error: IncompatibleCheckpoint) -> None:
        """A function of the user's may have raised what it should not show."""
        error.args = (self._secrets.mask(str(error)),)
        error.why = self._secrets.mask(error.why)
        if error.__cause__ is not None:
            error.__cause__ = self._secrets.cover(error.__cause__)


def end_of(info: RunInfo, max_attempts: int | None) -> RunError | None:
    """Why an open run ends when somebody takes it up, whatever its workflow is; None if it goes on.

    Args:
        info: The run.
        max_attempts: How often in a row a run's process may die without a commit of the run; None for no limit.
    """
    if info.cancelling:
        return RunCancelled(info.run_id)
    if info.status is RunStatus.RUNNING and max_attempts is not None and info.attempts >= max_attempts:
        return RunDead(info.run_id, info.attempts)
    return None


def _is_unchanged(info: RunInfo, workflow: Pattern) -> bool:
    return info.shape == workflow.shape.id and workflow.is_plain


def _fits(snapshot: Snapshot, definition: Definition) -> bool:
    """Whether a run fits at first sight: its workflow is unchanged, and nothing but its own steps is under way.

    Its values have no types then, and what its steps wait for belongs to the shape, so there is nothing to read. That
    its place is there is looked at all the same, since somebody may have changed the file by hand.
    """
    if definition.migrations or snapshot.items or not _is_unchanged(snapshot.run, definition.workflow):
        return False
    root, places = snapshot.frames[""], definition.workflow.plan.places
    is_whole = len(snapshot.frames) == 1 and root.width is None and f"{root.next}{COUNTER}" not in root.visits
    return is_whole and (root.next is None or root.next in places)
