"""A class whose instances handle the messages of one key each."""

from collections.abc import Callable, Hashable
from typing import Any

from ._blueprint import Blueprint
from ._running import worker_here


class PerKey:
    """How to make the instances of an agent with keys.

    Args:
        source: A class; anything else handles messages itself, and nothing has to be made.
        takes_key: Whether the constructor takes the key.
    """

    def __init__(self, source: object, *, takes_key: bool) -> None:
        self._source = source
        self._takes_key = takes_key

    def blueprint(self, key: Hashable) -> Blueprint | None:
        """How to make the instance for a key, if there is one to make."""
        source, takes_key = self._source, self._takes_key
        if not isinstance(source, type):
            return None
        return Blueprint(lambda: source(key=key) if takes_key else source(), is_factory=True)


def instance_method(name: str) -> Callable[..., Any]:
    """What calls a method of the instance whose message is handled."""

    def call(*arguments: object, **context: object) -> object:
        instance: Any = worker_here().recipient  # a worker calls this, for a message to one of the instances
        return getattr(instance.blueprint.instance, name)(*arguments, **context)

    return call
