"""The prompts of Langfuse."""

from typing import TYPE_CHECKING

from stagepost.workflows import ExtraMissing

from .._tracing._langfuse import langfuse_settings
from ._registry import RegisteredPrompt

if TYPE_CHECKING:
    from ._langfuse_sdk import Api


class LangfusePrompts:
    """A registry of prompts that is a project of Langfuse.

    Versions are Langfuse's numbers. A trace in Langfuse leads from a question to the version of the prompt that it was
    asked with. Text prompts only: an agent makes a chat by itself.

    Args:
        public_key: By default that of the environment, ``LANGFUSE_PUBLIC_KEY``.
        secret_key: By default ``LANGFUSE_SECRET_KEY``.
        host: By default ``LANGFUSE_BASE_URL``, or ``LANGFUSE_HOST`` as it was called before, or Langfuse's cloud.

    Raises:
        ExtraMissing: The extra ``langfuse`` is not installed.
        InvalidArgument: A key is missing.
    """

    def __init__(
        self, *, public_key: str | None = None, secret_key: str | None = None, host: str | None = None
    ) -> None:
        self._api = _api(*langfuse_settings(public_key, secret_key, host))

    async def get(self, name: str, label: str) -> RegisteredPrompt:
        """Fetch the version of a prompt that has a label.

        Raises:
            PromptNotFound: There is none.
            PromptsUnavailable: It is a chat prompt, or Langfuse refuses the keys.
        """
        return await self._api.get(name, label)

    async def create(self, name: str, text: str, label: str) -> None:
        """Create the first version of a text prompt, with this label, unless there is a prompt of this name.

        Raises:
            PromptsUnavailable: Langfuse refuses the keys.
        """
        await self._api.create(name, text, label)


def _api(public_key: str, secret_key: str, host: str) -> "Api":
    try:
        from ._langfuse_sdk import Api  # noqa: PLC0415  # an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langfuse":
            raise
        raise ExtraMissing("LangfusePrompts", "langfuse", "langfuse") from None
    return Api(public_key, secret_key, host)
