"""litellm itself: the one module that imports it."""

import logging
import os
from asyncio import get_running_loop  # noqa: TID251  # litellm runs on asyncio only
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from stagepost.workflows import ExtraMissing

from ..._retries import check_retries
from .._messages import Usage

_ENVIRONMENT: Final = {  # while it is imported, if the application does not say otherwise
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it fetches prices from the network, and prints if it cannot
    "LITELLM_MODE": "PRODUCTION",  # or it reads a file .env into the environment
}
_LOGGERS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")

# One call is one request: litellm's retries and those of the libraries below it are off. What it would do about tools
# of MCP servers is skipped; without the package mcp it fails at any tool.
_ALWAYS: Final = {"max_retries": 0, "num_retries": 0, "_skip_mcp_handler": True}


class Vendor:
    """What we use of litellm, in plain values.

    Args:
        litellm: The module.
    """

    def __init__(self, litellm: Any) -> None:
        self._litellm = litellm

    async def whole(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Ask, and get the whole answer."""
        answer = await self._litellm.acompletion(**_ALWAYS, **arguments)
        return {**answer.model_dump(), "usage": getattr(answer, "usage", None)}

    async def stream(self, arguments: Mapping[str, Any]) -> "Stream":
        """Ask, and get the answer as it comes."""
        options = {"stream": True, "stream_options": {"include_usage": True}}
        return Stream(await self._litellm.acompletion(**_ALWAYS, **options, **arguments))

    def usage(self, model: str, counted: Any) -> Usage:
        """What an answer has used, from litellm's own count; its cost, if the model's price is known."""
        if counted is None:
            return Usage()
        return Usage(
            input_tokens=counted.prompt_tokens or 0,
            output_tokens=counted.completion_tokens or 0,
            cost=self._cost(model, counted),
        )

    def knows_schemas(self, model: str) -> bool:
        """Whether the provider makes the model keep to a JSON schema; False if litellm does not know the model."""
        return bool(self._litellm.supports_response_schema(model=model))

    async def close(self) -> None:
        """Close litellm's connections, which all its users share; it opens new ones when it is asked again."""
        await self._litellm.close_litellm_async_clients()
        self._litellm.in_memory_llm_clients_cache.flush_cache()  # or it would go on with the closed ones

    async def release(self) -> None:
        """Close those of its connections that belong to this event loop, which is about to end."""
        known = self._litellm.in_memory_llm_clients_cache.cache_dict
        loop = f"-{id(get_running_loop())}"  # what litellm's names of its clients end with
        for key in [key for key in known if str(key).endswith(loop)]:
            handler = known.pop(key)
            client = getattr(handler, "_client", None) or getattr(handler, "client", handler)
            await client.aclose()

    def _cost(self, model: str, counted: Any) -> float | None:
        try:
            parts = self._litellm.cost_per_token(model=model, usage_object=counted)
        except Exception:  # noqa: BLE001  # litellm raises a plain Exception for a model without a price
            return None
        return float(sum(parts))


class Stream:
    """An answer in deltas.

    Args:
        chunks: litellm's stream.
    """

    def __init__(self, chunks: Any) -> None:
        self._chunks = chunks
        self._next = aiter(chunks)
        self.usage: Any = None

    @property
    def reason(self) -> str | None:
        """Why the provider has ended the answer; None if it has not: litellm itself would say "stop" then."""
        reason: str | None = self._chunks.received_finish_reason
        return reason

    async def next(self) -> dict[str, Any] | None:
        """The next delta; None at the end."""
        try:
            chunk = await anext(self._next)
        except StopAsyncIteration:
            return None
        self.usage = getattr(chunk, "usage", None) or self.usage
        return chunk.choices[0].delta.model_dump() if chunk.choices else {}

    async def close(self) -> None:
        """Leave the rest."""
        await self._chunks.aclose()


def load() -> Vendor:
    """Import litellm, which takes seconds: for a worker thread.

    It is told to look up nothing on the network, to leave the environment alone and to print nothing: what it logs goes
    where the application sends its loggers.

    Raises:
        ExtraMissing: It is not installed.
    """
    check_retries()
    try:
        with _environment():
            import litellm  # noqa: PLC0415  # an extra

            _warm_up(litellm)
    except ModuleNotFoundError as error:
        if error.name != "litellm":
            raise
        raise ExtraMissing("LiteLLM", "litellm", "llm") from None
    litellm.suppress_debug_info = True
    _silence(litellm)
    return Vendor(litellm)


def _warm_up(litellm: Any) -> None:
    """Do here what litellm would do in the event loop when it is first asked, which then stands still for 0.2 s."""
    import_module("openai.resources.chat")
    litellm.token_counter(model="openai/any", text="any")  # loads the tables; it counts what it streams


@contextmanager
def _environment() -> Iterator[None]:
    added = _ENVIRONMENT.keys() - os.environ.keys()
    os.environ.update({name: _ENVIRONMENT[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


def _silence(litellm: Any) -> None:
    """Take away the handler that prints. What the application has put there stays."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(litellm._logging.handler)  # noqa: SLF001  # there is no other way to name it
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())  # without any, Python prints warnings itself
