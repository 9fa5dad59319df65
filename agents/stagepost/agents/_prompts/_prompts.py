"""Prompts of a registry for agents, with local texts for when it has none."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from types import MappingProxyType
from typing import Any, Final, Self, TypeAlias

from stagepost.hub import Duration, get_logger, seconds

from .._definition._prompting import PromptContext
from .._models._filled_prompt import FilledPrompt
from ..errors import InvalidPrompt, PromptsUnavailable
from ._registry import PromptRegistry
from ._shelf import Shelf
from ._template import filled, unknown_variables

PromptVariable: TypeAlias = str | Callable[[PromptContext[Any, Any]], str]
"""The value of a variable in a prompt: a text, or what computes it for each turn."""

_BUILT_IN: Final = ("current_date", "model_name", "version")
_LOCAL: Final = "local"
_NO_VARIABLES: Final[Mapping[str, PromptVariable]] = MappingProxyType({})


class Prompts:
    """Prompts by name, from a registry where they are edited, for agents that must also work without it.

    ::

        prompts = Prompts(PromptFolder("prompts"), fallback={"weather-worker": "Answer questions about the weather."})
        weather = Agent("weather", prompts.use("weather-worker"), model="openai/gpt-5-nano", tools=[get_weather])
        async with prompts:
            ...

    The local text is used while the registry cannot be reached, has no prompt of the name, or has one that names
    unknown variables. In a text ``{{current_date}}`` is the date (``2026-11-23``), ``{{model_name}}`` the name of the
    agent's model, ``{{version}}`` the version of the prompt (``local`` for the local text), and any other name in
    double braces is one of `variables`.

    On entering, the registry is given the local texts of prompts that it does not have; its failure is logged, and
    stops nothing. While it is entered, texts older than `ttl` are fetched in the background and used until they have
    come. Used without entering, the next turn fetches them, and waits `timeout` at most.

    The text is not stored with a run: each turn uses the text of its time, also after a restart. Name, version and
    source (``registry`` or ``fallback``) are recorded with each question to the model in the traces of a run.

    Args:
        registry: The registry; None for the local texts only.
        fallback: The local texts, by the names of the prompts.
        label: Which version of a prompt is used.
        variables: Values of own variables for all prompts. They come before those that are built in.
        ttl: Seconds (or a `timedelta`) after which a text is fetched again.
        timeout: Seconds that a turn, or one step of a start, waits for the registry at most.
        create_missing: Whether entering adds prompts to the registry.
        clock: Seconds since 1970.
        zone: Time zone of the date.

    Raises:
        InvalidArgument: `ttl` or `timeout` is no duration.
    """

    def __init__(
        self,
        registry: PromptRegistry | None,
        fallback: Mapping[str, str],
        *,
        label: str = "production",
        variables: Mapping[str, PromptVariable] = _NO_VARIABLES,
        ttl: Duration = 60.0,
        timeout: Duration = 2.0,
        create_missing: bool = True,
        clock: Callable[[], float] = time.time,
        zone: tzinfo = UTC,
    ) -> None:
        self._fallback = dict(fallback)
        self._variables = dict(variables)
        self._create_missing = create_missing
        self._refused: set[tuple[str, str]] = set()
        self._clock = clock
        self._zone = zone
        limits = {"ttl": seconds(ttl, "ttl"), "timeout": seconds(timeout, "timeout")}
        self._shelf = None if registry is None else Shelf(registry, label, **limits, clock=clock)

    def use(
        self, name: str, *, variables: Mapping[str, PromptVariable] = _NO_VARIABLES
    ) -> Callable[[PromptContext[Any, Any]], Awaitable[FilledPrompt]]:
        """The prompt function of an agent that uses a prompt.

        Args:
            name: Name of the prompt.
            variables: Values of variables for this use; they come before those of all prompts.

        Raises:
            InvalidPrompt: There is no local text of this name, or it names an unknown variable.
        """
        if name not in self._fallback:
            raise InvalidPrompt(name, f"it has no local text: add it to fallback= (known: {_listed(self._fallback)})")
        own = {**self._variables, **variables}
        known = (*_BUILT_IN, *own)
        if unknown := unknown_variables(self._fallback[name], known):
            raise InvalidPrompt(
                name, f"its local text names {_listed(unknown)}: give variables=, or use one of these: {_listed(known)}"
            )

        async def prompt(context: PromptContext[Any, Any]) -> FilledPrompt:
            return await self._made(name, own, context)

        prompt.__qualname__ = f"prompt {name}"
        return prompt

    async def sync(self) -> Sequence[str]:
        """Give the registry the local texts of prompts that it does not have; nothing that it has is changed.

        Returns:
            The names of those that it did not have.

        Raises:
            PromptsUnavailable: The registry cannot be reached, is too slow, or fails.
        """
        if self._shelf is None:
            return ()
        missing = []
        for name, text in self._fallback.items():
            if await self._shelf.ask(name) is None:
                await self._shelf.create(name, text)
                missing.append(name)
        return tuple(missing)

    async def check(self) -> None:
        """Ask the registry for a prompt, whatever is kept: for the health of a service.

        Raises:
            PromptsUnavailable: It cannot be reached, is too slow, or fails. Agents go on with the texts that are known.
        """
        if self._shelf is not None:
            await self._shelf.ask(next(iter(self._fallback), "health"))

    async def __aenter__(self) -> Self:
        """Open it: add what the registry does not have, and fetch in the background from now on."""
        if self._shelf is not None:
            await self._shelf.__aenter__()
            if self._create_missing:
                await self._begin()
        return self

    async def __aexit__(self, *_raised: object) -> None:
        """Fetch nothing in the background any more."""
        if self._shelf is not None:
            await self._shelf.__aexit__()

    async def _begin(self) -> None:
        try:
            created = await self.sync()
        except PromptsUnavailable as error:
            get_logger("agents").warning("prompts_not_synced", why=error.why)
        else:
            if created:
                get_logger("agents").info("prompts_created", prompts=list(created))

    async def _made(
        self, name: str, variables: Mapping[str, PromptVariable], context: PromptContext[Any, Any]
    ) -> FilledPrompt:
        """The text for one turn."""
        found = None if self._shelf is None else await self._shelf.get(name)
        if found is not None:
            unknown = unknown_variables(found.text, (*_BUILT_IN, *variables))
            if not unknown:
                text = filled(found.text, self._values(variables, context, found.version))
                return FilledPrompt(text, name, found.version)
            self._refuse(name, found.version, unknown)
        text = filled(self._fallback[name], self._values(variables, context, _LOCAL))
        return FilledPrompt(text, name, _LOCAL, "fallback")

    def _refuse(self, name: str, version: str, unknown: Sequence[str]) -> None:
        """Say once of each version that it is not used."""
        if (name, version) not in self._refused:
            self._refused.add((name, version))
            get_logger("agents").warning("prompt_not_usable", prompt=name, version=version, unknown=list(unknown))

    def _values(
        self, variables: Mapping[str, PromptVariable], context: PromptContext[Any, Any], version: str
    ) -> Mapping[str, str]:
        today = datetime.fromtimestamp(self._clock(), self._zone).date().isoformat()
        own = {key: value if isinstance(value, str) else value(context) for key, value in variables.items()}
        return {"current_date": today, "model_name": context.model, "version": version, **own}


def _listed(names: Sequence[str] | Mapping[str, str]) -> str:
    return ", ".join(names) or "none"
