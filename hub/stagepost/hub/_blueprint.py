"""An agent's instance, and how to make it."""

from collections.abc import Callable
from inspect import isawaitable, signature
from typing import Any


class Blueprint:
    """How to make an agent's instance, and the current one.

    Attributes:
        instance: The current instance; handlers are looked up on it at each call, so that a new one takes over at once.
    """

    __slots__ = ("_make", "instance")

    def __init__(self, source: object, *, is_factory: bool = False) -> None:
        is_factory = is_factory or isinstance(source, type)
        self._make: Callable[[], object] = source if is_factory and callable(source) else lambda: source
        self.instance: object = None

    async def start(self, hub: object) -> None:
        """Make another instance and call its ``on_start``."""
        self.instance = self._make()
        await call_hook(self.instance, "on_start", hub)

    def method(self, name: str) -> Callable[..., Any]:
        """The method of the instance that is current when it is called."""

        def call(*arguments: object, **context: object) -> object:
            return getattr(self.instance, name)(*arguments, **context)

        return call


async def call_hook(instance: object, name: str, hub: object) -> None:
    """Call a hook, if the instance has it, with the hub if it has a parameter of that name."""
    hook = getattr(instance, name, None)
    if hook is None:
        return
    result = hook(hub=hub) if "hub" in signature(hook).parameters else hook()
    if isawaitable(result):
        await result


def has_hooks(source: object) -> bool:
    """Whether an object has hooks for its start or stop."""
    return hasattr(source, "on_start") or hasattr(source, "on_stop")
