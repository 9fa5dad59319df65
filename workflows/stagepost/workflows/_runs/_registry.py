"""The workflows that a runner knows, by name and version."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from stagepost.checkpoint import RunInfo

from .._patterns._given import listed, mapped, workflow_of
from .._patterns._nesting import check_nesting
from .._patterns._pattern import Pattern, Servable
from .._plans._places import check_signals
from ..errors import DefinitionError, UnknownWorkflow, WorkflowNotFound
from ._migration import Definition, Migration

Migrations: TypeAlias = Mapping[str, Mapping[int, Migration]]


class Registry:
    """Definitions by name and version; old versions may stand beside new ones.

    Args:
        workflows: Definitions.
        migrations: By workflow and version: how a run of that version becomes one of the next.
    """

    def __init__(self, workflows: Iterable[Servable], migrations: Migrations | None = None) -> None:
        self._known: dict[tuple[str, int], Pattern] = {}
        given = mapped("Runner", "migrations=", migrations or {})
        self._migrations = {name: dict(mapped("Runner", f"migrations= of {name!r}", given[name])) for name in given}
        for workflow in listed("Runner", "workflows=", workflows):
            self.add(workflow_of(workflow, "workflows= of a Runner"))

    @property
    def is_filled(self) -> bool:
        """Whether any definition is known."""
        return bool(self._known)

    @property
    def known(self) -> Sequence[Pattern]:
        """All definitions, by name and version."""
        return tuple(self._known[name] for name in sorted(self._known))

    def add(self, workflow: Pattern) -> None:
        """Add a definition with all its companions; the same one may be added again.

        Raises:
            DefinitionError: Another one has a name and version of theirs, or their parts do not fit together. Then
                none is added.
        """
        self._known = self.check_new(workflow)

    def check_new(self, workflow: Pattern) -> dict[tuple[str, int], Pattern]:
        """What would be known if a definition were added; see `add`."""
        known = dict(self._known)
        for member in family(workflow):
            if known.setdefault((member.name, member.version), member) is not member:
                raise DefinitionError(
                    f"workflow {member.name!r}",
                    f"another one of version {member.version} is registered: raise version= or change the name",
                )
            check_signals(member.name, member.plan)  # compiled now, so that what does not fit is said here
        return known

    def check(self, workflow: Pattern, *, starter: str | None = None) -> None:
        """See that a workflow can be found again after a crash.

        Args:
            workflow: It.
            starter: Name of the workflow of which a step starts it, if it is one.

        Raises:
            DefinitionError: It has not been added.
        """
        if self._known.get((workflow.name, workflow.version)) is not workflow:
            add = "add it to workflows=, or serve() it"
            if starter is not None:
                add = f"name it in companions= of {starter!r}, whose step starts it, or add it to workflows="
            raise DefinitionError(
                f"workflow {workflow.name!r}",
                f"this runner does not know it, so nobody could recover its runs: {add}",
            )

    def newest(self, name: str) -> Pattern:
        """The newest version of a workflow.

        Raises:
            WorkflowNotFound: There is none of this name.
        """
        versions = self.versions(name)
        if not versions:
            raise WorkflowNotFound(name, sorted({known for known, _ in self._known}))
        return self._known[name, versions[-1]]

    def of(self, name: str, version: int) -> Pattern:
        """A workflow of some version.

        Raises:
            WorkflowNotFound: There is none.
        """
        found = self._known.get((name, version))
        if found is None:
            known = [f"{each} version {number}" for each, number in sorted(self._known)]
            raise WorkflowNotFound(name, known, version)
        return found

    def versions(self, name: str) -> Sequence[int]:
        """The versions of a workflow that are known, the oldest first."""
        return sorted(version for known, version in self._known if known == name)

    def starts_others(self, info: RunInfo) -> bool:
        """Whether steps of a run may have started other runs, as far as is known."""
        workflow = self._known.get((info.workflow, info.version))
        return workflow is None or len(family(workflow)) > 1

    @property
    def hidden(self) -> Collection[tuple[str, str]]:
        """What runs of these workflows may not keep, whether or not somebody has given it as a secret."""
        return frozenset(chain.from_iterable(workflow.hidden for workflow in self._known.values()))

    def same(self, info: RunInfo) -> Pattern | None:
        """The definition of a stored run's own version, if there is one."""
        return self._known.get((info.workflow, info.version))

    def find(self, info: RunInfo) -> Definition:
        """The definition that a stored run belongs to: of its own version, or of the next that it can be migrated to.

        Raises:
            UnknownWorkflow: There is none.
        """
        steps: list[Migration] = []
        version, known = info.version, self._migrations.get(info.workflow, {})
        while (info.workflow, version) not in self._known:
            if version not in known:
                raise UnknownWorkflow(
                    info.run_id,
                    info.workflow,
                    info.version,
                    known=self.versions(info.workflow),
                    migrated=version,
                )
            steps.append(known[version])
            version += 1
        return Definition(self._known[info.workflow, version], tuple(steps))


def family(workflow: Pattern) -> Sequence[Pattern]:
    """A workflow and all whose runs its steps start, or the steps of those, and so on: each once."""
    found, ahead = list[Pattern](), [workflow]
    while ahead:
        member = ahead.pop()
        if not any(member is known for known in found):
            check_nesting(member)
            found.append(member)
            ahead += _companions(member)
    return found


def _companions(pattern: Pattern) -> Iterator[Pattern]:
    """Those of a pattern and of all patterns inside."""
    yield from pattern.companions
    for part in pattern.parts:
        if isinstance(part, Pattern):
            yield from _companions(part)
