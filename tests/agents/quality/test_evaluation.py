import json
from pathlib import Path
from typing import Any

import pytest
from anyio import fail_after
from pydantic import BaseModel
from tests.agents.quality._scripts import NAMES_TOTAL, Asked, always, contains, judging

from stagepost.agents import (
    Agent,
    FunctionModel,
    InvalidEvaluation,
    ModelRequest,
    ModelResponse,
    ModelUnavailable,
    ReplayModel,
    Usage,
    call,
)
from stagepost.agents.quality import (
    Case,
    CaseAnswer,
    Evaluation,
    EvaluationReport,
    Judge,
    Judgement,
    ScorecardJudge,
    evaluate,
    judge_agent,
)

CASES = [Case(id="oslo", request="Oslo?", expected="rain"), Case(id="rome", request="Rome?", expected="sun")]


def weather(asked: list[str], **answers: str) -> Agent[str]:
    def answer(request: ModelRequest) -> ModelResponse:
        question = request.messages[-1].text
        asked.append(question)
        text = answers[question.strip("?").lower()]
        if text == "down":
            raise ModelUnavailable("openai/gone", "it is down")
        return ModelResponse(text, usage=Usage(input_tokens=3, output_tokens=1, cost=0.001))

    return Agent("weather", "Weather.", model=FunctionModel(answer))


def is_right(answer: CaseAnswer) -> bool:
    return answer.output == answer.case.expected


async def test_each_agent_is_asked_each_case_and_each_judge_says_something() -> None:
    asked: list[str] = []
    told: list[tuple[str, str, int, int]] = []
    agents = {"wet": weather(asked, oslo="rain", rome="rain"), "right": weather(asked, oslo="rain", rome="sun")}
    report = await evaluate(
        agents,
        CASES,
        {"right": is_right, "length": lambda answer: len(str(answer.output))},
        progress=lambda cell, done, total: told.append((cell.agent, cell.case, done, total)),
    )
    assert [(cell.agent, cell.case, cell.is_good) for cell in report.cells] == [
        ("wet", "oslo", True),
        ("wet", "rome", False),
        ("right", "oslo", True),
        ("right", "rome", True),
    ]
    assert sorted(asked) == ["Oslo?", "Oslo?", "Rome?", "Rome?"]
    assert [(done, total) for *_, done, total in told] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    wet, right = report.summaries()
    assert (wet.good, right.good) == (1, 2)
    assert wet.judges["right"].passed == 1
    assert right.judges["length"].score == 3.5
    assert (right.tokens, right.cost) == (8, 0.002)
    assert not report.is_good
    assert [cell.case for cell in report.bad()] == ["rome"]


async def test_the_table_has_a_row_for_each_agent() -> None:
    report = await evaluate({"a": weather([], oslo="rain", rome="down")}, CASES, {"right": is_right})
    titles, row = report.table().splitlines()
    assert titles.split() == ["agent", "good", "right", "failed", "seconds", "tokens", "cost"]
    assert row.split()[:4] == ["a", "1/2", "1/1", "1"]


async def test_an_agent_that_fails_is_one_cell() -> None:
    report = await evaluate(weather([], oslo="down", rome="sun"), CASES, {"right": is_right})
    down, fine = report.cells
    assert "it is down" in str(down.error)
    assert down.judgements == {}
    assert fine.is_good


async def test_a_cell_that_cannot_be_stored_is_one_cell() -> None:
    judges = {"long": lambda answer: "x" * 5_000_000 if answer.case.id == "oslo" else "short"}
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES, judges)
    oslo, rome = report.cells
    assert (oslo.agent, oslo.case) == ("weather", "oslo")
    assert str(oslo.error).startswith("ValueTooLarge")
    assert rome.judgements["long"].feedback == "short"


async def test_a_judge_that_fails_is_one_entry_of_a_cell() -> None:
    def fail(answer: CaseAnswer) -> bool:
        if answer.case.id == "oslo":
            raise LookupError("no such station")
        return True

    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES, {"fails": fail, "right": is_right})
    oslo, rome = report.cells
    assert oslo.judgements["fails"].error == "LookupError: no such station"
    assert oslo.judgements["right"].passed
    assert not oslo.is_good
    assert rome.is_good
    assert str(report.summaries()[0].judges["fails"]) == "1/1, 1 failed"


@pytest.mark.parametrize(
    ("said", "judgement"),
    [
        (True, Judgement(passed=True)),
        (0.5, Judgement(score=0.5)),
        ("too short", Judgement(feedback="too short")),
        (None, Judgement()),
        (Judgement(passed=False, feedback="x"), Judgement(passed=False, feedback="x")),
        ({"passed": False}, Judgement(passed=False)),
    ],
    ids=["bool", "number", "text", "none", "judgement", "mapping"],
)
async def test_a_judge_may_say_it_in_several_ways(said: Any, judgement: Judgement) -> None:
    async def judge(answer: CaseAnswer) -> Any:
        return said

    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES[:1], {"sync": always(said), "async": judge})
    assert report.cells[0].judgements == {"sync": judgement, "async": judgement}


async def test_something_else_is_no_judgement() -> None:
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES[:1], {"odd": always([1])})
    assert "is no judgement" in str(report.cells[0].judgements["odd"].error)


@pytest.mark.parametrize(
    "said",
    [float("nan"), float("inf"), {"score": float("nan")}, "\ud800"],
    ids=["no number", "infinite", "in a mapping", "no text"],
)
async def test_what_cannot_be_kept_is_the_failure_of_that_judge_alone(said: Any) -> None:
    judges = {"odd": always(said), "right": is_right}
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES[:1], judges)
    (cell,) = report.cells
    assert cell.error is None
    assert cell.judgements["odd"].error
    assert cell.judgements["right"].passed


async def test_an_agent_may_judge() -> None:
    def answer(request: ModelRequest) -> Any:
        given = json.loads(request.messages[-1].text)
        return call("return", passed=given["output"] == given["case"]["expected"], feedback="compared")

    judge = Agent("judge", "Judge.", model=FunctionModel(answer), output=Judgement)
    report = await evaluate(weather([], oslo="rain", rome="rain"), CASES, {"model": judge})
    assert [cell.judgements["model"].passed for cell in report.cells] == [True, False]


async def test_a_scorecard_may_judge() -> None:
    asked = Asked()
    judge = Judge(judge_agent(judging(asked, contains({"names_total": "sun"}))))
    card = ScorecardJudge(judge, [NAMES_TOTAL])
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES, {"card": card})
    assert [cell.judgements["card"].passed for cell in report.cells] == [False, True]
    assert [cell.judgements["card"].score for cell in report.cells] == [0, 1]
    assert asked.judged[0]["data"] == {"expected": "rain"} or asked.judged[1]["data"] == {"expected": "rain"}
    with pytest.raises(InvalidEvaluation):
        ScorecardJudge(judge, [{"id": "good", "description": "The response is good", "expected": "good"}])


async def test_a_scorecard_that_nobody_can_decide_says_neither_yes_nor_no() -> None:
    card = ScorecardJudge(Judge(), [NAMES_TOTAL])
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES[:1], {"card": card})
    assert report.cells[0].judgements["card"].passed is None


async def test_typed_requests_and_outputs_are_json() -> None:
    class Query(BaseModel):
        city: str

    class Sky(BaseModel):
        sky: str

    agent = Agent("typed", "Weather.", model=FunctionModel(always(call("return", sky="rain"))), input=Query, output=Sky)
    cases = [{"id": "oslo", "request": {"city": "Oslo"}}]
    report = await evaluate(agent, cases, {"right": lambda answer: answer.output == {"sky": "rain"}})
    assert report.is_good


async def test_a_case_may_take_so_long_and_no_longer() -> None:
    from anyio import sleep_forever

    async def answer(request: ModelRequest) -> str:
        await sleep_forever()
        return ""

    agent = Agent("slow", "Weather.", model=FunctionModel(answer))
    with fail_after(30):
        report = await evaluate(agent, CASES[:1], {"right": is_right}, seconds=0.01)
    assert "has not answered within 0.01 s" in str(report.cells[0].error)


async def test_no_more_cells_are_worked_on_at_once_than_allowed() -> None:
    from anyio import sleep

    running, most = 0, 0

    async def answer(request: ModelRequest) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await sleep(0.001)
        running -= 1
        return "rain"

    agent = Agent("slow", "Weather.", model=FunctionModel(answer))
    cases = [Case(id=str(number), request="?") for number in range(9)]
    await evaluate(agent, cases, {}, at_once=3)
    assert most == 3


def test_an_evaluation_is_another_one_if_what_it_consists_of_has_changed() -> None:
    agent, other = Agent("weather", "Weather."), Agent("weather", "The weather.")
    judge, kind = Agent("judge", "Judge.", output=Judgement), Agent("judge", "Be kind.", output=Judgement)
    card, cards = ScorecardJudge(Judge("quality"), [NAMES_TOTAL]), ScorecardJudge(Judge(judge_agent()), [NAMES_TOTAL])
    made = [
        Evaluation(agent, CASES, {"right": is_right}),
        Evaluation(other, CASES, {"right": is_right}),
        Evaluation(agent, CASES[:1], {"right": is_right}),
        Evaluation(agent, CASES, {"good": is_right}),
        Evaluation(agent, CASES, {"right": judge}),
        Evaluation(agent, CASES, {"right": kind}),
        Evaluation(agent, CASES, {"right": card}),
        Evaluation(agent, CASES, {"right": cards}),
        Evaluation(agent, CASES, {"right": is_right}, name="again"),
    ]
    assert len({each.key for each in made}) == len(made)
    assert Evaluation(agent, CASES, {"right": always(True)}).key == made[0].key  # code of judges is not seen


def test_names_are_unique() -> None:
    named = [Agent("a", "A."), Agent("b", "B.")]
    assert list(Evaluation(named, CASES, {}).agents) == ["a", "b"]
    agent = weather([], oslo="rain")
    with pytest.raises(InvalidEvaluation, match="two agents"):
        Evaluation([agent, agent], CASES, {})
    with pytest.raises(InvalidEvaluation, match="'oslo'"):
        Evaluation(agent, [CASES[0], CASES[0]], {})
    with pytest.raises(InvalidEvaluation, match="at least one"):
        Evaluation(agent, [], {})


async def test_cells_are_written_and_read(tmp_path: Path) -> None:
    report = await evaluate(weather([], oslo="rain", rome="sun"), CASES, {"right": is_right})
    report.write(tmp_path / "cells.jsonl")
    assert EvaluationReport.read(tmp_path / "cells.jsonl") == report
    assert len((tmp_path / "cells.jsonl").read_text().splitlines()) == 2


async def test_recorded_answers_are_replayed(tmp_path: Path) -> None:
    asked: list[str] = []
    real = weather(asked, oslo="rain", rome="sun").model
    assert real is not None
    for record in (real, None):
        model = ReplayModel(tmp_path / "weather.jsonl", record=record)
        report = await evaluate(Agent("weather", "Weather.", model=model), CASES, {"right": is_right})
        assert report.is_good
    assert len(asked) == 2
