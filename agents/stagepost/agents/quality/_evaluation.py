"""An evaluation as a workflow: each agent is asked each case, and each judge says something about each answer."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from inspect import iscoroutinefunction
from typing import Any, Final, TypeAlias

from pydantic import JsonValue, TypeAdapter
from pydantic_core import to_json

from stagepost.hub import check_name, describe_error
from stagepost.workflows import Chain, Parallel, Pattern, State, StepContext, in_thread, step

from .._agent._agent import Agent
from ..errors import InvalidEvaluation
from ._candidate import Candidate
from ._cells import Case, CaseAnswer, EvaluationCell, Judgement
from ._consulting import Consulted, consult
from ._criterion import Scorecard
from ._judge import Judge
from ._report import EvaluationReport
from ._screening import Proposed, screened

CaseJudge: TypeAlias = "Callable[[CaseAnswer], object] | Agent[Any] | ScorecardJudge"
"""Judges an answer: a function, sync or async, whose result `Judgement.of` can read; an agent that is asked with the
answer as JSON; or a scorecard."""

_PLAIN: Final = TypeAdapter[Any](Any)
_DIGEST: Final = 16


class ScorecardJudge:
    """A judge of an evaluation that is a scorecard: an answer is good if no criterion fails; its score is their share.

    Args:
        judge: Decides about the criteria.
        criteria: The criteria; those that cannot be checked are dropped.
    """

    def __init__(self, judge: Judge, criteria: Iterable[Proposed]) -> None:
        self.judge = judge
        self.criteria = screened(criteria, checked=judge.checks).criteria
        if not self.criteria:
            raise InvalidEvaluation("a scorecard has no criterion that can be checked: give one")

    async def of(self, answer: CaseAnswer, context: StepContext) -> Judgement:
        """Judge an answer in a step."""
        case = answer.case
        candidate = Candidate(
            text=_text(answer.output),
            question=_text(case.request),
            data={"expected": case.expected, **case.about} if case.expected is not None else dict(case.about) or None,
        )
        scorecard = Scorecard(request_id=case.id, criteria=list(self.criteria))
        done = await self.judge.validate_in(context, scorecard, candidate)
        passed = [each.passed is True for each in done.scorecard.criteria]
        verdict = None if done.result.needs_review and done.result.passed else done.result.passed
        feedback = done.result.feedback or done.result.review_reason or ""
        return Judgement(passed=verdict, score=sum(passed) / len(passed), feedback=feedback)


class Evaluation:
    """Asks agents the same cases, and has their answers judged.

    It is a workflow: ``Runner(workflows=[evaluation])`` knows it, and `evaluate` runs it.

    Args:
        agents: The agents: several models of one agent are told apart by the keys of a mapping.
        cases: The cases.
        judges: What judges, by name.
        name: Its name. What it has come to is kept by it, see `evaluate`.
        at_once: How many cells are worked on at once.
        seconds: How long an agent may take for a case; None for no limit.

    Raises:
        InvalidEvaluation: Two agents or cases have one name, or there are none.
    """

    def __init__(
        self,
        agents: Agent[Any] | Iterable[Agent[Any]] | Mapping[str, Agent[Any]],
        cases: Iterable[Case | Mapping[str, object]],
        judges: Mapping[str, CaseJudge],
        *,
        name: str = "evaluation",
        at_once: int = 8,
        seconds: float | None = None,
    ) -> None:
        self.name = check_name("evaluation name", name)
        self.agents: Mapping[str, Agent[Any]] = _named(agents)
        self.cases: Sequence[Case] = tuple(Case.model_validate(case) for case in cases)
        self.judges: Mapping[str, CaseJudge] = dict(judges)
        self.at_once = at_once
        self.seconds = seconds
        self._cases = {case.id: case for case in self.cases}
        self._told: Callable[[EvaluationCell], None] | None = None
        if not self.agents or not self.cases:
            raise InvalidEvaluation("give at least one agent and one case")
        if len(self._cases) < len(self.cases):
            twice = next(case.id for case in self.cases if sum(each.id == case.id for each in self.cases) > 1)
            raise InvalidEvaluation(f"two cases have the id {twice!r}: give one of them another")

    def as_workflow(self) -> Pattern:
        """The workflow: one item for each agent and case."""
        return self._workflow

    @property
    def start(self) -> dict[str, JsonValue]:
        """What its run starts with."""
        items: list[JsonValue] = [{"agent": agent, "case": case.id} for agent in self.agents for case in self.cases]
        return {"of": self.digest, "cells": items}

    @property
    def key(self) -> str:
        """What its run is found by: the same as long as agents, cases and judges are."""
        return f"{self.name}/{self.digest}"

    @cached_property
    def digest(self) -> str:
        """Of the agents and judges as they describe themselves, and of the cases; of functions only the name counts."""
        said = {
            "agents": {name: agent.describe() for name, agent in self.agents.items()},
            "cases": [case.model_dump(mode="json") for case in self.cases],
            "judges": {name: _described(judge) for name, judge in sorted(self.judges.items())},
        }
        return sha256(to_json(said)).hexdigest()[:_DIGEST]

    def report(self, state: Any) -> EvaluationReport:
        """What it has come to, of the final state of its run."""
        lost = {each["index"]: each for each in state["failed"]}
        done = iter(state["done"])
        cells = [
            EvaluationCell(**item, error=lost[index]["error"])
            if index in lost
            else EvaluationCell.model_validate(next(done))
            for index, item in enumerate(state["cells"])
        ]
        return EvaluationReport(name=self.name, cells=tuple(cells))

    def on_cell(self, told: Callable[[EvaluationCell], None] | None) -> None:
        """Have each cell told that is done in this process."""
        self._told = told

    @cached_property
    def _workflow(self) -> Chain:
        judging = [judge for judge in self.judges.values() if isinstance(judge, Agent)]
        cards = [card.judge.agent for card in self.judges.values() if isinstance(card, ScorecardJudge)]
        asked = [*self.agents.values(), *judging, *(agent for agent in cards if isinstance(agent, Agent))]
        cell = step("cell", self._cell)
        each = Parallel(
            "done", cell, over="cells", workers=self.at_once, failures="failed", may_all_fail=True
        )  # a cell that cannot be stored, such as one that is too large, is a failure of its own
        return Chain(self.name, [each], companions=list(dict.fromkeys(asked)))

    async def _cell(self, item: State, context: StepContext) -> dict[str, Any]:
        """Ask an agent a case, and have the answer judged. Whatever fails is a matter of this cell."""
        agent, case = self.agents[item["agent"]], self._cases[item["case"]]
        begun = context.clock()
        try:
            done = await consult(agent, case.request, context, key="asked", seconds=self.seconds)
        except Exception as error:  # noqa: BLE001  # an agent's failure is what an evaluation is to show
            why = context.mask(describe_error(error))
            cell = EvaluationCell(agent=item["agent"], case=case.id, error=why, seconds=context.clock() - begun)
        else:
            cell = await self._judged(item["agent"], case, done, context, context.clock() - begun)
        if self._told is not None:
            self._told(cell)
        return cell.model_dump(mode="json")

    async def _judged(
        self, agent: str, case: Case, done: Consulted[Any], context: StepContext, seconds: float
    ) -> EvaluationCell:
        output: JsonValue = _PLAIN.dump_python(done.output, mode="json")
        answer = CaseAnswer(case=case, agent=agent, output=output)
        return EvaluationCell(
            agent=agent,
            case=case.id,
            output=output,
            judgements={name: await self._judgement(name, answer, context) for name in self.judges},
            seconds=seconds,
            turns=done.turns,
            input_tokens=done.usage.input_tokens,
            output_tokens=done.usage.output_tokens,
            cost=done.usage.cost,
        )

    async def _judgement(self, name: str, answer: CaseAnswer, context: StepContext) -> Judgement:
        """What a judge says; that it has failed, if it has."""
        judge = self.judges[name]
        try:
            if isinstance(judge, ScorecardJudge):
                return await judge.of(answer, context)
            if isinstance(judge, Agent):
                key = f"judge-{list(self.judges).index(name)}"
                said = (await consult(judge, answer.model_dump_json(), context, key=key)).output
            else:
                said = await _called(judge, answer)
            return Judgement.of(said)
        except Exception as error:  # noqa: BLE001  # a judge's failure is one entry of one cell
            return Judgement(error=context.mask(describe_error(error)))


def _named(agents: Agent[Any] | Iterable[Agent[Any]] | Mapping[str, Agent[Any]]) -> Mapping[str, Agent[Any]]:
    """The agents by their name in the evaluation, which is that of their workflows, too."""
    if isinstance(agents, Agent):
        return {agents.name: agents}
    if isinstance(agents, Mapping):
        return {name: agent if agent.name == name else replace(agent, name=name) for name, agent in agents.items()}
    listed = list(agents)
    named = {agent.name: agent for agent in listed}
    if len(named) < len(listed):
        raise InvalidEvaluation("two agents have one name: give a mapping from names of your own")
    return named


async def _called(judge: Callable[[CaseAnswer], object], answer: CaseAnswer) -> object:
    """What a function says: an async one on the event loop, a sync one in a thread."""
    if iscoroutinefunction(judge):
        return await judge(answer)
    said = await in_thread(judge, answer)
    return await said if isinstance(said, Awaitable) else said


def _described(judge: CaseJudge) -> JsonValue:
    """What is known of a judge; nothing of a function, whose code has no description."""
    if isinstance(judge, Agent):
        return judge.describe()
    if not isinstance(judge, ScorecardJudge):
        return None
    asked = judge.judge.agent
    criteria: list[JsonValue] = [criterion.model_dump(mode="json") for criterion in judge.criteria]
    return {"agent": asked.describe() if isinstance(asked, Agent) else asked, "criteria": criteria}


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
