"""A registry whose answers a test decides."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stagepost.agents import PromptNotFound, RegisteredPrompt


async def at_once() -> None:
    """Answer without waiting."""


@dataclass
class Registry:
    """Has texts by name; each call waits for `first`, and raises `error` if there is one."""

    texts: dict[str, str] = field(default_factory=dict)
    first: Callable[[], Awaitable[None]] = at_once
    error: Exception | None = None
    version: int = 1
    asked: list[str] = field(default_factory=list)

    async def get(self, name: str, label: str) -> RegisteredPrompt:
        self.asked.append(f"{name}@{label}")
        await self.first()
        if self.error is not None:
            raise self.error
        if name not in self.texts:
            raise PromptNotFound(name, label)
        return RegisteredPrompt(self.texts[name], str(self.version))

    async def create(self, name: str, text: str, label: str) -> None:
        if self.error is not None:
            raise self.error
        assert label
        self.texts[name] = text


class Clock:
    """Seconds since 1970, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now
