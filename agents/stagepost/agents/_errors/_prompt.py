"""The errors of prompts that a registry has."""

from ._root import AgentError


class InvalidPrompt(AgentError, ValueError):
    """A prompt of a registry is used wrongly: there is no local text for it, or a variable is unknown.

    Attributes:
        prompt: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, prompt: str, why: str) -> None:
        super().__init__(f"prompt {prompt!r}: {why}")
        self.prompt = prompt
        self.why = why


class PromptNotFound(AgentError, LookupError):
    """A registry has no prompt of this name with this label.

    Attributes:
        prompt: Its name.
        label: The label.
    """

    def __init__(self, prompt: str, label: str) -> None:
        super().__init__(f"there is no prompt {prompt!r} with the label {label!r}: create it, or give one this label")
        self.prompt = prompt
        self.label = label


class PromptsUnavailable(AgentError, ConnectionError):
    """A registry of prompts cannot be reached, is too slow, or has given something that is no prompt.

    Attributes:
        why: What has happened.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"the registry of prompts is not available: {why}")
        self.why = why
