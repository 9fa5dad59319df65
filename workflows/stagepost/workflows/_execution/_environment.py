"""What a runner executes runs with."""

from collections.abc import Callable
from typing import Any

from stagepost._dataclasses import dataclass
from stagepost.checkpoint import CheckpointStore, Lease, Snapshot, StoredWait
from stagepost.hub import Emitter, Hub

from .._values._secrets import Secrets
from ._execution import Execution
from ._journal import Journal, Watch
from ._ledger import Ledger
from ._stored_lists import StoredLists


@dataclass(frozen=True, slots=True)
class Environment:
    """What a runner executes runs with; each process supplies its own.

    Attributes:
        store: Where runs are saved.
        emitter: Where events go.
        hub: Where steps ask agents.
        deps: Given to steps.
        clock: Seconds since 1970.
        secrets: Given to steps.
        lists: The lists of stored runs that are in memory.
        check_states: Whether steps that change their state in place fail; for tests.
    """

    store: CheckpointStore
    emitter: Emitter
    hub: Hub | None
    deps: Any
    clock: Callable[[], float]
    secrets: Secrets
    lists: StoredLists
    check_states: bool = False

    def execution(
        self, snapshot: Snapshot, lease: Lease, watch: Watch, misfit: Callable[[StoredWait], str | None]
    ) -> Execution:
        """A stored run in this process.

        Args:
            snapshot: It as it is stored.
            lease: The right to commit to it.
            watch: Is told of the waits that it opens.
            misfit: Says why a step of it cannot read what has ended a wait.
        """
        run = snapshot.run
        journal = Journal(
            self.store,
            lease,
            watch,
            is_attempt=run.attempts > 0,
            heard=run.news,
            misfit=lambda wait: self._masked(misfit(wait)),
        )
        execution = Execution(
            run.run_id,
            run.workflow,
            self.emitter,
            self.deps,
            self.hub,
            self.secrets,
            trace=run.trace or "",
            clock=self.clock,
            keep=run.keep,
            journal=journal,
            ledger=Ledger(journal),
            limits=self.store.limits,
            check_states=self.check_states,
            labels=run.labels,
        )
        execution.restore(snapshot)
        return execution

    def _masked(self, why: str | None) -> str | None:
        return None if why is None else self.secrets.mask(why)
