"""The protocol of registries of prompts."""

from typing import Protocol

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegisteredPrompt:
    """A prompt as a registry has it.

    Attributes:
        text: Its text; ``{{name}}`` stands for a variable.
        version: Which of its versions this is.
    """

    text: str
    version: str


class PromptRegistry(Protocol):
    """Where prompts are kept and edited outside the code. `Prompts` limits the time of every call."""

    async def get(self, name: str, label: str) -> RegisteredPrompt:
        """The version of a prompt that has a label, such as ``production``.

        Raises:
            PromptNotFound: There is none. Every other exception means that the registry cannot say.
        """
        ...

    async def create(self, name: str, text: str, label: str) -> None:
        """Add a prompt with this label. If there is one of this name, whatever labels it has, change nothing."""
        ...
