"""The pipeline: analyze, data, compose, check with at most one refinement, and an apology where that does not work.

Every path ends with the same two steps: the answer is sent, and then stored, logged and counted.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from stagepost.agents import Agent
from stagepost.agents.quality import (
    Candidate,
    CheckOutcome,
    Judge,
    JudgeAndRefine,
    QualityLimits,
    QualityMetrics,
    Refined,
    ScorecardCriterion,
    ValidationFailureLog,
    criteria_for,
)
from stagepost.hub import describe_error, get_logger
from stagepost.workflows import END, Graph, Retry, step

from ..channels import Channels, Edition, Sender, StyleGuide
from ._closing import Closing
from ._settings import AssistantTexts, StageBudgets
from ._stages import AssistantAgents, Stages
from ._state import AssistantState
from .errors import InvalidAssistant

_HISTORY: Final = 10  # lines
_NODES: Final = 30

CriteriaFor = Callable[[AssistantState], Iterable[ScorecardCriterion | Mapping[str, object]]]


class AssistantWorkflow(Graph):
    """Answers one message: ``analyze → [data] → compose → check → send``, or an apology.

    The state is an `AssistantState`. Each stage is a commit, and what a model has answered is committed before it. A
    stage that fails or takes too long ends in an apology; a judge that does, in an answer that is flagged for review.

    Args:
        agents: Who plans, looks up and writes.
        judge: Who judges answers.
        refiner: Who improves those that fail; None for no refinement.
        senders: What takes answers out of the house, by channel.
        channels: What formats them.
        guide: Gives the edition of the style guide; each request uses one throughout.
        budgets: How long the stages may take.
        texts: What is said when nothing else can be.
        criteria: Makes the criteria of a request; by default the built-in ones for its kind, and those of the plan.
        metrics: Counts requests and checks.
        on_failure: Gets a record of each answer whose first attempt did not pass.
        retry: When sending is tried again after `NotSent`: what is missing is sent then.
        history: How many lines of the conversation the planner and the composer see.
        name: The workflow's name.

    Attributes:
        agents: All that it asks: serve them, and the hub knows each by its name.
        channels: What formats answers.
        senders: What sends them.
        has_single: Whether there is an agent that answers alone.

    Raises:
        InvalidAssistant: A sender is for a channel that nobody formats.
    """

    kind = "assistant"

    def __init__(
        self,
        agents: AssistantAgents,
        judge: Judge,
        refiner: Agent[Refined] | str | None = None,
        *,
        senders: Mapping[str, Sender],
        channels: Channels | None = None,
        guide: Callable[[], Edition[StyleGuide]] | None = None,
        budgets: StageBudgets | None = None,
        texts: AssistantTexts | None = None,
        criteria: CriteriaFor | None = None,
        metrics: QualityMetrics | None = None,
        on_failure: Callable[[ValidationFailureLog], object] | None = None,
        retry: Retry | None = None,
        history: int = _HISTORY,
        name: str = "assistant",
    ) -> None:
        super().__init__(name, state=AssistantState, max_steps=_NODES, companions=agents.own)
        self.channels = channels or Channels()
        self.senders = dict(senders)
        self.has_single = agents.single is not None
        given = (*agents.own, judge.agent, refiner)
        self.agents: Sequence[Agent[Any]] = tuple(each for each in given if isinstance(each, Agent))
        unknown = sorted(self.senders.keys() - set(self.channels.names))
        if unknown:
            raise InvalidAssistant(f"there is a sender for {unknown[0]!r}, and no formatter: give Channels({{…}}) one")
        budgets = budgets or StageBudgets()
        stages = Stages(agents, budgets, guide, history)
        closing = Closing(self.channels, self.senders, texts or AssistantTexts(), budgets.brand, metrics)
        check = JudgeAndRefine(
            "check",
            judge,
            refiner,
            candidate=_candidate,
            criteria=_contained(criteria or _criteria),
            answer="response",
            prepare=closing.brand,
            keeps=("formatted",),
            into="checked",
            refinements=self._refinements,
            limits=QualityLimits(judge=budgets.validate_, refine=budgets.refine),
            left=stages.left,
            metrics=metrics,
            on_failure=on_failure,
        )
        self._draw(stages, check, closing, retry)

    def _draw(self, stages: Stages, check: JudgeAndRefine, closing: Closing, retry: Retry | None) -> None:
        self.add("analyze", step("analyze", stages.analyze))
        self.add("data", step("data", stages.extract))
        self.add("compose", step("compose", stages.compose))
        self.add("check", check)
        self.add("apologize", step("apologize", closing.apologize))
        self.add("send", step("send", closing.send, retry=retry, catch=Exception, into="unsent"))
        self.add("store", step("store", closing.store))
        if self.has_single:
            self.add("single", step("single", stages.answer_alone))
            self.add("brand", step("brand", closing.brand))
            self.edge("analyze", "single", when=_is_single)
            self.edge("single", "apologize", when=_has_problem)
            self.edge("single", "brand")
            self.edge("brand", "send")
        for stage in ("analyze", "data", "compose"):
            self.edge(stage, "apologize", when=_has_problem)
        self.edge("analyze", "data", when=_needs_data)
        self.edge("analyze", "compose")
        self.edge("data", "compose")
        self.edge("compose", "check")
        self.edge("check", "apologize", when=_has_failed)
        self.edge("check", "send")
        self.edge("apologize", "send")
        self.edge("send", "store", when=_is_not_stored)
        self.edge("send", END)
        self.start("analyze")
        self.finish("store")

    def _refinements(self, state: AssistantState) -> int:
        return int(self.channels.limit(state.request.channel).refine)


def _candidate(state: AssistantState) -> Candidate:
    """What is judged: the answer as it goes out, what it was written as, and what it is made from."""
    assert state.formatted is not None  # noqa: S101  # it was formatted just before
    subject = state.formatted.parts[0].subject
    return Candidate(
        request_id=state.request.request_id,
        text=state.formatted.text,
        written=state.response,
        question=state.request.message,
        channel=state.request.channel,
        data=state.data,
        parts=tuple(state.formatted.texts),
        fields={} if subject is None else {"subject": subject},
    )


def _contained(criteria: CriteriaFor) -> CriteriaFor:
    """The function, whose failure does not hold up the answer: it is then judged by what is asked of any answer."""

    def given(state: AssistantState) -> Iterable[ScorecardCriterion | Mapping[str, object]]:
        try:
            return list(criteria(state))
        except Exception as error:  # noqa: BLE001  # it is anybody's code
            get_logger("service").warning("criteria_failed", error=describe_error(error))
            return criteria_for("other", channel=state.request.channel)

    return given


def _criteria(state: AssistantState) -> list[ScorecardCriterion | Mapping[str, object]]:
    """The built-in criteria for the kind of request, and those that the planner has proposed."""
    assert state.plan is not None  # noqa: S101  # the pipeline has planned it
    proposed = [each.model_dump() for each in state.plan.criteria]
    return [*criteria_for(state.plan.kind, channel=state.request.channel), *proposed]


def _is_not_stored(state: AssistantState) -> bool:
    return state.result is None


def _is_single(state: AssistantState) -> bool:
    return state.request.path == "single"


def _has_problem(state: AssistantState) -> bool:
    return state.problem is not None


def _needs_data(state: AssistantState) -> bool:
    return state.plan is not None and state.plan.needs_data


def _has_failed(state: AssistantState) -> bool:
    return state.checked is not None and state.checked.outcome is CheckOutcome.FAILED
