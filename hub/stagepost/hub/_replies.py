"""The replies of many agents to one request."""

from collections.abc import Mapping
from typing import Generic, TypeVar

from stagepost._dataclasses import dataclass

from .errors import DeliveryError

ReplyT_co = TypeVar("ReplyT_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies(Generic[ReplyT_co]):
    """What became of a request to many agents, by their ids; see `Hub.request_many`.

    Attributes:
        received: The replies, in the order in which they came.
        failures: The error of each agent that failed or could not be asked: what `Hub.request` would have raised.
        unanswered: The agents that did not answer in time, or that were no longer needed.
    """

    received: Mapping[str, ReplyT_co]
    failures: Mapping[str, DeliveryError]
    unanswered: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether every agent that was asked has replied; also true if nobody subscribes to the topic."""
        return not self.failures and not self.unanswered
