"""A prompt whose text is ready for a model, with what it was made from."""

from typing import Literal, TypeAlias

from stagepost._dataclasses import dataclass

PromptSource: TypeAlias = Literal["registry", "fallback"]


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """What a prompt function may return instead of a text, so that traces say where the text is from.

    Attributes:
        text: The text for the model; nothing in it is replaced any more.
        name: Name of the prompt.
        version: Its version, as the registry has it.
        source: Whether the registry gave it, or it is the local one.
    """

    text: str
    name: str
    version: str
    source: PromptSource = "registry"
