"""What has become of the messages of one agent."""

from ._metrics import AgentMetrics, latency, new_buckets


class Tally:
    """Counts the messages of one agent, and how long they waited and were handled.

    Attributes:
        handled: Those whose handler returned.
        failed: Those whose handler raised.
        cancelled: Those whose handler was cancelled, or that were withdrawn.
        dead: Those that will never be handled.
        waiting: How many waited how long for their handler, for `Latency`.
        handling: How many were handled how long.
    """

    __slots__ = ("cancelled", "dead", "failed", "handled", "handling", "waiting")

    def __init__(self) -> None:
        self.handled = self.failed = self.cancelled = self.dead = 0
        self.waiting = new_buckets()
        self.handling = new_buckets()

    def read(
        self, *, refused: int, depth: int, blocked: int, running: int, running_since: float | None
    ) -> AgentMetrics:
        """The counts as a value, with how things stand."""
        return AgentMetrics(
            handled=self.handled,
            failed=self.failed,
            cancelled=self.cancelled,
            dead=self.dead,
            refused=refused,
            depth=depth,
            blocked=blocked,
            running=running,
            running_since=running_since,
            waiting=latency(self.waiting),
            handling=latency(self.handling),
        )
