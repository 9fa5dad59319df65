"""The errors of streams."""

from ._root import AgentError


class InvalidPart(AgentError, ValueError):
    """Data is no part of a stream.

    Attributes:
        type: The type that it says it is; None if it says none.
        why: What is wrong, with the name of the field.
    """

    def __init__(self, type: str | None, why: str) -> None:  # noqa: A002  # the word for it
        what = "this data" if type is None else f"a part of type {type!r}"
        super().__init__(f"{what} cannot be read: {why}")
        self.type = type
        self.why = why


class InvalidCursor(AgentError, ValueError):
    """A cursor is none of the stream that is to be read after it.

    Attributes:
        cursor: The cursor.
        why: What is wrong with it.
    """

    def __init__(self, cursor: str, why: str) -> None:
        super().__init__(
            f"cursor {cursor!r:.100} cannot be used: {why}; give the cursor of a part of this stream, or none to read "
            "from the start"
        )
        self.cursor = cursor
        self.why = why


class StreamNotOver(AgentError):
    """A stream is asked for the result before it has handed out its last part.

    Attributes:
        task_id: The task; None if the stream was not entered.
    """

    def __init__(self, task_id: str | None) -> None:
        what = "the stream" if task_id is None else f"the stream of task {task_id!r}"
        super().__init__(
            f"{what} has not handed out its last part, so that there is no result yet: iterate to the end first",
        )
        self.task_id = task_id
