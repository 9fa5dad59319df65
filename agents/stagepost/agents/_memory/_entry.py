"""What is remembered."""

from datetime import datetime

from stagepost._dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A text in a memory.

    Attributes:
        id: Its id within its scope, for `Memories.forget`.
        text: The text.
        created_at: When it was remembered (UTC).
        run_id: The run that has remembered it; None if a process did.
        agent: Name of the agent that has remembered it; None if a process did.
    """

    id: str
    text: str
    created_at: datetime
    run_id: str | None = None
    agent: str | None = None
