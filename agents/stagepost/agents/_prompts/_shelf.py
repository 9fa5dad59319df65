"""The texts of one registry that a process has, how old they are, and when each is fetched again."""

from collections.abc import Awaitable, Callable
from typing import Final, Self, TypeVar

import anyio
from anyio.abc import TaskGroup

from stagepost._dataclasses import dataclass
from stagepost.hub import describe_error, get_logger

from ..errors import PromptNotFound, PromptsUnavailable
from ._registry import PromptRegistry, RegisteredPrompt

_AGAIN: Final = 10.0  # seconds until a registry that could not say is asked again, unless texts are kept for less
_PATIENCE: Final = 30.0  # seconds that a fetch may take in the background

_T = TypeVar("_T")


@dataclass(slots=True)
class _Kept:
    """What is known of one prompt.

    Attributes:
        prompt: What the registry gave last; None if it has none, or was never reached.
        is_known: Whether the registry was asked before, with whatever result.
        due: When it is asked again, in seconds since 1970.
        fetching: Is set when the fetch under way has ended; None if there is none.
    """

    prompt: RegisteredPrompt | None = None
    is_known: bool = False
    due: float = 0.0
    fetching: anyio.Event | None = None


class Shelf:
    """Keeps what a registry has given, and lets nobody wait for it longer than they may.

    While it is open, a text that is too old is fetched in the background, and used meanwhile. While it is not, whoever
    needs it fetches it.

    Args:
        registry: The registry.
        label: Which versions.
        ttl: Seconds after which a text is fetched again.
        timeout: Seconds that anybody waits for the registry at most.
        clock: Seconds since 1970.
    """

    def __init__(
        self, registry: PromptRegistry, label: str, *, ttl: float, timeout: float, clock: Callable[[], float]
    ) -> None:
        self._registry = registry
        self._label = label
        self._ttl = ttl
        self._timeout = timeout
        self._clock = clock
        self._kept: dict[str, _Kept] = {}
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        tasks = anyio.create_task_group()
        self._tasks = await tasks.__aenter__()
        return self

    async def __aexit__(self, *_raised: object) -> None:
        tasks, self._tasks = self._tasks, None
        if tasks is not None:
            tasks.cancel_scope.cancel()
            await tasks.__aexit__(None, None, None)
        for kept in self._kept.values():
            kept.fetching = None  # a fetch that had not begun yet has not said so

    async def get(self, name: str) -> RegisteredPrompt | None:
        """A prompt as it is now, or was a while ago; None if the registry has none, or was never reached."""
        kept = self._kept.setdefault(name, _Kept())
        if self._clock() < kept.due:
            return kept.prompt
        if kept.fetching is None and self._tasks is None:
            await self._fetch(name, kept, anyio.Event(), self._timeout)
            return kept.prompt
        if kept.fetching is None and self._tasks is not None:
            kept.fetching = anyio.Event()
            self._tasks.start_soon(self._fetch, name, kept, kept.fetching, _PATIENCE, name=f"prompt {name}")
        if kept.fetching is not None and not kept.is_known:
            with anyio.move_on_after(self._timeout):
                await kept.fetching.wait()
        return kept.prompt

    async def ask(self, name: str) -> RegisteredPrompt | None:
        """What the registry says at this moment; None if it has no such prompt.

        Raises:
            PromptsUnavailable: It cannot be reached, is too slow, or fails.
        """
        try:
            return await self._within(self._registry.get(name, self._label), self._timeout)
        except PromptNotFound:
            return None

    async def create(self, name: str, text: str) -> None:
        """Have the registry add a prompt, unless it has one of this name.

        Raises:
            PromptsUnavailable: It cannot be reached, is too slow, or fails.
        """
        await self._within(self._registry.create(name, text, self._label), self._timeout)

    async def _fetch(self, name: str, kept: _Kept, fetching: anyio.Event, limit: float) -> None:
        """Ask the registry, and note what it says; whatever becomes of it, it is not asked again at once."""
        kept.fetching, pause = fetching, min(_AGAIN, self._ttl)
        try:
            kept.prompt = await self._within(self._registry.get(name, self._label), limit)
            pause = self._ttl
        except PromptNotFound:
            kept.prompt, pause = None, self._ttl
        except PromptsUnavailable as error:
            get_logger("agents").warning("prompt_not_fetched", prompt=name, label=self._label, why=error.why)
        finally:
            kept.is_known, kept.due, kept.fetching = True, self._clock() + pause, None
            fetching.set()

    async def _within(self, asked: Awaitable[_T], limit: float) -> _T:
        try:
            with anyio.fail_after(limit):
                return await asked
        except PromptNotFound:
            raise
        except TimeoutError as error:
            raise PromptsUnavailable(f"it did not answer within {limit:g} s") from error
        except Exception as error:  # whatever the library of a registry raises
            raise PromptsUnavailable(describe_error(error)) from error
