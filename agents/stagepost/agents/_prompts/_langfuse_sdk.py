"""Langfuse's own client of its HTTP interface, without the client that keeps state for the whole process."""

from typing import Final
from urllib.parse import quote

import httpx  # Langfuse's client is built on it
from langfuse.api import (
    AccessDeniedError,
    AsyncLangfuseAPI,
    CreateTextPromptRequest,
    NotFoundError,
    Prompt_Text,
    UnauthorizedError,
)
from langfuse.api.core.request_options import RequestOptions

from ..errors import PromptNotFound, PromptsUnavailable
from ._registry import RegisteredPrompt

_ONCE: Final[RequestOptions] = {"max_retries": 0}  # whoever asks decides when to ask again
_ANY: Final = "latest"  # the label that Langfuse gives the newest version of each prompt
_REFUSED: Final = "Langfuse refuses the keys: check LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY and the host"


class Api:
    """The calls that a registry needs.

    Args:
        public_key: The project's public key.
        secret_key: Its secret key.
        host: Where Langfuse is.
    """

    def __init__(self, public_key: str, secret_key: str, host: str) -> None:
        self._prompts = AsyncLangfuseAPI(
            base_url=host.rstrip("/"),
            username=public_key,
            password=secret_key,
            x_langfuse_public_key=public_key,
            x_langfuse_sdk_name="python",
            httpx_client=httpx.AsyncClient(follow_redirects=True, limits=httpx.Limits(max_keepalive_connections=0)),
        ).prompts

    async def get(self, name: str, label: str) -> RegisteredPrompt:
        """See `LangfusePrompts`."""
        try:
            found = await self._prompts.get(quote(name, safe=""), label=label, request_options=_ONCE)
        except NotFoundError:
            raise PromptNotFound(name, label) from None
        except (AccessDeniedError, UnauthorizedError):
            raise PromptsUnavailable(_REFUSED) from None
        if not isinstance(found, Prompt_Text):
            raise PromptsUnavailable(f"{name!r} is a chat prompt: make it a text prompt in Langfuse")
        return RegisteredPrompt(found.prompt, str(found.version))

    async def create(self, name: str, text: str, label: str) -> None:
        """See `LangfusePrompts`."""
        try:
            await self._prompts.get(quote(name, safe=""), label=_ANY, request_options=_ONCE)
        except NotFoundError:
            await self._prompts.create(
                request=CreateTextPromptRequest(name=name, prompt=text, labels=[label]), request_options=_ONCE
            )
        except (AccessDeniedError, UnauthorizedError):
            raise PromptsUnavailable(_REFUSED) from None
