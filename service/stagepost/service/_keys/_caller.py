"""Who asks for something, and what they may."""

from typing import Final

from stagepost._dataclasses import dataclass

from ..errors import ScopeRequired
from ._key import ALL, Scope


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks.

    Attributes:
        name: The name of the key; what is answered or decided is stored as said by it.
        scopes: What it may do.
    """

    name: str
    scopes: frozenset[Scope]

    def may(self, scope: Scope) -> bool:
        """Whether it may do this."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def require(self, scope: Scope) -> None:
        """See that it may do this.

        Raises:
            ScopeRequired: It may not.
        """
        if not self.may(scope):
            raise ScopeRequired(self.name, scope)


LOCAL: Final = Caller("local", ALL)
