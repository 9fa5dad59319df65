"""What the verbs refuse by themselves.

::

    VerbError
    ├── NotAllowed      the key does not allow it
    └── InputRefused    what was given does not fit together
"""

from .._keys._caller import Scope


class VerbError(Exception):
    """Root of what the verbs refuse by themselves."""


class NotAllowed(VerbError, PermissionError):
    """The key of whoever asks does not allow it.

    Attributes:
        caller: Name of the key.
        verb: What was asked for.
        scope: What it takes.
    """

    def __init__(self, caller: str, verb: str, scope: Scope) -> None:
        super().__init__(f"the key {caller!r} may not {verb.replace('_', ' ')}: that takes the scope {scope.value!r}")
        self.caller = caller
        self.verb = verb
        self.scope = scope


class InputRefused(VerbError, ValueError):
    """What was given makes no sense, or does not fit together."""
