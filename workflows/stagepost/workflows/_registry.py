"""The workflows that a runner knows, by name and version."""

from collections.abc import Iterable

from ._pattern import Pattern
from ._places import check_signals
from .errors import DefinitionError, UnknownWorkflow


class Registry:
    """Definitions by name and version; old versions may stand beside new ones."""

    def __init__(self, workflows: Iterable[Pattern]) -> None:
        self._known: dict[tuple[str, int], Pattern] = {}
        for workflow in workflows:
            self.add(workflow)

    def add(self, workflow: Pattern) -> None:
        """Add a definition; the same one may be added again.

        Raises:
            DefinitionError: Another one has its name and version, or its parts do not fit together.
        """
        known = self._known.setdefault((workflow.name, workflow.version), workflow)
        if known is not workflow:
            raise DefinitionError(
                f"workflow {workflow.name!r}",
                f"another one of version {workflow.version} is registered: raise version= or change the name",
            )
        check_signals(workflow.name, workflow.program)  # compiled now, so that what does not fit is said here

    def check(self, workflow: Pattern) -> None:
        """See that a workflow can be found again after a crash.

        Raises:
            DefinitionError: It has not been added.
        """
        if self._known.get((workflow.name, workflow.version)) is not workflow:
            raise DefinitionError(
                f"workflow {workflow.name!r}",
                "this runner does not know it, so nobody could recover its runs: add it to workflows=, or serve() it",
            )

    def find(self, run_id: str, name: str, version: int) -> Pattern:
        """The definition that a stored run belongs to.

        Raises:
            UnknownWorkflow: There is none.
        """
        try:
            return self._known[name, version]
        except KeyError:
            raise UnknownWorkflow(run_id, name, version) from None
