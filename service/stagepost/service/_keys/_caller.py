"""Who asks, and what they may do."""

from enum import StrEnum
from typing import Final

from stagepost._dataclasses import dataclass


class Scope(StrEnum):
    """What a key allows; each is separate, and ``admin`` has all.

    - ``read``: list runs, show them, hear their streams, see what they wait for.
    - ``run``: start runs, tell and signal them, cancel and resume them.
    - ``decide``: answer, approve, settle.
    - ``admin``: fork runs, retry their items, delete them, change schedules.
    """

    READ = "read"
    RUN = "run"
    DECIDE = "decide"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: The name of the key; stored with what its holder decides.
        scopes: What it allows.
    """

    name: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether something that takes a scope is allowed."""
        return scope in self.scopes or Scope.ADMIN in self.scopes


ALL: Final = frozenset(Scope)
