"""Checks of what a service usually depends on, beside its store."""

from typing import Final
from urllib.parse import urlsplit

import anyio

from stagepost.agents import LiteLLM, Model, Prompts, Tracing, TracingStatistics

from ._health import HealthCheck

_PORTS: Final = {"http": 80, "https": 443}


def model_check(name: str, model: Model | str, *, is_needed: bool = True) -> HealthCheck:
    """A check of a model, without asking it, which would cost something.

    A model with an ``api_base`` is connected to; one that says what its ``secrets`` are has to have a key.

    Args:
        name: What it is called.
        model: The model, or the name of one that litellm knows.
        is_needed: See `HealthCheck`.
    """
    model = LiteLLM(model) if isinstance(model, str) else model

    async def look() -> str:
        base = getattr(model, "api_base", None)
        if base:
            return await _connected(str(base))
        if hasattr(model, "secrets") and not model.secrets:
            raise LookupError("it has no key: set the variable of its provider, or give api_key=")
        return "has a key" if hasattr(model, "secrets") else "needs no key"

    return HealthCheck(name, look, is_needed=is_needed)


async def _connected(address: str) -> str:
    parts = urlsplit(address)
    if parts.hostname is None:
        raise ValueError("its address has no host")
    stream = await anyio.connect_tcp(parts.hostname, parts.port or _PORTS.get(parts.scheme, 443))
    await stream.aclose()
    return "can be reached"


def prompts_check(prompts: Prompts, *, name: str = "prompts", is_needed: bool = False) -> HealthCheck:
    """A check of the registry of prompts. By default it is not needed: agents go on with the texts that are known.

    Args:
        prompts: The prompts.
        name: What it is called.
        is_needed: See `HealthCheck`.
    """

    async def look() -> str:
        await prompts.check()
        return "answers"

    return HealthCheck(name, look, is_needed=is_needed)


def tracing_check(tracing: Tracing, *, name: str = "tracing", is_needed: bool = False) -> HealthCheck:
    """A check of whether all was traced since the last look. By default it is not needed: runs go on untraced.

    Args:
        tracing: What ``Runner(tracing=…)`` was given.
        name: What it is called.
        is_needed: See `HealthCheck`.
    """
    seen = tracing.statistics()

    async def look() -> str:
        nonlocal seen
        before, seen = seen, tracing.statistics()
        lost = _lost(seen) - _lost(before)
        if lost:
            raise ConnectionError(
                f"{lost} of the last {lost + seen.told - before.told} calls of its provider were lost"
            )
        return f"{seen.told} calls of its provider have succeeded"

    return HealthCheck(name, look, is_needed=is_needed)


def _lost(counted: TracingStatistics) -> int:
    return counted.failed + counted.timed_out + counted.dropped
