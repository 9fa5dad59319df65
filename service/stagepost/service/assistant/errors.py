"""What an assistant refuses.

::

    AssistantError
    ├── InvalidAssistant (ValueError)   it is built in a way that could not answer
    └── InvalidRange (ValueError)       a range of days cannot be understood
"""

from ..errors import ServiceError


class AssistantError(ServiceError):
    """The root of the errors of this package."""


class InvalidAssistant(AssistantError, ValueError):
    """An assistant is built in a way that could not answer."""

    def __init__(self, why: str) -> None:
        super().__init__(why)


class InvalidRange(AssistantError, ValueError):
    """A range of days cannot be understood.

    Attributes:
        name: What was asked for.
        why: What is wrong with it.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name!r} is no range of days: {why}")
        self.name = name
        self.why = why
