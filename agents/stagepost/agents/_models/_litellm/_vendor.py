"""litellm itself: the one module that imports it."""

import logging
import os
from asyncio import get_running_loop  # noqa: TID251  # litellm runs on asyncio only
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

from stagepost.workflows import ExtraMissing

from ..._retries import check_retries
from .._messages import Usage
from ._counting import counted, number, price
from ._edits import Edits
from ._listening import listen, listening
from ._provider import Provider
from ._wire import Wire

_ENVIRONMENT: Final = {  # while it is imported, if the application does not say otherwise
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",  # or it fetches names of headers when Claude is first asked
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it fetches prices from the network, and prints if it cannot
    "LITELLM_MODE": "PRODUCTION",  # or it reads a file .env into the environment
}
_SET: Final = ("TIKTOKEN_CACHE_DIR",)  # by litellm, whatever the application has set; it reads its tables only once
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

    def provider(self, model: str, *, api_base: str | None, named: str | None) -> Provider:
        """Who is asked.

        Args:
            model: The model's name.
            api_base: Where it is asked, if that is not the provider's own address.
            named: The provider, if it is named apart from the model.
        """
        try:
            name = self._litellm.get_llm_provider(model=model, custom_llm_provider=named, api_base=api_base)[1]
        except Exception:  # noqa: BLE001  # litellm knows no provider: it says so when it is asked
            name = model.partition("/")[0]
        return Provider(str(name), model, has_address=api_base is not None)

    async def whole(self, arguments: Mapping[str, Any], edits: Edits) -> dict[str, Any]:
        """Ask, and get the whole answer: its message, the reason of its end, and its usage.

        Args:
            arguments: What is asked.
            edits: What is changed in the request on its way.
        """
        wire = Wire(edits)
        with listening(wire):
            answer = await self._litellm.acompletion(**_ALWAYS, **arguments)
        choice = answer.choices[0]
        reason = wire.reason or choice.finish_reason
        message = choice.message.model_dump()
        message["refusal"] = message.get("refusal") or wire.refusal
        if wire.items:
            message |= {"reasoning_items": wire.items, "reasoning_content": _summaries(wire.items)}
        message["served"] = wire.served
        return {"message": message, "reason": reason, "usage": getattr(answer, "usage", None)}

    async def stream(self, arguments: Mapping[str, Any], edits: Edits) -> "Stream":
        """Ask, and get the answer as it comes.

        Args:
            arguments: What is asked.
            edits: What is changed in the request on its way.
        """
        options = {"stream": True, "stream_options": {"include_usage": True}}
        wire = Wire(edits)
        with listening(wire):
            chunks = await self._litellm.acompletion(**_ALWAYS, **options, **arguments)
        return Stream(chunks, wire)

    def usage(self, model: str, counts: Any) -> Usage:
        """What an answer has used, from litellm's own count; its cost, if the model's price is known."""
        return Usage() if counts is None else counted(counts, self._cost(model, counts))

    def sees(self, model: str) -> bool:
        """Whether litellm knows the model to take pictures."""
        return bool(self._litellm.supports_vision(model=model))

    def window(self, model: str) -> int | None:
        """The tokens that a model can read; None if litellm does not know it."""
        try:
            return number(self._litellm.get_model_info(model=model).get("max_input_tokens")) or None
        except Exception:  # noqa: BLE001  # litellm raises a plain Exception for a model that it does not know
            return None

    def count(self, text: str) -> int:
        """The tokens of a text, roughly: by the one tokenizer that is loaded, since others would be fetched."""
        return int(self._litellm.token_counter(model="openai/any", text=text))

    def knows_schemas(self, model: str) -> bool:
        """Whether the provider makes the model keep to a JSON schema; False if litellm does not know the model."""
        return bool(self._litellm.supports_response_schema(model=model))

    def speaks_in_items(self, provider: Provider, asked: Mapping[str, Any]) -> bool:
        """Whether litellm asks OpenAI's responses API, which alone takes items of reasoning."""
        try:
            mode, _ = self._litellm.main.responses_api_bridge_check(
                model=provider.model.removeprefix(f"{provider.name}/"),
                custom_llm_provider=provider.name,
                tools=asked.get("tools"),
                reasoning_effort=asked.get("reasoning_effort"),
                api_base=asked.get("api_base"),
            )
        except Exception:  # noqa: BLE001  # litellm says what is wrong when it is asked
            return False
        return bool(mode.get("mode") == "responses")

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

    def _cost(self, model: str, counts: Any) -> float | None:
        try:
            parts = self._litellm.cost_per_token(model=model, usage_object=counts)
        except Exception:  # noqa: BLE001  # litellm raises a plain Exception for a model without a price
            return price(getattr(counts, "cost", None))
        return float(sum(parts))


class Stream:
    """An answer in deltas.

    Args:
        chunks: litellm's stream.
        wire: What comes for it.
    """

    def __init__(self, chunks: Any, wire: Wire) -> None:
        self._chunks = chunks
        self._wire = wire
        self._next = aiter(chunks)
        self._has_ended = False
        self.usage: Any = None

    @property
    def reason(self) -> str | None:
        """Why the provider has ended the answer; None if it has not: litellm itself would say "stop" then."""
        reason: str | None = self._wire.reason or self._chunks.received_finish_reason
        if reason is None and not self._wire.is_read:
            return getattr(self._chunks, "intermittent_finish_reason", None)
        return reason

    @property
    def refusal(self) -> str:
        """Why the provider does not want to answer, where litellm does not say it in a delta."""
        return self._wire.refusal

    async def next(self) -> dict[str, Any] | None:
        """The next delta; None at the end."""
        try:
            with listening(self._wire):  # for some providers litellm asks only now
                chunk = await anext(self._next)
        except StopAsyncIteration:
            return self._last()
        self.usage = getattr(chunk, "usage", None) or self.usage
        return {**chunk.choices[0].delta.model_dump(), **self._replaced} if chunk.choices else {}

    @property
    def _replaced(self) -> dict[str, Any]:
        """What is read on the wire: of it `_last` brings all, and meanwhile it tells whose calls these are."""
        return {"reasoning_items": None, "served": self._wire.served} if self._wire.is_read else {}

    def _last(self) -> dict[str, Any] | None:
        """One delta more, with what was read on the wire; then None."""
        if self._has_ended:
            return None
        self._has_ended = True
        return {"reasoning_items": self._wire.items, "served": self._wire.served}

    async def close(self) -> None:
        """Leave the rest."""
        await self._chunks.aclose()


def _summaries(items: Sequence[Mapping[str, Any]]) -> str:
    """What items of reasoning show."""
    shown = (part.get("text") or "" for item in items for part in item.get("summary") or ())
    return "\n\n".join(filter(None, shown))


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
    # All of litellm's asynchronous requests go through this class, unless the application has it use another one.
    listen(import_module("litellm.llms.custom_httpx.aiohttp_transport").LiteLLMAiohttpTransport)
    return Vendor(litellm)


def _warm_up(litellm: Any) -> None:
    """Do here what litellm would do in the event loop when it is first asked, which then stands still for 0.2 s."""
    import_module("openai.resources.chat")
    import_module("litellm.anthropic_beta_headers_manager")._load_beta_headers_config()  # noqa: SLF001  # else later
    litellm.token_counter(model="openai/any", text="any")  # loads the tables; it counts what it streams


@contextmanager
def _environment() -> Iterator[None]:
    """The environment that litellm is imported in; afterwards these names are what they were."""
    before = {name: os.environ.get(name) for name in (*_ENVIRONMENT, *_SET)}
    os.environ.update({name: value for name, value in _ENVIRONMENT.items() if before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _silence(litellm: Any) -> None:
    """Take away the handler that prints. What the application has put there stays."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(litellm._logging.handler)  # noqa: SLF001  # there is no other way to name it
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())  # without any, Python prints warnings itself
