"""Who answers, and what its API is like."""

import re
from dataclasses import field
from typing import Final, Literal, TypeAlias

from stagepost._dataclasses import dataclass

Api: TypeAlias = Literal["anthropic", "bedrock", "chat", "deepseek", "gemini", "mistral"]

_BEDROCK: Final = frozenset({"bedrock", "bedrock_converse", "amazon_nova"})
_HOSTS_OF_CLAUDE: Final = frozenset({"azure_ai", "vertex_ai", "vertex_ai_beta"})  # who speak Anthropic's own API
_GOOGLE: Final = frozenset({"gemini", "vertex_ai", "vertex_ai_beta"})
_MISTRAL: Final = re.compile(r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral", re.IGNORECASE)
_OLD_GEMINI: Final = re.compile(r"gemini-(?:[12](?:\.\d+)?|exp|pro|flash)(?:-|$)")
_SINGLE: Final = frozenset({"anthropic", "deepseek", "gemini", "mistral", "codestral", "openai", "xai"})


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider, and the model of it that is asked.

    Attributes:
        name: litellm's name of it, such as ``"anthropic"``.
        model: The model's whole name, as it was given.
        has_address: Whether it is asked at an address of its own, where any server may be that speaks this API.
        api: Which rules its requests have to follow.
    """

    name: str
    model: str
    has_address: bool = False
    api: Api = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "api", self._found())

    @property
    def is_claude(self) -> bool:
        """Whether the model is one of Anthropic's, whoever serves it."""
        return self.name == "anthropic" or "claude" in self.model.lower()

    @property
    def tells_calls_apart(self) -> bool:
        """Whether two calls of one answer may be the same but for their ids: Gemini had none before version 3."""
        return self.api != "gemini" or _OLD_GEMINI.match(self.model.rpartition("/")[2]) is None

    @property
    def flags_errors(self) -> bool:
        """Whether a result can be marked as an error. Bedrock could, but its requests are signed before we see them."""
        return self.api == "anthropic"

    def made(self, provider: str, model: str) -> bool:
        """Whether content of this provider and model is its own, so that it can read it.

        Of a provider that serves the models of several makers, a model reads what it has made itself, and Claude and
        Gemini what another model of their maker has made.
        """
        if provider != self.name:
            return False
        other = Provider(provider, model)
        related = (self.is_claude and other.is_claude) or self.api == other.api == "gemini"
        return self.name in _SINGLE or related or model == self.model

    def _found(self) -> Api:
        if self.name in _BEDROCK:
            return "bedrock"
        if self.name == "anthropic" or (self.is_claude and self.name in _HOSTS_OF_CLAUDE):
            return "anthropic"
        if _MISTRAL.search(self.name) or _MISTRAL.search(self.model):
            return "mistral"
        if self.name in _GOOGLE:
            return "gemini"
        return "deepseek" if self.name == "deepseek" else "chat"
