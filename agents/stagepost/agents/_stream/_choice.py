"""What of a stream a reader wants to get."""

from dataclasses import replace

from stagepost._dataclasses import dataclass

from ._part import StreamPart
from ._parts import MessageSaid, TokenArrived, ToolCalled, ToolProgressed, ToolReturned, TurnBegan


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a reader wants to get. Nothing of it changes numbers or cursors.

    Attributes:
        include_thinking: Whether it is told that models are about to be asked, and what they think.
        include_tool_events: Whether it is told of calls of tools, their progress and their results.
        below: Whether it is told of the agents below the root.
        partial: Whether it is told what has arrived of typed answers.
        whole_results: Whether it is told the results of tools as a whole.
    """

    include_thinking: bool = True
    include_tool_events: bool = True
    below: bool = True
    partial: bool = False
    whole_results: bool = False

    @property
    def is_all(self) -> bool:
        """Whether the reader gets every part."""
        return self.include_thinking and self.include_tool_events and self.below

    def of(self, part: StreamPart) -> StreamPart | None:
        """A part as the reader gets it; None if it does not."""
        if not self.below and len(part.path) > 1:
            return None
        match part:
            case ToolCalled() | ToolReturned() | ToolProgressed():
                return part if self.include_tool_events else None
            case TokenArrived(kind="arguments"):
                return part if self.include_tool_events else None
            case TurnBegan() | TokenArrived(kind="thinking"):
                return part if self.include_thinking else None
            case MessageSaid() if part.thinking and not self.include_thinking:
                return replace(part, thinking="")
        return part
