"""Making forks of runs: reading them as they were, and storing the new ones in one commit."""

from collections.abc import Sequence
from typing import Final

from stagepost.checkpoint import (
    CheckpointStore,
    Continued,
    Effect,
    EffectBelow,
    NewRun,
    RunInfo,
    Snapshot,
    StaleCheckpoint,
)

from .._execution._blobs import check_blobs
from .._execution._environment import Environment
from .._execution._sizes import check_sizes
from .._patterns._pattern import Pattern
from .._runs._continuing import check_continued
from .._runs._fitness import Fitness
from .._runs._forking import Changed, ForkOrder, begin_again, below_after, changed, effects_after, fork_of
from .._runs._migration import upgraded
from .._runs._starting import Begun
from .._values._schema import to_values
from .._values._state import Values
from ..errors import EffectsAgain
from ._claims import Claims
from ._run import Run
from ._starter import Starter

_TRIES: Final = 100  # a list may be replaced between reading a run and storing its fork, and the run is read again then


class Forker:
    """Makes forks.

    Args:
        environment: What runs are executed with.
        fitness: Says which of them this process can go on with.
        claims: What owns the forks.
        starter: Stores them and has them worked on.
    """

    def __init__(self, environment: Environment, fitness: Fitness, claims: Claims, starter: Starter) -> None:
        self._environment = environment
        self._fitness = fitness
        self._claims = claims
        self._starter = starter

    @property
    def store(self) -> CheckpointStore:
        """Where runs are."""
        return self._environment.store

    async def fork(self, run_id: str, order: ForkOrder) -> tuple[Run | None, RunInfo, NewRun]:
        """Fork a run.

        Returns:
            The fork's handle, or None if a run has its id; what is known of the one or the other; and what was to be
            stored.

        Raises:
            EffectsAgain: Effects would be repeated, and nothing was said of that.
            WorkflowError: The run cannot go on with the code of this process.
            CheckpointError: It cannot be read, or the fork not stored.
        """
        for left in reversed(range(_TRIES)):
            new, workflow = await self._new(run_id, order)
            try:
                run, info = await self._starter.store(Begun(new, {}), workflow, order.order)
            except StaleCheckpoint:
                if not left:
                    raise
            else:
                return run, info, new
        raise AssertionError  # pragma: no cover  # the last try has returned or raised

    async def _new(self, run_id: str, order: ForkOrder) -> tuple[NewRun, Pattern]:
        """The fork as it is to be stored, and its workflow."""
        there = await self.store.load(run_id, at=order.number)
        effects = effects_after(there, order.number)
        if order.effects != "again":
            below = below_after(there, await self.store.effects_below(run_id, at=order.number))
            _check_effects(run_id, effects if order.effects is None else (), below)
        before = begin_again(there, effects if order.effects == "keep" else ())
        prepared = self._fitness.check(before)
        workflow, after = prepared.definition.workflow, upgraded(before, prepared.migrated)
        change = await self._changed(workflow, after, order)
        new = fork_of(after, prepared, order, change, self._claims.owner.id)
        return new, workflow

    async def _changed(self, workflow: Pattern, after: Snapshot, order: ForkOrder) -> Changed:
        """What is changed, checked as what a run starts with."""
        if not order.changes:
            return Changed({}, {}, {})
        given, where = self._environment, f"the changes of a fork of {workflow.name!r}"
        continued = {key: value for key, value in order.changes.items() if isinstance(value, Continued)}
        check_continued(workflow, continued)
        schema = workflow.plan.schema
        older = {key: await given.lists.older(each, key, schema) for key, each in continued.items()}
        before = to_values(after.root.state, schema.lists)
        change = changed(schema, before, order.changes, older, where)
        self._check(change.values, where)
        return change

    def _check(self, values: Values, where: str) -> None:
        given = self._environment
        for value in values.values():
            given.secrets.check(value.data, where)
            check_blobs(value.blobs, where, given.store.limits, given.secrets)
        check_sizes(given.store.limits, where, values)


def _check_effects(run_id: str, effects: Sequence[Effect], below: Sequence[EffectBelow]) -> None:
    """See that nothing happens again of which nobody has spoken.

    Raises:
        EffectsAgain: Something would.
    """
    named = [(effect.place, effect.key) for effect in effects if not effect.is_note]
    named += [(f"{effect.run_id}/{effect.place}", effect.key) for effect in below]
    if named:
        raise EffectsAgain(run_id, named, below=bool(below))
