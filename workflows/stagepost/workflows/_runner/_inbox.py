"""The inbox of a process that does not work on the runs: it reads what they wait for, and writes for them."""

from collections.abc import Iterable
from typing import Self

from stagepost.checkpoint import RunInfo

from .._patterns._pattern import Pattern, Servable
from .._runs._registry import Migrations, Registry
from .._values._secrets import Given, Secrets
from ..errors import RunLeftOpen
from ._hints import check_id
from ._sending import InboxStore, Sending


class Inbox(Sending):
    """What runs wait for, for a process that does not work on them: it answers, signals, settles and cancels.

    All of it is on disk when the call returns. The runner that owns the run hears of it at once if it is in this
    process, otherwise within a fraction of a second, or when it is started the next time.

    With the definitions of the workflows, values are checked as the runner checks them, and with the secrets they are
    refused if they hold one. Without definitions the value is stored as plain JSON, and the runner checks it when it
    hears of it: what does not fit is dropped, the wait is open again, and `PendingWait.refused` says why. Without the
    secrets nobody checks whether it holds one.

    Args:
        store: Where the runs are: ``SqliteStore.inbox(path)``, or a store of this process.
        workflows: The definitions that values are checked against; all that runs belong to, or none.
        migrations: As for `Runner`, so that runs of an older version are known.
        secrets: As for `Runner`: no answer may hold one.
    """

    def __init__(
        self,
        store: InboxStore,
        *,
        workflows: Iterable[Servable] = (),
        migrations: Migrations | None = None,
        secrets: Given | None = None,
    ) -> None:
        self._store = store
        self._registry = Registry(workflows, migrations)
        self._secrets = Secrets(secrets, hidden=self._registry.hidden)

    @classmethod
    def of(cls, store: InboxStore, registry: Registry, secrets: Secrets) -> Self:
        """One with the definitions and secrets that a runner has."""
        inbox = cls(store)
        inbox._registry, inbox._secrets = registry, secrets
        return inbox

    async def cancel(self, run_id: str) -> None:
        """Request the end of an open run for good, with the runs that its steps have started and that are open.

        It is on disk when this returns, and the run takes no other commit. Its runner cancels what it does.

        Raises:
            RunNotFound: There is none.
            RunNotOpen: It has ended.
        """
        await self._store.cancel(check_id(run_id))

    async def _definition(self, info: RunInfo) -> Pattern | None:
        if info.blocked is not None:
            raise RunLeftOpen(info.run_id, info.blocked)
        return self._registry.find(info).workflow if self._registry.is_filled else None

    async def _blocked(self, run_id: str, why: str | None) -> str | None:  # noqa: ARG002  # a runner looks at the run
        return why
