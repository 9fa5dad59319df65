"""Models of all providers that litellm knows."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from anyio import CancelScope, fail_after, get_cancelled_exc_class, move_on_after, to_thread
from pydantic import SecretStr

from stagepost.hub import Duration, seconds

from ..._retries import Retries, retried
from ...errors import AnswerCut, AnswerTooLong, AsyncioRequired, ContentRefused, InvalidModel, ModelError, ModelTimeout
from .._addresses import address_secrets, named_secrets, shown_address
from .._masking import Mask
from .._messages import AssistantMessage
from .._model import ModelRequest, ModelResponse
from .._tokens import Tokens
from ._failing import Failures
from ._gathering import Gathered
from ._vendor import Stream, Vendor, load
from ._wording import worded

_RETRIES: Final = Retries()
_KEY_NAMES: Final = ("_API_KEY", "_TOKEN", "_SECRET", "_ACCESS_KEY")  # ends of variables that hold keys of providers
_LEEWAY: Final = 1.0  # seconds: our own limit is for what the libraries below do not notice, such as blank lines
_GRACE: Final = 5.0  # seconds to close a connection in
_OWN: Final = frozenset({  # what LiteLLM sets itself, or what would bring back what it does itself
    "api_base",
    "api_key",
    "base_url",
    "callbacks",
    "context_window_fallback_dict",
    "fallbacks",
    "max_retries",
    "messages",
    "model",
    "n",
    "num_retries",
    "request_timeout",
    "stream",
    "stream_options",
    "timeout",
    "tools",
})  # fmt: skip


class LiteLLM:
    """A model by its name, as litellm knows it: ``"openai/gpt-5-mini"``, ``"anthropic/claude-sonnet-4-5"``.

    Needs the extra ``llm`` (litellm), which is imported in a thread when the model is first asked, and asyncio. What
    goes wrong is one of the `ModelError`; what may pass is tried again, as `retries` says. No error carries a key.

    Args:
        name: The model, with its provider in front.
        api_base: Where the API is, for a server of your own; None for the provider's.
        api_key: The key; None for the one in the provider's environment variable.
        timeout: Seconds (or a `timedelta`) that one attempt may take; for a stream, until the next piece comes. A
            provider that sends blank lines meanwhile gets one second more. None for no limit.
        stream: Have each answer streamed. Without it that is done when somebody listens: ``ModelRequest.on_token``.
        options: What else the provider is told, such as ``{"temperature": 0, "max_tokens": 2000}``.
        retries: When to ask again.

    Raises:
        InvalidModel: The name is empty, or an option is one that is set otherwise.
        ValueError: The timeout is no time.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | SecretStr | None = None,
        timeout: Duration | None = 120.0,
        stream: bool = False,
        options: Mapping[str, Any] | None = None,
        retries: Retries = _RETRIES,
    ) -> None:
        self.name = name
        self.api_base = api_base
        self.retries = retries
        self._key = api_key.get_secret_value() if isinstance(api_key, SecretStr) else api_key
        self._timeout = None if timeout is None else seconds(timeout)
        self._stream = stream
        self._options = dict(options or {})
        self._check()
        self._vendor: Vendor | None = None

    def __repr__(self) -> str:
        where = "" if self.api_base is None else f", api_base={shown_address(self.api_base)!r}"
        return f"LiteLLM({self.name!r}{where})"

    @property
    def secrets(self) -> Sequence[str]:
        """What runs of agents that ask the model may not keep: its key, and keys in its address and headers.

        Without a key of its own, that in the environment variable of its provider (``OPENAI_API_KEY`` for
        ``"openai/…"``) as it is now.
        """
        key = self._key or os.environ.get(f"{self.name.partition('/')[0].upper()}_API_KEY")
        headers = self._options.get("extra_headers") or {}
        address = address_secrets(self.api_base or "", likely=True)
        return tuple(filter(None, [key, *named_secrets(headers, likely=True), *address]))

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

    async def answer(self, request: ModelRequest) -> ModelResponse:
        """Ask the model, again if need be.

        Raises:
            ModelError: There is no answer; the class says why.
            ExtraMissing: litellm is not installed.
            AsyncioRequired: The event loop is another one.
        """
        await self.prepare()
        return await retried(partial(self._attempt, request), self.retries)

    async def release(self) -> None:
        """Close the connections that litellm keeps for this event loop, which is about to end; others go on."""
        if self._vendor is not None:
            with move_on_after(_GRACE, shield=True):
                await self._vendor.release()

    async def aclose(self) -> None:
        """Close the connections. litellm keeps them for all its users in the process; it can be asked again behind."""
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

    async def _attempt(self, request: ModelRequest, attempt: int) -> ModelResponse:
        ask = self._streamed if self._stream or request.on_token is not None else self._whole
        try:
            return await ask(request, attempt)
        except ModelError:
            raise
        except TimeoutError:
            failure: ModelError = ModelTimeout(self.name, f"no answer came within {self._timeout} s", attempt=attempt)
        except Exception as error:  # noqa: BLE001  # litellm raises whatever the libraries below it do
            failure = Failures(self.name, Mask(self._secrets())).read(error, attempt)
        raise failure  # here, so that it does not carry the other one, whose text may show a key

    async def _whole(self, request: ModelRequest, attempt: int) -> ModelResponse:
        with self._limit():
            answer = await self._loaded.whole(self._arguments(request))
        choice = answer["choices"][0]
        gathered = Gathered()
        gathered.add(choice["message"])
        return self._finish(request, gathered, choice.get("finish_reason"), answer["usage"], attempt)

    async def _streamed(self, request: ModelRequest, attempt: int) -> ModelResponse:
        with self._limit():
            stream = await self._loaded.stream(self._arguments(request))
        try:
            gathered = await self._gather(stream, Tokens(request))
        finally:
            with CancelScope(shield=True), move_on_after(_GRACE):
                await stream.close()
        if stream.reason is None:
            detail = f"the stream ended behind {len(gathered.text)} characters without its end mark"
            raise AnswerCut(self.name, detail, attempt=attempt)
        return self._finish(request, gathered, stream.reason, stream.usage, attempt)

    async def _gather(self, stream: Stream, tokens: Tokens) -> Gathered:
        gathered = Gathered()
        while True:
            with self._limit():
                delta = await stream.next()
            if delta is None:
                return gathered
            tokens.add(gathered.add(delta))

    def _finish(
        self, request: ModelRequest, gathered: Gathered, reason: str | None, counted: Any, attempt: int
    ) -> ModelResponse:
        if gathered.refusal or reason == "content_filter":
            raise ContentRefused(
                self.name, gathered.refusal or "its content filter has ended the answer", attempt=attempt
            )
        if reason == "length":
            raise AnswerTooLong(self.name, f"it ended behind {len(gathered.text)} characters", attempt=attempt)
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return ModelResponse(gathered.text, gathered.calls(turn), self._loaded.usage(self.name, counted))

    def _limit(self) -> AbstractContextManager[object]:
        return fail_after(None if self._timeout is None else self._timeout + _LEEWAY)

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        native = request.output is not None and self._loaded.knows_schemas(self.name)
        return {
            "model": self.name,
            "api_base": self.api_base,
            "api_key": self._key,
            "timeout": self._timeout,
            **worded(request, native_schema=native),
            **self._options,
        }

    def _check(self) -> None:
        if not self.name:
            raise InvalidModel("LiteLLM", 'the name is empty: give one such as "openai/gpt-5-mini"')
        own = sorted(_OWN & self._options.keys())
        if own:
            raise InvalidModel(repr(self), f"options={{{own[0]!r}: …}} is not for options: LiteLLM sets it itself")

    def _secrets(self) -> list[str]:
        """The key, what stands in headers and the address, and the environment's keys, one of which may be used."""
        headers = self._options.get("extra_headers") or {}
        elsewhere = [value for name, value in os.environ.items() if name.upper().endswith(_KEY_NAMES)]
        own = [*filter(None, [self._key]), *named_secrets(headers), *address_secrets(self.api_base or "")]
        return [*own, *elsewhere]
