"""What is lost in each trace: messages that are dead, counted by recipient and reason."""

from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from stagepost._dataclasses import dataclass

from ._events import DeadReason

_TRACES_KEPT: Final = 1000
_RECIPIENTS_KEPT: Final = 100
_OTHERS: Final = "(others)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Losses:
    """Messages of one trace that nobody handled: of a publication, and of all that was sent because of it.

    Attributes:
        trace: The trace.
        total: How many messages are dead.
        recipients: How many of them were for which recipient; beyond 100 recipients the rest are ``(others)``.
        reasons: How many are dead for which reason.
    """

    trace: str
    total: int = 0
    recipients: Mapping[str, int] = field(default_factory=dict, hash=False)
    reasons: Mapping[DeadReason, int] = field(default_factory=dict, hash=False)

    def __bool__(self) -> bool:
        """Whether anything was lost."""
        return self.total > 0

    def __str__(self) -> str:
        if not self.total:
            return "nothing was lost"
        counts = (_listed(self.reasons), _listed(self.recipients))
        return f"{self.total} lost ({'; '.join(counts)})"


class LossBook:
    """The losses of the latest 1,000 traces in which something was lost."""

    __slots__ = ("_traces",)

    def __init__(self) -> None:
        self._traces: OrderedDict[str, tuple[Counter[str], Counter[DeadReason]]] = OrderedDict()

    def note(self, trace: str, recipient: str, reason: DeadReason) -> None:
        """Count a message that is dead."""
        counts = self._traces.get(trace)
        if counts is None:
            counts = self._traces[trace] = Counter(), Counter()
            if len(self._traces) > _TRACES_KEPT:
                self._traces.popitem(last=False)
        recipients, reasons = counts
        recipients[recipient if recipient in recipients or len(recipients) < _RECIPIENTS_KEPT else _OTHERS] += 1
        reasons[reason] += 1

    def read(self, trace: str) -> Losses:
        """What was lost in a trace."""
        counts = self._traces.get(trace)
        if counts is None:
            return Losses(trace=trace)
        recipients, reasons = counts
        return Losses(
            trace=trace,
            total=reasons.total(),
            recipients=MappingProxyType(dict(recipients.most_common())),
            reasons=MappingProxyType(dict(reasons.most_common())),
        )


def _listed(counts: Mapping[Any, int]) -> str:
    """Counts in words, the largest first."""
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items(), key=lambda pair: -pair[1]))
