"""What can go wrong with tables of the application."""

from ._root_error import CheckpointError


class StatementRefused(CheckpointError, ValueError):
    """A statement may not be executed: it would change the store's own tables, or a transaction.

    Attributes:
        text: The statement.
        reason: What it would do.
    """

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(
            f"the statement {text!r:.200} is refused: {reason}. In a store's database an application may make tables "
            "and indexes whose names begin with app_, and change their rows"
        )
        self.text = text
        self.reason = reason


class StatementFailed(CheckpointError):
    """A statement on tables of the application failed; nothing of what was to be saved with it was saved.

    Attributes:
        text: The statement.
        reason: What the database says.
    """

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"the statement {text!r:.200} failed ({reason}); nothing was saved")
        self.text = text
        self.reason = reason
