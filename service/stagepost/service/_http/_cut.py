"""Answers that cannot be completed."""


class AnswerCut(Exception):
    """An answer has failed that had begun, or nobody reads it; its connection is closed. The log may have the reason.

    Attributes:
        reference: The id of the request.
    """

    def __init__(self, reference: str) -> None:
        self.reference = reference
        super().__init__(f"request {reference}: the answer could not be completed")
