"""Whether the code of this process can go on with a stored run."""

from stagepost.checkpoint import CorruptRun, RunInfo, Snapshot
from stagepost.hub import Hub

from .._engine._engine import check_hub
from .._values._secrets import Secrets
from ..errors import IncompatibleCheckpoint, WorkflowError
from ._migration import Definition, Prepared
from ._registry import Registry


class Fitness:
    """Asked whenever a stored run is to go on: after a crash, an answer, a signal, the time, the end of a child.

    Args:
        registry: The definitions.
        hub: Where steps ask agents, if there is one.
        secrets: Must not be shown by a reason.

    Attributes:
        registry: The definitions.
    """

    def __init__(self, registry: Registry, hub: Hub | None, secrets: Secrets) -> None:
        self.registry = registry
        self._hub = hub
        self._secrets = secrets

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
            return self.definition_of(snapshot.run).prepared(snapshot)
        except IncompatibleCheckpoint as error:
            self._mask(error)
            raise

    def is_known(self, info: RunInfo) -> bool:
        """Whether a run can go on, where that is known without reading it: nothing that it depends on has changed.

        So of a run that was claimed with a workflow of the very same shape, and whose values have no types.
        """
        workflow = self.registry.same(info)
        return workflow is not None and info.shape == workflow.shape.id and workflow.is_plain

    def reason(self, snapshot: Snapshot) -> WorkflowError | CorruptRun | None:
        """Why a run cannot go on; None if it can."""
        try:
            self.check(snapshot)
        except (WorkflowError, CorruptRun) as error:
            return error
        return None

    def _mask(self, error: IncompatibleCheckpoint) -> None:
        """A function of the user's may have raised what it should not show."""
        error.args = (self._secrets.mask(str(error)),)
        error.why = self._secrets.mask(error.why)
        if error.__cause__ is not None:
            error.__cause__ = self._secrets.cover(error.__cause__)
