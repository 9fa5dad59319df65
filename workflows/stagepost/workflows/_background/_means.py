"""What runs are executed with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stagepost.checkpoint import CheckpointStore, Lease, Snapshot
from stagepost.hub import Emitter, Hub

from .._execution._execution import Execution
from .._execution._journal import Journal, Watch
from .._execution._ledger import Ledger
from .._values._secrets import Secrets


@dataclass(frozen=True, slots=True)
class Means:
    """What a runner executes runs with; each process supplies its own.

    Attributes:
        store: Where runs are saved.
        owner: Name of the runner in the store.
        emitter: Where events go.
        hub: Where steps ask agents.
        deps: Given to steps.
        clock: Seconds since 1970.
        secrets: Given to steps.
        check_states: Whether steps that change their state in place fail; for tests.
    """

    store: CheckpointStore
    owner: str
    emitter: Emitter
    hub: Hub | None
    deps: Any
    clock: Callable[[], float]
    secrets: Secrets
    check_states: bool = False

    def execution(self, snapshot: Snapshot, lease: Lease, watch: Watch) -> Execution:
        """A stored run in this process.

        Args:
            snapshot: It as it is stored.
            lease: The right to commit to it.
            watch: Is told of the waits that it opens.
        """
        journal = Journal(self.store, lease, watch, is_attempt=snapshot.run.attempts > 0)
        run = snapshot.run
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
