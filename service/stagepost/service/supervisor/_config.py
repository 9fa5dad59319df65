"""Workers as configuration."""

from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, model_validator

from stagepost._dataclasses import dataclass

DEFAULT_MODEL: Final = "gpt-5-nano"
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]


class WorkerConfig(BaseModel):
    """A worker: a specialist that the supervisor asks through a tool of its own. Adding one is adding configuration.

    Attributes:
        name: Its name, such as ``"weather"``; the supervisor's tool is then ``ask_weather_agent``.
        model: The model that it asks, by name.
        tools: Names of the tools that it has, at least one.
        tool_name: In the place of `tools`: the name of its only tool.
        prompt_name: What its instructions are called where prompts are kept.
        description: What the supervisor's model reads to decide whether to ask it.
        max_iterations: How often its model may answer for one request.
        timeout: Seconds that one question to its model may take.
        deadline: Seconds that one request to it may take in all.
        needs_approval: Whether a person has to approve each request to it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Name
    model: str = Field(default=DEFAULT_MODEL, min_length=1)
    tools: tuple[str, ...] = Field(default=(), min_length=1, validate_default=True)
    tool_name: str | None = None
    prompt_name: str = Field(min_length=1)
    description: str = Field(min_length=1)
    max_iterations: int = Field(default=5, ge=1)
    timeout: float = Field(default=60.0, gt=0)
    deadline: float = Field(default=120.0, gt=0)
    needs_approval: bool = False

    @model_validator(mode="before")
    @classmethod
    def _one_tool(cls, given: Any) -> Any:
        """Take ``tool_name`` for a worker with a single tool."""
        if not isinstance(given, dict) or given.get("tool_name") is None:
            return given
        if given.get("tools") not in (None, (), [], (given["tool_name"],)):
            raise ValueError("give either tools or tool_name")
        return {**given, "tools": (given["tool_name"],)}

    @property
    def tool(self) -> str:
        """Name of the supervisor's tool that asks it."""
        return tool_of(self.name)


def tool_of(worker: str) -> str:
    """Name of the tool with which the supervisor asks a worker."""
    return f"ask_{worker}_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """How long a turn of a session may take, and what becomes of one that nobody reads.

    Attributes:
        deadline: Seconds that a turn may work; while it waits for a person, and again after that, it has as many.
        grace: Seconds without a reader after which a turn is cancelled, if it was started without a key and not
            detached. One that waits for a person is left alone.
        waits: Whether a message to a session that is still answering waits for its turn. Otherwise it is refused.
    """

    deadline: float = 300.0
    grace: float = 30.0
    waits: bool = True
