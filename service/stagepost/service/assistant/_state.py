"""The state of one request on its way through the pipeline."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, JsonValue

from stagepost.agents import Usage
from stagepost.agents.quality import Checked

from ..channels import FormattedResponse, StyleGuide
from ._answers import Extracted, Plan
from ._request import AssistantRequest, AssistantResult, HistoryLine


class AssistantState(BaseModel):
    """What is known of a request, stage by stage.

    Attributes:
        request: The message.
        guide: The style guide, as it was when the request began.
        style_version: Which edition of it that is.
        history: What was said before, oldest first.
        plan: How it is to be answered.
        extracted: What was found.
        response: The answer in Markdown.
        formatted: The answer as its channel takes it.
        checked: What has become of its scorecard.
        problem: Why there is no answer but an apology; None as long as there may be one.
        reason: What went wrong, for those who run the service.
        spent: Seconds of each stage.
        agent_calls: How often agents were asked.
        llm_calls: How often models were asked.
        usage: Tokens and cost of these, without the check's.
        is_shadow: Whether it is answered for comparison only: nothing is sent, and nothing added to the conversation.
        delivered: Whether all parts have gone out.
        unsent: Why not, if not: type and text of the error.
        result: The result, at the end.
    """

    model_config = ConfigDict(frozen=True)

    request: AssistantRequest
    guide: StyleGuide = StyleGuide()
    style_version: str = ""
    history: tuple[HistoryLine, ...] = ()
    plan: Plan | None = None
    extracted: Extracted | None = None
    response: str = ""
    formatted: FormattedResponse | None = None
    checked: Checked | None = None
    problem: str | None = None
    reason: str | None = None
    spent: Mapping[str, float] = {}
    agent_calls: int = 0
    llm_calls: int = 0
    usage: Usage = Usage()
    is_shadow: bool = False
    delivered: bool = False
    unsent: Mapping[str, str] | None = None
    result: AssistantResult | None = None

    @property
    def data(self) -> JsonValue:
        """What was found, if anything was looked up."""
        return self.extracted.data if self.extracted is not None and self.extracted.success else None

    @property
    def seconds(self) -> float:
        """How long all stages have taken so far."""
        checked = 0.0 if self.checked is None or "validate" in self.spent else sum(self.checked.seconds.values())
        return sum(self.spent.values()) + checked

    def took(self, stage: str, seconds: float) -> Mapping[str, float]:
        """The times of the stages, with some more for one of them."""
        return {**self.spent, stage: self.spent.get(stage, 0.0) + max(0.0, seconds)}
