"""The errors of webhooks."""

from ._root import AgentError


class InvalidWebhook(AgentError, ValueError):
    """A webhook cannot be as it is described: its URL, or the secret of its signatures.

    Attributes:
        why: What is wrong, and what to give.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class WebhookNotFound(AgentError, LookupError):
    """There is no webhook with this id, or it does not follow this task.

    Attributes:
        webhook_id: The id that was given.
        task_id: The task that was given; None if none was.
    """

    def __init__(self, webhook_id: str, task_id: str | None = None) -> None:
        what = f"no webhook {webhook_id!r}" + ("" if task_id is None else f" that follows task {task_id!r}")
        super().__init__(
            f"there is {what}: it was never added or was removed, or its task was followed to the end; list() shows "
            "those that there are"
        )
        self.webhook_id = webhook_id
        self.task_id = task_id


class WebhooksNotOpen(AgentError):
    """`Webhooks` was used before it was entered or after it was left."""

    def __init__(self) -> None:
        super().__init__("these webhooks are not open: use them inside `async with Webhooks(…)`")


class WebhookNotVerified(AgentError, ValueError):
    """A request is not known to come from whoever has the secret: do nothing of what it says, and answer 400 or 401.

    Attributes:
        why: What is wrong with it.
    """

    def __init__(self, why: str) -> None:
        super().__init__(f"the webhook is not verified: {why}")
        self.why = why
