"""How every path ends: the answer is formatted, sent, stored, logged and counted."""

from collections.abc import Callable, Mapping
from typing import Final

from stagepost.agents.quality import (
    Candidate,
    CheckOutcome,
    Judge,
    QualityMetrics,
    Scorecard,
    criteria_for,
)
from stagepost.hub import describe_error, get_logger
from stagepost.workflows import StepContext

from ..channels import Channels, FormattedResponse, Reply, ResponseMetadata, ResponsePart, Sender, send_all
from ._conversation import keep
from ._request import AssistantMetadata, AssistantResult
from ._settings import AssistantTexts
from ._stages import NO_ANSWER, NO_DATA, Updates
from ._state import AssistantState

Done = Callable[[AssistantState, AssistantResult], None]

_BY_CODE: Final = Judge()


class Closing:
    """The steps that every request comes to.

    Args:
        channels: Formats answers.
        senders: Take them out of the house, by channel.
        texts: What is said when nothing else can be.
        seconds: How long an answer may be formatted.
        metrics: Counts requests.
    """

    def __init__(
        self,
        channels: Channels,
        senders: Mapping[str, Sender],
        texts: AssistantTexts,
        seconds: float,
        metrics: QualityMetrics | None,
    ) -> None:
        self._channels = channels
        self._senders = senders
        self._texts = texts
        self._seconds = seconds
        self._metrics = metrics

    async def brand(self, state: AssistantState, context: StepContext) -> Updates:
        """Format the answer for its channel, by the style guide."""
        begun = context.clock()
        formatted = await self._formatted(state, state.response, failed=False)
        return {"formatted": formatted, "spent": state.took("brand", context.clock() - begun)}

    async def apologize(self, state: AssistantState, context: StepContext) -> Updates:
        """Say that there is no answer: this always comes to something, which is formatted and checked by code."""
        begun = context.clock()
        problem, reason = state.problem or NO_ANSWER, state.reason or _why(state)
        text = self._texts.data_unavailable if problem == NO_DATA else self._texts.cannot_help
        formatted = await self._formatted(state, text, failed=True)
        if not await self._passes(state, text, formatted):
            text = self._texts.last_resort
            formatted = await self._formatted(state, text, failed=True)
        spent = state.took("apologize", context.clock() - begun)
        return {"response": text, "formatted": formatted, "problem": problem, "reason": reason, "spent": spent}

    async def send(self, state: AssistantState, context: StepContext) -> Updates:
        """Send all parts, and store that; what runs again sends only the parts that are missing."""
        assert state.formatted is not None  # noqa: S101  # it stands behind what formats
        if not state.is_shadow:
            await send_all(context, state.formatted, to=state.request.to, senders=self._senders)
        return await self.store(state.model_copy(update={"delivered": not state.is_shadow}), context)

    async def store(self, state: AssistantState, context: StepContext) -> Updates:
        """Store, log and count the answer, in one commit."""
        result = _result(state)
        if not state.is_shadow:
            keep(state.request, state.response, context)
        data = result.metadata
        log = get_logger("service").bind(request_id=state.request.request_id, channel=state.request.channel)
        log.info(
            "assistant_answered",
            run_id=context.run_id,
            graceful_failure=result.graceful_failure,
            validation_passed=result.validation_passed,
            refinement_attempted=result.refinement_attempted,
            delivered=data.delivered,
            duration_ms=round(data.duration_ms),
            llm_calls=data.llm_calls,
            reason=data.reason,
            shadow=state.is_shadow,
        )
        if self._metrics is not None and not state.is_shadow:
            self._metrics.note_request(
                seconds=data.stage_times, model_calls=data.llm_calls, graceful=result.graceful_failure
            )
        return {"delivered": state.delivered, "result": result}

    async def _formatted(self, state: AssistantState, text: str, *, failed: bool) -> FormattedResponse:
        """A text for the channel; if it cannot be formatted, such as when nothing of it is visible, the last one."""
        for said in (text, self._texts.last_resort):
            try:
                return await self._made(state, said, failed=failed)
            except Exception as error:  # noqa: BLE001  # whatever it is, something goes out
                told = describe_error(error)
                get_logger("service").warning("assistant_not_formatted", channel=state.request.channel, error=told)
        last = self._texts.last_resort
        metadata = ResponseMetadata(characters=len(last), fell_back=True, style_version=state.style_version)
        part = ResponsePart(sequence=1, content=last)
        return FormattedResponse(channel=state.request.channel, parts=(part,), metadata=metadata)

    async def _made(self, state: AssistantState, text: str, *, failed: bool) -> FormattedResponse:
        reply = Reply(
            text=text,
            kind="error" if failed else "answer",
            user_name=state.request.user.name,
            is_first=not state.history,
        )
        made = await self._channels.format_in_thread(
            state.request.channel, reply, guide=state.guide, seconds=self._seconds
        )
        metadata = made.metadata.model_copy(update={"style_version": state.style_version})
        return made.model_copy(update={"metadata": metadata})

    @staticmethod
    async def _passes(state: AssistantState, text: str, formatted: FormattedResponse) -> bool:
        """Whether an apology has the form that its channel wants, as far as code can tell."""
        channel = state.request.channel
        form = [each for each in criteria_for("other", channel=channel) if each.id in _BY_CODE.checks]
        if not form:
            return True
        candidate = Candidate(text=formatted.text, written=text, channel=channel, parts=tuple(formatted.texts))
        scorecard = Scorecard(request_id=state.request.request_id, criteria=form)
        return (await _BY_CODE.validate(scorecard, candidate)).result.passed


def _why(state: AssistantState) -> str:
    """Why a checked answer is not sent."""
    assert state.checked is not None  # noqa: S101  # what else goes wrong has said why
    return f"check: {state.checked.refinement_problem or state.checked.answer.validation.feedback}"


def _result(state: AssistantState) -> AssistantResult:
    assert state.formatted is not None  # noqa: S101  # it was sent, or tried to be
    checked = state.checked
    is_apology = state.problem is not None
    attempts = () if checked is None else checked.attempts
    passed = checked is not None and checked.answer.validation.passed and not is_apology
    return AssistantResult(
        request_id=state.request.request_id,
        channel=state.request.channel,
        formatted_response=state.formatted,
        validation_passed=passed,
        refinement_attempted=checked is not None and checked.refinement_attempted,
        graceful_failure=is_apology,
        scorecards=tuple(attempt.scorecard for attempt in attempts),
        metadata=_metadata(state),
    )


def _metadata(state: AssistantState) -> AssistantMetadata:
    checked = state.checked
    times = {**state.spent, **({} if checked is None else checked.seconds)}
    calls = 0 if checked is None else checked.model_calls
    usage = state.usage if checked is None else state.usage + checked.usage
    review = (
        checked is not None and checked.outcome in (CheckOutcome.REVIEW, CheckOutcome.BEST) and state.problem is None
    )
    noted = state.reason
    if noted is None and checked is not None and review:
        last = checked.answer.validation
        noted = last.review_reason or last.feedback
    if state.unsent is not None:
        noted = f"send: {state.unsent.get('error')}: {state.unsent.get('message')}"
    return AssistantMetadata(
        duration_ms=sum(times.values()) * 1000,
        agent_calls=state.agent_calls + calls,
        llm_calls=state.llm_calls + calls,
        tokens=usage.tokens,
        cost=usage.cost,
        stage_times=times,
        style_version=state.style_version,
        path=state.request.path,
        kind="other" if state.plan is None else state.plan.kind,
        delivered=state.delivered,
        needs_review=review,
        reason=noted,
        tools_used=() if state.extracted is None else tuple(state.extracted.tools_used),
        warnings=() if checked is None else checked.warnings,
    )
