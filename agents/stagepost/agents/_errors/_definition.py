"""What is wrong with the definition of an agent, its settings, its tools, or what it is given."""

from collections.abc import Sequence

from ._root import AgentError


class InvalidAgent(AgentError, ValueError):
    """An agent is defined wrongly.

    Attributes:
        agent: Its name.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r}: {why}")
        self.agent = agent
        self.why = why


class InvalidSettings(AgentError, ValueError):
    """A setting of a model has an invalid value.

    Attributes:
        setting: Its name.
        value: The value.
        expected: What it may be.
    """

    def __init__(self, setting: str, value: object, expected: str) -> None:
        super().__init__(f"ModelSettings({setting}={value!r}): give {expected}, or leave it out")
        self.setting = setting
        self.value = value
        self.expected = expected


class InvalidAgentData(AgentError, ValueError):
    """Agents cannot be built from data.

    Attributes:
        why: What is wrong, and where in the data.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"agents cannot be built from this data: {why}")
        self.why = why


class NamesMissing(AgentError, LookupError):
    """Agents cannot be written as data, because objects of code have no name.

    Attributes:
        missing: All that has none.
    """

    def __init__(self, missing: Sequence[str]) -> None:
        super().__init__(
            f"these have no name, by which data could say them: {'; '.join(missing)}. Give Agents.dump and Agents.load "
            "the same tools=, models=, types= and parts=, with all of them"
        )
        self.missing = tuple(missing)


class UnknownAgent(AgentError, KeyError):
    """`Agents` has no agent of this name.

    Attributes:
        agent: The name.
        known: The names that it has.
    """

    def __init__(self, agent: str, known: Sequence[str]) -> None:
        super().__init__(agent, known)
        self.agent = agent
        self.known = known

    def __str__(self) -> str:  # `KeyError` would show the message as a literal
        return f"there is no agent {self.agent!r}; there are: {', '.join(self.known) or 'none'}"


class InvalidTool(AgentError, ValueError):
    """A function cannot be a tool as it is written.

    Attributes:
        tool: The tool's name, or the function's representation if it has none.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ToolUnavailable(AgentError, ConnectionError):
    """Raised by a tool: a resource is unavailable for now. An idempotent tool is called again.

    Attributes:
        why: What cannot be reached, and why; the model is told after the last attempt.
        retry_after: Seconds to wait before the next attempt; None if unknown.
    """

    def __init__(self, why: str, *, retry_after: float | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


class InvalidHook(AgentError, TypeError):
    """A hook has returned something invalid.

    Attributes:
        hook: The method, with its class.
        why: What is wrong, and what to do about it.
    """

    def __init__(self, hook: str, why: str) -> None:
        super().__init__(f"hook {hook}: {why}")
        self.hook = hook
        self.why = why


class ModelMissing(AgentError):
    """An agent is to run and has no model.

    Attributes:
        agent: Its name.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(f"agent {agent!r} has no model: give it one with model=, or one to run(request, model=…)")
        self.agent = agent


class InvalidRequest(AgentError, ValueError):
    """An agent was asked with something that is not its input.

    Attributes:
        agent: Its name.
        why: What is wrong with the request, and what to ask with.
    """

    def __init__(self, agent: str, why: str) -> None:
        super().__init__(f"agent {agent!r} cannot be asked like this: {why}")
        self.agent = agent
        self.why = why
