"""Judge and refine, as a pattern for any workflow."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from inspect import isawaitable
from typing import Any, Final, TypeAlias

from pydantic import BaseModel, JsonValue, TypeAdapter

from stagepost._dataclasses import dataclass
from stagepost.hub import check_name, describe_error, get_logger
from stagepost.workflows import END, Graph, Pattern, Step, StepContext, step
from stagepost.workflows.patterns import NodeLike

from .._agent._agent import Agent
from ..errors import InvalidCriteria
from ._attempts import Attempt, Checked, best_of, outcome_of
from ._built_in import BUILT_IN_CRITERIA
from ._candidate import Candidate
from ._consulting import consult
from ._criterion import Scorecard
from ._failures import ValidationFailureLog
from ._judge import Judge
from ._metrics import QualityMetrics
from ._refiner import read_refined, refinement_of
from ._screening import Proposed, Screened, screened

FailureSink: TypeAlias = Callable[[ValidationFailureLog], object]

_PLAIN: Final = TypeAdapter[Any](Any)


@dataclass(frozen=True, slots=True)
class QualityLimits:
    """How long the stages of `JudgeAndRefine` may take.

    Attributes:
        judge: Seconds for the judge's agent; after that the answer is approved and flagged for review.
        refine: Seconds for the refiner; after that the first attempt is kept.
    """

    judge: float | None = None
    refine: float | None = None


class JudgeAndRefine(Graph):
    """Judges an answer in the state, has it refined at most once if it fails, and keeps the best attempt.

    ::

        checked = JudgeAndRefine(
            "checked", Judge(judge_agent("openai/gpt-5-mini")), refiner_agent("openai/gpt-5-mini"),
            candidate=lambda state: Candidate(text=state["draft"], question=state["question"], data=state["data"]),
            criteria=criteria_for("weekly_summary"), answer="draft",
        )
        workflow = Chain("assistant", [write, checked, send])

    Its stages are `prepare` (if it is a step), ``judge``, ``refine``, then ``judge`` again, each a commit. What a model
    has answered is committed before, so a run that is killed anywhere asks no model twice for the same. A judge that
    fails, or that cannot decide, approves the answer and flags it for review. A refiner that fails leaves the first
    attempt as it is.

    Args:
        name: The pattern's name.
        judge: Decides about the criteria.
        refiner: Improves a failed answer: an agent, see `refiner_agent`, or its name on the hub. None for no
            refinement.
        candidate: Makes what is judged of the state.
        criteria: The criteria: proposed ones are screened, see `screened`. Or a function of the state that gives them.
            If none is left, ``answers_question`` is asked for.
        answer: Key of the state for the text that a refinement rewrites.
        prepare: What is done before each validation, such as to format the answer: a function like that of a step,
            which becomes a part of that stage; or a step or pattern, which is a stage of its own.
        keeps: Further keys of the state that belong to an attempt, such as what `prepare` writes: when an earlier
            attempt is the best, they are put back.
        into: Key of the state for `Checked`.
        refinements: At most so many, 0 or 1; or a function of the state that says so, to switch it off for a channel.
        limits: How long the stages may take.
        left: A function of the state: seconds that are left for all; None for no limit. With none left nothing is
            refined, and the best attempt so far goes out.
        metrics: Counts each check.
        on_failure: Gets a record of each answer whose first attempt did not pass; may be async. What it raises is
            logged.
        state: A pydantic model for the state, if the pattern is the whole workflow.

    Raises:
        InvalidCriteria: `refinements` is neither 0 nor 1, or fixed criteria are given and none can be checked.
    """

    kind = "judge-and-refine"

    def __init__(
        self,
        name: str,
        judge: Judge,
        refiner: Agent[Any] | str | None = None,
        *,
        candidate: Callable[[Any], Candidate],
        criteria: Iterable[Proposed] | Callable[[Any], Iterable[Proposed]],
        answer: str,
        prepare: NodeLike | None = None,
        keeps: Sequence[str] = (),
        into: str | None = None,
        refinements: int | Callable[[Any], int] = 1,
        limits: QualityLimits | None = None,
        left: Callable[[Any], float | None] | None = None,
        metrics: QualityMetrics | None = None,
        on_failure: FailureSink | None = None,
        state: type[BaseModel] | None = None,
    ) -> None:
        self.into = check_name("key for the check", name if into is None else into)
        types = None if state is not None else {self.into: Checked}
        agents = [each for each in (judge.agent, refiner) if isinstance(each, Agent)]
        super().__init__(name, state=state, types=types, companions=agents, max_steps=20)
        self._judge = judge
        self._refiner = refiner
        self._candidate = candidate
        self._answer = answer
        self._keys = tuple(dict.fromkeys((answer, *keeps)))
        self._refinements = refinements
        self._limits = limits or QualityLimits()
        self._left = left
        self._metrics = metrics
        self._on_failure = on_failure
        self._given = criteria if callable(criteria) else None
        self._fixed = () if callable(criteria) else tuple(criteria)
        stage = prepare if isinstance(prepare, Step | Pattern) else None
        self._prepare: Step | None = None
        if prepare is not None and not isinstance(prepare, Step | Pattern):
            self._prepare = step("prepare", prepare)
        self._check()
        self._draw(stage)

    @property
    def stored_keys(self) -> frozenset[str]:
        return super().stored_keys | {self.into, *self._keys}

    @cached_property
    def _screened(self) -> Screened:
        return screened(self._fixed, checked=self._judge.checks)

    def _check(self) -> None:
        if not callable(self._refinements) and self._refinements not in (0, 1):
            raise InvalidCriteria(f"refinements={self._refinements!r}: give 0 or 1")
        if self._given is None and not self._screened.criteria:
            why = "; ".join(f"{each.id or 'one'}: {each.why}" for each in self._screened.dropped) or "there are none"
            raise InvalidCriteria(f"{self.name!r} has no criterion that can be checked ({why})")

    def _draw(self, prepare: Step | Pattern | None) -> None:
        first = "judge" if prepare is None else "prepare"
        if prepare is not None:
            self.add("prepare", prepare)
        self.add("judge", step("judge", self._judged))
        if prepare is not None:
            self.edge("prepare", "judge")
        if self._refiner is not None:
            self.add("refine", step("refine", self._refined))
            self.edge("judge", "refine", when=self._goes_on)
            self.edge("refine", first, when=self._goes_on)
            self.edge("refine", END)
        self.edge("judge", END)
        self.start(first)

    async def _judged(self, state: Any, context: StepContext) -> dict[str, object]:
        before, prepared = self._so_far(state), await self._prepared(state, context)
        state = _with(state, prepared)
        candidate = self._candidate(state)
        found = self._screened if self._given is None else screened(self._given(state), checked=self._judge.checks)
        criteria = list(found.criteria or BUILT_IN_CRITERIA["other"])
        if before.attempts:  # the same as the first time
            criteria = [each.judged(passed=None) for each in before.attempts[0].scorecard.criteria]
        now = datetime.fromtimestamp(context.clock(), UTC)
        scorecard = Scorecard(request_id=candidate.request_id or context.run_id, criteria=criteria, created_at=now)
        seconds = self._seconds(state, self._limits.judge)
        done = await self._judge.validate_in(context, scorecard, candidate, seconds=seconds)
        attempt = Attempt(
            text=candidate.text,
            kept={key: _plain(_value(state, key)) for key in self._keys},
            scorecard=done.scorecard,
            validation=done.result,
            changes=before.changes,
        )
        doubts = before.warnings or tuple(f"{each.id}: {each.why}" for each in (*found.dropped, *found.doubtful))
        update = {
            "attempts": (*before.attempts, attempt),
            "warnings": doubts,
            "model_calls": before.model_calls + done.model_calls,
            "usage": before.usage + done.usage,
            "seconds": before.with_seconds("validate", done.seconds),
        }
        after = before.model_copy(update=update)
        if self._is_worth_it(state, after):
            return {**prepared, self.into: after}
        return {**prepared, **await self._concluded(after, state, context)}

    async def _prepared(self, state: Any, context: StepContext) -> Mapping[str, object]:
        made = None if self._prepare is None else await self._prepare.call(state, context)
        return {} if made is None else dict(made)

    async def _refined(self, state: Any, context: StepContext) -> dict[str, object]:
        assert self._refiner is not None  # noqa: S101  # else there is no such node
        before, begun = self._so_far(state), context.clock()
        original = _plain(_value(state, self._answer))
        request = refinement_of(str(original), before.last, self._candidate(state))
        update: dict[str, object] = {"refinement_attempted": True, "model_calls": before.model_calls + 1}
        changed: dict[str, object] = {}
        try:
            seconds = self._seconds(state, self._limits.refine)
            asked = await consult(self._refiner, request, context, key="refine", seconds=seconds, expect=object)
            update["usage"] = before.usage + asked.usage
            made = read_refined(asked.output)
        except Exception as error:  # noqa: BLE001  # whatever ails the refiner, there is a first attempt
            update["refinement_problem"] = f"no refined answer: {context.mask(describe_error(error))}"
            get_logger("agents").warning("refinement_failed", error=context.mask(describe_error(error)))
        else:
            update["changes"] = tuple(made.changes)
            changed[self._answer] = made.response
        update["seconds"] = before.with_seconds("refine", context.clock() - begun)
        after = before.model_copy(update=update)
        if after.refinement_problem is not None:
            return await self._concluded(after, state, context)
        return {**changed, self.into: after}

    async def _concluded(self, before: Checked, state: Any, context: StepContext) -> dict[str, object]:
        """Keep the best attempt, and tell what has become of it."""
        best = best_of(before.attempts)
        late = self._is_late(_with(state, {self.into: before}))
        out_of_time = self._allowed(state) > 0 and not before.refinement_attempted and late
        outcome = outcome_of(before.attempts[best], best, out_of_time=out_of_time)
        after = before.model_copy(update={"best": best, "outcome": outcome})
        put_back = {} if best == len(before.attempts) - 1 else dict(after.answer.kept)
        if self._metrics is not None:
            self._metrics.note_check(after)
        await self._tell(after, state, context)
        return {**put_back, self.into: after}

    async def _tell(self, checked: Checked, state: Any, context: StepContext) -> None:
        """Give the record of a failure to whoever wants it."""
        if self._on_failure is None:
            return
        try:
            candidate, now = self._candidate(state), datetime.fromtimestamp(context.clock(), UTC)
            record = ValidationFailureLog.of(
                checked,
                request_id=candidate.request_id or context.run_id,
                question=candidate.question,
                channel=candidate.channel,
                now=now,
            )
            told = None if record is None else self._on_failure(record)
            if isawaitable(told):
                await told
        except Exception as error:  # noqa: BLE001  # a log must not hold up an answer
            get_logger("agents").warning("failure_log_failed", error=context.mask(describe_error(error)))

    def _is_worth_it(self, state: Any, known: Checked) -> bool:
        """Whether the last attempt has failed, and may be refined."""
        if self._refiner is None or known.last.validation.passed or known.refinement_attempted:
            return False
        return self._allowed(state) > 0 and not self._is_late(_with(state, {self.into: known}))

    def _goes_on(self, state: Any) -> bool:
        """Whether the check has not ended."""
        return Checked.model_validate(_value(state, self.into)).outcome is None

    def _allowed(self, state: Any) -> int:
        return self._refinements(state) if callable(self._refinements) else self._refinements

    def _is_late(self, state: Any) -> bool:
        left = None if self._left is None else self._left(state)
        return left is not None and left <= 0

    def _seconds(self, state: Any, limit: float | None) -> float | None:
        """What a stage has: its own limit, or what is left for all."""
        left = None if self._left is None else self._left(state)
        return min((each for each in (limit, left) if each is not None), default=None)

    def _so_far(self, state: Any) -> Checked:
        """What was done so far; nothing, if the key is new, or is that of a check that has ended (as in a loop)."""
        found = _value(state, self.into)
        known = Checked() if found is None else Checked.model_validate(found)
        return Checked() if known.outcome is not None else known


def _with(state: Any, updates: Mapping[str, object]) -> Any:
    """A state with what a stage has changed so far."""
    if not updates:
        return state
    return state.model_copy(update=dict(updates)) if isinstance(state, BaseModel) else state.merge(updates)


def _value(state: Any, key: str) -> object:
    return getattr(state, key) if isinstance(state, BaseModel) else state.get(key)


def _plain(value: object) -> JsonValue:
    made: JsonValue = _PLAIN.dump_python(value, mode="json")
    return made
