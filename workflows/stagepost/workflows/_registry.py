"""The workflows that a runner knows, by name and version."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from stagepost.checkpoint import RunInfo

from ._migration import Definition, Migration
from ._pattern import Pattern
from ._places import check_signals
from .errors import DefinitionError, UnknownWorkflow

Migrations: TypeAlias = Mapping[str, Mapping[int, Migration]]


class Registry:
    """Definitions by name and version; old versions may stand beside new ones.

    Args:
        workflows: Definitions.
        migrations: By workflow and version: how a run of that version becomes one of the next.
    """

    def __init__(self, workflows: Iterable[Pattern], migrations: Migrations | None = None) -> None:
        self._known: dict[tuple[str, int], Pattern] = {}
        self._migrations = {name: dict(steps) for name, steps in (migrations or {}).items()}
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

    @property
    def migrates(self) -> bool:
        """Whether runs of any workflow can be migrated."""
        return bool(self._migrations)

    def is_outdated(self, info: RunInfo) -> bool:
        """Whether a run is of a version that is only known to be migrated."""
        is_known = (info.workflow, info.version) in self._known
        return not is_known and info.version in self._migrations.get(info.workflow, {})

    def find(self, info: RunInfo) -> Definition:
        """The definition that a stored run belongs to: of its own version, or of the next that it can be migrated to.

        Raises:
            UnknownWorkflow: There is none.
        """
        steps: list[Migration] = []
        version, known = info.version, self._migrations.get(info.workflow, {})
        while (info.workflow, version) not in self._known:
            if version not in known:
                raise UnknownWorkflow(info.run_id, info.workflow, info.version)
            steps.append(known[version])
            version += 1
        return Definition(self._known[info.workflow, version], tuple(steps))
