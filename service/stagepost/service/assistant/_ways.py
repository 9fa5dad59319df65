"""Which way conversations are answered: decided at the first message, and kept."""

from collections.abc import Callable
from typing import Final, cast

from stagepost.checkpoint import CheckpointStore, Statement

from ..channels import Rollout, Way
from ._request import AssistantRequest

_FIND: Final = "SELECT way FROM app_assistant_ways WHERE tenant = ? AND conversation = ?"
_KEEP: Final = "INSERT OR IGNORE INTO app_assistant_ways VALUES (?, ?, ?)"


class Ways:
    """Decides, and remembers.

    Args:
        store: Keeps what was decided.
        rollout: Gives the rules as they are now.
    """

    def __init__(self, store: CheckpointStore, rollout: Callable[[], Rollout]) -> None:
        self._store = store
        self._rollout = rollout

    async def of(self, request: AssistantRequest) -> Way:
        """The way of a message: that of its conversation, unless the flag is off."""
        where = (request.tenant, request.conversation_id)
        rows = await self._store.query(_FIND, *where)
        decided = cast("Way", str(rows[0][0])) if rows else None
        rollout = self._rollout()
        way = rollout.way("/".join(where), user=request.user.id, channel=request.channel, decided=decided)
        if decided is None and rollout.enabled:
            await self._store.execute(Statement(_KEEP, (*where, way)))
        return way
