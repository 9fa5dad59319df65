"""What surrounds the agents: the log, kind errors, guardrails; and the names of traces."""

import logging

import pytest
from tests.service.supervisor._shop import (
    DEAR,
    STOCK,
    WEATHER,
    WORKERS,
    both,
    get_stock_price,
    get_weather,
    heard,
    names,
    new_session,
    opened,
    stock_model,
    supervisor,
    text_of,
    weather_model,
)

from stagepost.agents import PromptContext, Prompts, Recorder, ScriptedModel, call, tool
from stagepost.checkpoint import MemoryStore
from stagepost.service.supervisor import (
    ChatSessions,
    Guardrails,
    InvalidWorker,
    SupervisorFactory,
    WorkerConfig,
    WorkerFactory,
    response_of,
    session_traces,
)
from stagepost.workflows import Runner

WRONG = ScriptedModel([call("ask_weather_agent", request="Miami?"), "It is 40 °C."])


def logged(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.getMessage().startswith(name)]


async def test_calls_of_workers_are_logged_with_sizes_and_the_session_only(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "stagepost.supervisor")
    session = new_session()
    async with opened(supervisor(both())) as sessions:
        await heard(sessions, "Both?", session)
    (request, *_) = logged(caplog, "worker_request")
    assert "worker=weather tool=ask_weather_agent" in request
    assert session in request
    (response,) = [each for each in logged(caplog, "worker_response") if "worker=stock" in each]
    assert f"content_len={len(DEAR)}" in response
    assert "duration=" in response
    assert len(logged(caplog, "model_response")) == 6
    assert not any("Miami" in record.getMessage() or DEAR in record.getMessage() for record in caplog.records)


async def test_a_doubtful_answer_is_logged_and_given(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(supervisor(WRONG, guardrails=Guardrails())) as sessions:
        assert text_of(await heard(sessions, "Miami?", new_session())) == "It is 40 °C."
    (found,) = logged(caplog, "answer_doubtful")
    assert "40 °C" in found


async def test_a_doubtful_answer_may_be_refused_and_is_then_void_for_readers() -> None:
    async with opened(supervisor(WRONG, guardrails=Guardrails(refuses=True))) as sessions:
        events = await heard(sessions, "Miami?", new_session())
    assert "40" not in text_of(events)
    assert names(events)[-3:] == ["token_reset", "token", "done"]


async def test_what_tools_have_reported_is_in_order(caplog: pytest.LogCaptureFixture) -> None:
    async with opened(supervisor(both(), guardrails=Guardrails())) as sessions:
        await heard(sessions, "Both?", new_session())
    assert logged(caplog, "answer_doubtful") == []


async def test_a_worker_that_says_nothing_and_a_tool_of_the_supervisor_that_fails_are_excused() -> None:
    @tool(idempotent=True)
    def list_holidays() -> str:
        """List the holidays."""
        raise RuntimeError("password=hunter2")

    calls = [call("list_holidays"), call("ask_weather_agent", question="?")]
    agent = supervisor(ScriptedModel([calls, "Sorry."]), tools=[list_holidays])
    async with opened(agent) as sessions:
        events = await heard(sessions, "Holidays?", new_session())
    assert [each.tool for each in response_of(events, WORKERS).supervisor_tool_calls] == [each.name for each in calls]
    results = {event.data["tool"]: event.data["result"] for event in events if event.name == "tool_result"}
    assert "list holidays" in results["list_holidays"]
    assert "hunter2" not in str(results)
    assert "do not fit" in results["ask_weather_agent"]


async def test_a_session_is_one_trace_with_its_turns_and_workers_by_their_names() -> None:
    recorder = Recorder()
    agent = supervisor(both(), weather=weather_model(), stock=stock_model())
    session = new_session()
    async with (
        MemoryStore() as store,
        Runner(store, workflows=[agent], tracing=session_traces(recorder, WORKERS, model="gpt-5-mini")) as runner,
        ChatSessions(runner, agent, WORKERS) as sessions,
    ):
        await heard(sessions, "Both?", session)
        await heard(sessions, "Again?", session)  # its script has ended: that turn fails
    logs = recorder.traces
    assert len({log.trace_id for log in logs}) == 1
    spans = [span for log in logs for _, span in log.walk()]
    turns = {span.span_id: span for span in spans if span.name == "supervisor"}
    assert {span.metadata["trace"] for span in turns.values()} == {session}
    assert {span.model for span in turns.values()} == {"gpt-5-mini"}
    assert len(turns) == 2
    (weather, *_) = [span for span in spans if span.name == "weather-worker"]
    assert weather.metadata["trace"] == f"{session}-weather"
    assert weather.metadata["parent_trace"] == session
    assert weather.model == "small"
    assert {span.span_id: span for span in spans}[str(weather.parent_id)].name == "iteration-0"


@pytest.mark.parametrize(
    ("workers", "why"),
    [
        ([], "at least one"),
        ([WEATHER, WEATHER], "two agents"),
        ([STOCK.model_copy(update={"tools": ("nothing",)})], "no tool 'nothing'"),
        ([STOCK.model_copy(update={"name": "supervisor"})], "two agents"),
    ],
    ids=["none", "twice", "tool", "name"],
)
def test_workers_that_do_not_fit_are_refused(workers: list[WorkerConfig], why: str) -> None:
    factory = SupervisorFactory(WorkerFactory([get_weather, get_stock_price]))
    with pytest.raises(InvalidWorker, match=why):
        factory.create(workers)


def test_tools_of_one_name_and_workers_without_a_tool_are_refused() -> None:
    with pytest.raises(InvalidWorker):
        WorkerFactory([get_weather, get_weather])
    wrong: list[dict[str, object]] = [{}, {"tool_name": "a", "tools": ["b"]}, {"tools": []}]
    for given in wrong:
        with pytest.raises(ValueError, match="tools"):
            WorkerConfig.model_validate({"name": "a", "prompt_name": "p", "description": "d", **given})


def test_an_agent_has_instructions_by_name_and_general_ones_else() -> None:
    factory = WorkerFactory([get_weather, get_stock_price], prompts={"shop-weather": "Be brief."})
    assert factory.agent(WEATHER).prompt == "Be brief."
    assert "get_stock_price" in str(factory.agent(STOCK).prompt)
    registry = WorkerFactory([get_weather], prompts=Prompts(None, {"shop-weather": "Be brief."}))
    assert callable(registry.agent(WEATHER).prompt)
    lead = SupervisorFactory(factory).create(WORKERS)
    assert callable(lead.prompt)
    text = str(lead.prompt(PromptContext("supervisor", "run", None, None)))
    assert "ask_weather_agent" in text
    assert "Prices of stocks." in text
