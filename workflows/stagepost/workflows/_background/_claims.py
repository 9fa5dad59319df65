"""Becoming the owner of a stored run."""

from stagepost.checkpoint import Lease, Snapshot

from .._runs._fitness import Fitness
from ..errors import RunCancelled
from ._endings import Endings
from ._line import Job
from ._means import Means


class Claims:
    """Claims runs for one runner.

    Args:
        means: Where they are stored, and for whom.
        endings: Ends those whose cancellation was requested.
        fitness: Says which can go on.
    """

    def __init__(self, means: Means, endings: Endings, fitness: Fitness) -> None:
        self._means = means
        self._endings = endings
        self._fitness = fitness

    async def check(self, run_id: str) -> None:
        """See that a run can go on; if not, it stays as it is.

        Raises:
            RunCancelled: Its end had been asked for, and is committed now.
            WorkflowError: It cannot.
        """
        snapshot = await self._means.store.load(run_id)
        if snapshot.run.cancelling and snapshot.run.status.is_open:
            await self._endings.cancel(run_id)
            raise RunCancelled(run_id)
        self._fitness.check(snapshot)

    async def claim(self, job: Job, *, reopen: bool = False) -> tuple[Snapshot, Lease]:
        """Claim a run and bring what is stored of it up to the workflow's version."""
        store, definition = self._means.store, job.definition
        shape = definition.workflow.shape
        lease = await store.claim(job.run_id, self._means.owner, reopen=reopen, recovering=job.recovering, shape=shape)
        snapshot = await store.load(job.run_id)
        migrated = definition.migrated(snapshot)
        if migrated is None:
            return snapshot, lease
        await store.migrate(lease, migrated)
        return await store.load(job.run_id), lease
