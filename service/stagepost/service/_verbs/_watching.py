"""Following a run: what becomes of it, told in short."""

from collections.abc import AsyncGenerator
from typing import Final

import anyio

from .._wire._watched import WatchEvent
from ._base import Base
from ._changes import Look, changes
from ._looking import is_over, look
from ._scopes import verb

_PAUSE: Final = 0.1  # seconds between two looks at a run that commits all the time


class Watching(Base):
    """The part of `Verbs` that follows runs."""

    @verb
    async def watch(self, run_id: str, *, until_settled: bool = False) -> AsyncGenerator[WatchEvent, None]:
        """What becomes of a run until it has ended, beginning with where it stands.

        Args:
            run_id: The run.
            until_settled: End as well when it waits for somebody.

        Raises:
            RunNotFound: There is none.
            RunLeftOpen: Nobody can go on with it.
            RunnerStopped: The service ends.
        """
        before: Look | None = None
        with self._runner.listen(run_id, buffer=0) as listening:
            while True:
                await listening.next()
                seen = await look(self._runner.store, run_id)
                for event in changes(before, seen):
                    yield event
                if is_over(seen.snapshot.run.status, until_settled=until_settled):
                    return
                before = seen
                await anyio.sleep(_PAUSE)
