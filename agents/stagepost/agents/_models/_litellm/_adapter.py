"""Models of all providers that litellm knows."""

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from anyio import CancelScope, fail_after, get_cancelled_exc_class, move_on_after, to_thread
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic import SecretStr

from stagepost.hub import Duration, seconds

from ..._retries import Retries, retried
from ..._tracing._current import current_trace_context
from ...errors import AsyncioRequired, InvalidModel, ModelError, ModelTimeout, UnsupportedPart
from .._addresses import address_secrets, named_secrets, shown_address
from .._masking import KeyMask
from .._messages import asked_parts
from .._model import ModelRequest, ModelResponse
from .._parts import Part
from .._settings import ModelSettings
from .._tokens import Tokens
from ._answering import finished, whole_stream
from ._asking import folded
from ._edits import Edits
from ._failing import Failures
from ._gathering import Gathered
from ._media import refusals, shown_results
from ._provider import Provider
from ._provider_tools import refuse_tools
from ._question import has_items, question, without_items
from ._served import marks, without_contents
from ._vendor import Stream, Vendor, load
from ._wording import failed_calls

_RETRIES: Final = Retries()
_SETTINGS: Final = ModelSettings()
_KEY_NAMES: Final = ("_API_KEY", "_TOKEN", "_SECRET", "_ACCESS_KEY")  # ends of variables that hold keys of providers
_LEEWAY: Final = 1.0  # seconds: our own limit is for what the libraries below do not notice, such as blank lines
_GRACE: Final = 5.0  # seconds to close a connection in
_MAKERS: Final = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude-": "anthropic",
}


class LiteLLM:
    """A model by its name, as litellm knows it: ``"openai/gpt-5-mini"``, ``"anthropic/claude-sonnet-4-5"``.

    Needs asyncio and the extra ``llm`` (litellm), which is imported in a thread when the model is first asked. Errors
    are subclasses of `ModelError`; transient ones are retried as `retries` says. No error contains a key.

    Args:
        name: The model, with its provider in front.
        api_base: URL of the API, for your own server; None for the provider's.
        api_key: The key; None for the one in the provider's environment variable.
        timeout: Seconds (or a `timedelta`) for one attempt; for a stream, until the next piece arrives. A provider that
            sends blank lines meanwhile gets one second more. None for no limit. A ``timeout`` in settings overrides it.
        stream: Stream every answer. Without it answers are streamed if somebody listens: ``ModelRequest.on_token``.
        settings: Default settings, which those of the agent and the run override.
        options: More of ``settings.extra``, for this provider only, such as ``{"extra_headers": …}``.
        retries: When to retry.
        propagate_trace: Whether each request carries the trace that it belongs to, as the header ``traceparent`` (W3C
            Trace Context). For your own server or gateway; a provider need not know your trace ids.

    Raises:
        InvalidModel: The name is empty, or an option has to be set in another way.
        ValueError: The timeout is not a duration.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | SecretStr | None = None,
        timeout: Duration | None = 120.0,
        stream: bool = False,
        settings: ModelSettings = _SETTINGS,
        options: Mapping[str, Any] | None = None,
        retries: Retries = _RETRIES,
        propagate_trace: bool = False,
    ) -> None:
        self.name = name
        self.api_base = api_base
        self.retries = retries
        self._key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
        self._timeout = None if timeout is None else seconds(timeout)
        self._stream = stream
        self._propagates = propagate_trace
        if not name:
            raise InvalidModel("LiteLLM", 'the name is empty: give one such as "openai/gpt-5-mini"')
        self.settings = folded(repr(self), settings, options or {})
        self._vendor: Vendor | None = None
        self._asked: Provider | None = None
        self._window: int | None = None

    def __repr__(self) -> str:
        where = "" if self.api_base is None else f", api_base={shown_address(self.api_base)!r}"
        return f"LiteLLM({self.name!r}{where})"

    @property
    def secrets(self) -> Sequence[str]:
        """The secrets of the model: its key, and keys in its URL and headers.

        Without a key of its own, the current value of its provider's environment variable (``OPENAI_API_KEY`` for
        ``"openai/…"``, and for names such as ``"gpt-5-mini"`` that litellm knows as OpenAI's).
        """
        key = self._key or os.environ.get(_key_variable(self.name))
        headers = self.settings.extra.get("extra_headers") or {}
        address = address_secrets(self.api_base or "", likely=True)
        return tuple(filter(None, [key, *named_secrets(headers, likely=True), *address]))

    @property
    def context_window(self) -> int | None:
        """The tokens that the model can read, as litellm knows it; None if it does not, or before `prepare`."""
        if self._window is None and self._vendor is not None:
            self._window = self._vendor.window(self.name) or 0
        return self._window or None

    async def count_tokens(self, text: str) -> int:
        """The tokens of a text, roughly: the tokenizer is one of OpenAI's for all models. In a thread.

        Raises:
            ExtraMissing: litellm is not installed.
            AsyncioRequired: The event loop is another one.
        """
        await self.prepare()
        return await to_thread.run_sync(self._loaded.count, text)

    async def prepare(self) -> None:
        """Import litellm now, in a thread, rather than when the model is first asked.

        Raises:
            ExtraMissing: It is not installed.
            AsyncioRequired: The event loop is another one.
        """
        if not get_cancelled_exc_class().__module__.startswith("asyncio"):
            raise AsyncioRequired(repr(self))
        if self._vendor is None:
            self._vendor = await to_thread.run_sync(load)

    def check_parts(self, parts: Iterable[Part]) -> None:
        """Check that the model can take pictures, sounds and files, as far as that is known, without asking it.

        Before the model is prepared nothing is known.

        Raises:
            UnsupportedPart: It is known not to take one of them.
        """
        parts = tuple(parts)
        if self._vendor is None or not parts:
            return
        for part, why in refusals(parts, self._provider, sees=self._vendor.sees(self.name)):
            raise UnsupportedPart(self.name, part.kind, part.name or part.url or part.digest or "", why)

    def check_provider_tools(self, request: ModelRequest) -> None:
        """Check that the provider takes the request's provider tools, as far as that is known, without asking it.

        Before the model is prepared nothing is known.

        Raises:
            UnsupportedTool: It is known not to take one of them.
        """
        if self._vendor is not None and request.provider_tools:
            asked = {"tools": [{"type": "function", "function": {}} for _ in request.tools], "api_base": self.api_base}
            in_items = self._vendor.speaks_in_items(self._provider, asked)
            refuse_tools(request, self._provider, speaks_in_items=in_items)

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Ask the model, with retries.

        Raises:
            ModelError: There is no answer; the class says why.
            UnsupportedTool: The provider does not take one of its tools.
            InvalidModel: A setting is given twice.
            ExtraMissing: litellm is not installed.
            AsyncioRequired: The event loop is another one.
        """
        await self.prepare()
        self.check_provider_tools(request)
        await checkpoint_if_cancelled()  # litellm leaves a coroutine behind where it is cancelled before its first step
        self.check_parts(asked_parts(request.messages))
        settings = folded(repr(self), request.settings).over(self.settings)
        messages = shown_results(request.messages, self._provider, sees=self._loaded.sees(self.name))
        asked = replace(request, messages=messages, settings=settings)
        return await retried(partial(self._attempt, asked), self.retries)

    async def release(self) -> None:
        """Close the connections that litellm keeps for this event loop, which is about to end; others stay open."""
        if self._vendor is not None:
            with move_on_after(_GRACE, shield=True):
                await self._vendor.release()

    async def aclose(self) -> None:
        """Close the connections. litellm keeps them for all its users in the process; it can be asked again."""
        if self._vendor is not None:
            with move_on_after(_GRACE, shield=True):
                await self._vendor.close()

    async def __aenter__(self) -> Self:
        await self.prepare()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()

    @property
    def _loaded(self) -> Vendor:
        assert self._vendor is not None  # noqa: S101  # `answer` has seen to it
        return self._vendor

    @property
    def _provider(self) -> Provider:
        if self._asked is None:
            named = self.settings.extra.get("custom_llm_provider")
            self._asked = self._loaded.provider(self.name, api_base=self.api_base, named=named)
        return self._asked

    async def _attempt(self, request: ModelRequest, attempt: int) -> ModelResponse:
        ask = self._streamed if self._stream or request.on_token is not None else self._whole
        limit = self._timeout if request.settings.timeout is None else request.settings.timeout
        try:
            return await ask(request, limit, attempt)
        except ModelError:
            raise
        except TimeoutError:
            failure: ModelError = ModelTimeout(self.name, f"no answer came within {limit} s", attempt=attempt)
        except Exception as error:  # noqa: BLE001  # litellm raises whatever the libraries below it do
            failure = Failures(self.name, KeyMask(self._secrets())).read(error, attempt)
        raise failure  # here, so that it does not carry the other one, whose text may show a key

    async def _whole(self, request: ModelRequest, limit: float | None, attempt: int) -> ModelResponse:
        with _limit(limit):
            answer = await self._loaded.whole(*self._arguments(request, limit))
        gathered = Gathered(known={tool.name for tool in request.tools})
        gathered.add(answer["message"], is_whole=True)
        usage = self._loaded.usage(self.name, answer["usage"])
        return finished(request, gathered, answer["reason"], usage, provider=self._provider, attempt=attempt)

    async def _streamed(self, request: ModelRequest, limit: float | None, attempt: int) -> ModelResponse:
        with _limit(limit):
            stream = await self._loaded.stream(*self._arguments(request, limit))
        try:
            gathered = await self._gather(stream, request, limit)
        finally:
            with CancelScope(shield=True), move_on_after(_GRACE):
                await stream.close()
        gathered.refusal = stream.refusal or gathered.refusal  # litellm brings the first piece of it only
        reason = whole_stream(self.name, gathered, stream.reason, attempt)
        usage = self._loaded.usage(self.name, stream.usage)
        return finished(request, gathered, reason, usage, provider=self._provider, attempt=attempt)

    async def _gather(self, stream: Stream, request: ModelRequest, limit: float | None) -> Gathered:
        gathered, tokens = Gathered(known={tool.name for tool in request.tools}), Tokens(request)
        while True:
            with _limit(limit):
                delta = await stream.next()
            if delta is None:
                return gathered
            for piece in gathered.add(delta):
                tokens.add(*piece)

    def _arguments(self, request: ModelRequest, limit: float | None) -> tuple[dict[str, Any], Edits]:
        """What litellm is told, and what is changed of that on its way."""
        where = {"model": self.name, "api_base": self.api_base, "api_key": self._key, "timeout": limit}
        native = request.output is not None and self._loaded.knows_schemas(self.name)
        provider = self._provider
        asked = {**where, **question(request, provider, native_schema=native)}
        contents = marks(request.messages, provider)
        in_items = has_items(asked) or (contents and provider.api == "chat")
        if in_items and not self._loaded.speaks_in_items(provider, asked):
            told = replace(request, messages=without_contents(request.messages))
            asked, contents = without_items({**where, **question(told, provider, native_schema=native)}), {}
        if self._propagates and (observed := current_trace_context()) is not None:
            asked["extra_headers"] = {**(asked.get("extra_headers") or {}), "traceparent": observed.traceparent}
        failed = failed_calls(request.messages, asked["messages"]) if provider.flags_errors else ()
        return asked, Edits(failed, contents)

    def _secrets(self) -> list[str]:
        """The key, what stands in headers and the address, and the environment's keys, one of which may be used."""
        headers = self.settings.extra.get("extra_headers") or {}
        elsewhere = [value for name, value in os.environ.items() if name.upper().endswith(_KEY_NAMES)]
        own = [*filter(None, [self._key]), *named_secrets(headers), *address_secrets(self.api_base or "")]
        return [*own, *elsewhere]


def _key_variable(name: str) -> str:
    """The variable in which the key of a model usually stands."""
    provider, slash, _ = name.partition("/")
    if not slash:
        provider = next((known for start, known in _MAKERS.items() if name.startswith(start)), provider)
    return f"{provider.upper()}_API_KEY"


def _limit(limit: float | None) -> AbstractContextManager[object]:
    return fail_after(None if limit is None else limit + _LEEWAY)
