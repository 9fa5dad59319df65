"""The events of a turn: their order, their fields, and how readers come back."""

import anyio
from tests.service.supervisor._shop import (
    DEAR,
    HOT,
    STOCK,
    WEATHER,
    WORKERS,
    Gate,
    both,
    heard,
    names,
    new_session,
    of_call,
    opened,
    supervisor,
    text_of,
)

from stagepost.agents import Deny, ScriptedModel, Tasks, call
from stagepost.service.supervisor import WorkerProgressEvent, response_of

ADDED = {"seq", "call_id", "session_id", "timestamp"}
FIELDS = {
    "token": {"content"},
    "tool_call": {"tool", "args"},
    "worker_started": {"worker", "request"},
    "worker_tool_call": {"worker", "tool", "args"},
    "worker_tool_result": {"worker", "result"},
    "worker_completed": {"worker", "response", "status", "duration_ms"},
    "tool_result": {"tool", "result"},
    "done": set(),
    "error": {"message"},
}
OF_A_CALL = ["tool_call", "worker_started", "worker_tool_call", "worker_tool_result", "worker_completed", "tool_result"]


async def test_a_turn_tells_each_event_with_its_fields_and_each_call_in_order() -> None:
    session = new_session()
    async with opened(supervisor(both())) as sessions:
        events = await heard(sessions, "Miami and AAPL?", session)
    assert {event.name: set(event.data) for event in events} == {
        name: fields | ADDED for name, fields in FIELDS.items() if name != "error"
    }
    assert [event.data["seq"] for event in events] == list(range(1, len(events) + 1))
    assert {event.data["session_id"] for event in events} == {session}
    assert len({event.id for event in events}) == len(events)
    for call_id in ("call-1", "call-2"):
        assert [name for name, _ in of_call(events, call_id)] == OF_A_CALL
    assert names(events)[0] == "token"
    assert names(events)[-2:] == ["token", "done"]


async def test_what_is_told_of_a_worker_is_whole_and_has_one_name() -> None:
    async with opened(supervisor(both())) as sessions:
        events = await heard(sessions, "Miami and AAPL?", new_session())
    found = [event.progress for event in events if event.progress and event.data["call_id"] == "call-1"]
    assert {each.worker_name for each in found} == {"weather"}
    assert found[:3] == [
        WorkerProgressEvent(event_type="worker_started", worker_name="weather", data={"request": "Miami?"}),
        WorkerProgressEvent(
            event_type="worker_tool_call",
            worker_name="weather",
            data={"tool": "get_weather", "args": {"city_name": "Miami"}},
        ),
        WorkerProgressEvent(
            event_type="worker_tool_result",
            worker_name="weather",
            data={"result": '{"city":"Miami","temperature":28}'},
        ),
    ]
    assert found[3].data["response"] == HOT
    assert found[3].data["status"] == "ok"


async def test_long_answers_and_results_are_told_as_a_whole() -> None:
    long = "So it is. " * 500
    model = ScriptedModel([call("ask_weather_agent", request=long), "Yes."])
    async with opened(supervisor(model, weather=ScriptedModel([long]))) as sessions:
        events = {event.name: event.data for event in await heard(sessions, "Tell me.", new_session())}
    assert events["worker_started"]["request"] == long
    assert events["worker_completed"]["response"] == long
    assert events["tool_result"]["result"] == long


async def test_two_workers_are_at_work_at_once() -> None:
    weather, stock = Gate(ScriptedModel([HOT])), Gate(ScriptedModel([DEAR]))
    async with opened(supervisor(both(), weather=weather, stock=stock)) as sessions, anyio.create_task_group() as group:

        async def open_once_both_are_asked() -> None:
            await weather.reached.wait()
            await stock.reached.wait()
            stock.opened.set()
            weather.opened.set()

        group.start_soon(open_once_both_are_asked)
        with anyio.fail_after(20):
            events = await heard(sessions, "Both?", new_session())
    assert text_of(events).endswith("28 °C, and 150.25 USD.")


async def test_the_tokens_joined_are_the_response() -> None:
    async with opened(supervisor(both())) as sessions:
        events = await heard(sessions, "Both?", new_session())
    response = response_of(events, WORKERS)
    assert text_of(events) == response.response == "Let me ask.\n\n28 °C, and 150.25 USD."
    assert [each.tool for each in response.supervisor_tool_calls] == ["ask_weather_agent", "ask_stock_agent"]
    assert [each.worker_name for each in response.worker_details] == ["weather", "stock"]
    assert [each.internal_tool_calls[0].tool for each in response.worker_details] == ["get_weather", "get_stock_price"]


async def test_a_failing_worker_is_told_kindly_and_marked_as_failed() -> None:
    stock = ScriptedModel([call("get_stock_price", ticker="NONE"), ConnectionError("password=hunter2")])
    async with opened(supervisor(both(), stock=stock)) as sessions:
        session = new_session()
        events = await heard(sessions, "Both?", session)
    assert "hunter2" not in str([event.data for event in events])
    completed = {e.data["worker"]: e.data for e in events if e.name == "worker_completed"}
    assert completed["weather"]["status"] == "ok"
    assert completed["stock"]["status"] == "failed"
    assert "stock request" in completed["stock"]["response"]
    results = {e.data["tool"]: e.data["result"] for e in events if e.name == "tool_result"}
    assert results["ask_stock_agent"] == completed["stock"]["response"]
    assert names(events)[-1] == "done"
    assert [each.status for each in response_of(events, WORKERS).worker_details] == ["ok", "failed"]


async def test_a_failing_model_of_the_supervisor_ends_the_turn_with_an_error() -> None:
    async with opened(supervisor(ScriptedModel([call("ask_weather_agent", request="Miami?")]))) as sessions:
        events = await heard(sessions, "Miami?", new_session())
    assert names(events)[-1] == "error"
    assert "done" not in names(events)
    assert set(events[-1].data) == {"message"} | ADDED


async def test_a_worker_that_a_person_denies_was_asked_nothing() -> None:
    careful = WEATHER.model_copy(update={"needs_approval": True})
    model = ScriptedModel([call("ask_weather_agent", request="Miami?"), "Not allowed."])
    workers = (careful, STOCK)
    async with opened(supervisor(model, workers=workers), workers=workers) as sessions:
        tasks = Tasks(sessions._runner)
        session = new_session()
        before = await heard(sessions, "Miami?", session, until=lambda e: e.name == "approval_requested")
        wanted = before[-1]
        assert set(wanted.data) == {"approval_id", "tool", "arguments", "reason", "worker"} | ADDED
        assert wanted.data["worker"] is None
        assert wanted.data["call_id"] == "call-1"
        await tasks.decide(wanted.data["approval_id"], Deny("no"), by="ann")
        turn = await sessions.last(session, wanted.id)
        assert turn is not None
        after = [event async for event in turn.events()]
    assert [e.name for e in after if e.name != "token"] == ["approval_decided", "tool_result", "done"]
    (detail,) = response_of([*before, *after], workers).worker_details
    assert (detail.status, detail.internal_tool_calls) == ("failed", [])
    assert detail.worker_request == "Miami?"


async def test_a_reader_that_is_cut_off_after_each_event_gets_every_event_once() -> None:
    session = new_session()
    async with opened(supervisor(both())) as sessions:
        events = await heard(sessions, "Both?", session, key="k", until=lambda _: True)
        while not events[-1].is_last:
            events += await heard(sessions, "Both?", session, key="k", after=events[-1].id, until=lambda _: True)
        assert await sessions.last(session, events[-1].id) is None
        whole = await heard(sessions, "Both?", session, key="k")
    assert [event.data["seq"] for event in events] == list(range(1, len(events) + 1))
    assert text_of(events) == text_of(whole)
    assert names(events)[-1] == "done"
    for call_id in ("call-1", "call-2"):
        assert of_call(events, call_id) == of_call(whole, call_id)


async def test_a_reader_that_comes_back_after_the_end_gets_what_it_has_missed() -> None:
    session = new_session()
    async with opened(supervisor(both())) as sessions:
        live = await heard(sessions, "Both?", session, key="k")
        for cut, event in enumerate(live[:-1], 1):
            events = live[:cut] + await heard(sessions, "Both?", session, key="k", after=event.id)
            assert text_of(events) == text_of(live)
            assert names(events)[-1] == "done"
            for call_id in ("call-1", "call-2"):
                assert of_call(events, call_id) == of_call(live, call_id)
