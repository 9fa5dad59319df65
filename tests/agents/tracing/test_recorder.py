"""The recorder keeps traces within bounds; a trace can be read as a tree, as JSON lines, and as a page."""

from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from anyio import fail_after, wait_all_tasks_blocked
from hypothesis import given
from hypothesis import strategies as st

from stagepost.agents import (
    Agent,
    AgentError,
    AgentFailed,
    AgentTool,
    Allow,
    Budget,
    FunctionModel,
    ModelRequest,
    ModelResponse,
    ObservationType,
    Recorder,
    ScriptedModel,
    Span,
    SpanEvent,
    Tasks,
    TraceContext,
    TraceLog,
    TraceMode,
    call,
    tool,
)
from stagepost.agents._tracing._cutting import cut
from stagepost.agents._tracing._text import duration
from stagepost.checkpoint import MemoryStore
from stagepost.hub import InvalidArgument
from stagepost.workflows import RunFailed, Runner


@tool(idempotent=True)
async def look(city: str) -> str:
    "Look at a city."
    return f"{city} is <b>fine</b>"


def agent(*script: Any, **more: Any) -> Agent[str]:
    return Agent("lead", "Lead.", model=ScriptedModel(script), tools=[look], **more)


class Down:
    async def answer(self, _request: ModelRequest) -> ModelResponse:
        raise ConnectionError


async def test_a_trace_is_kept_with_its_tree() -> None:
    recorder = Recorder()
    helper = Agent("helper", "Help.", model=ScriptedModel(["hm"]), description="Helps.")
    lead = Agent("lead", "Lead.", model=ScriptedModel([call("helper", request="?"), "done"]), tools=[AgentTool(helper)])
    await lead.run("go", tracing=recorder)
    log = recorder.last
    assert (log.name, log.failed, log.left_out) == (log.root.name, False, 0)
    assert log.trace_id == log.root.trace_id
    (below,) = log.find("sub-agent-helper")
    assert [span.name for span in log.children(below)] == ["iteration-0"]
    assert [span.name for _, span in log.walk()][1:4] == ["workflow-lifecycle", "iteration-0", "inference-lead"]
    assert all(span.status == "ok" and span.input is None and span.output is None for span in log.spans)
    assert all(span.seconds >= 0 for span in log.spans)
    (first, _) = log.find("inference-lead")
    assert (first.model, first.type, first.usage["total_tokens"]) == ("ScriptedModel", ObservationType.GENERATION, 0)


@pytest.mark.parametrize(("mode", "kept"), [(True, 2), ("on_error", 1), (False, 0)])
async def test_a_mode_says_which_traces_are_kept(mode: TraceMode, kept: int) -> None:
    recorder = Recorder(mode)
    await agent("done").run("go", tracing=recorder)
    with pytest.raises(AgentFailed):
        await Agent("broken", "Lead.", model=Down()).run("go", tracing=recorder)
    assert len(recorder.traces) == kept
    if kept:
        assert recorder.last.failed
        assert recorder.last.root.error == "ConnectionError"
    else:
        with pytest.raises(LookupError, match="no trace"):
            _ = recorder.last
    recorder.clear()
    assert recorder.traces == ()


async def test_only_the_last_traces_and_turns_are_kept() -> None:
    recorder = Recorder(traces=2, turns=3)
    for index in range(3):
        model, budget = FunctionModel(_ten_turns), Budget(turns=20)
        await Agent(f"a{index}", "Look.", model=model, tools=[look], budget=budget).run("go", tracing=recorder)
    assert [log.name.split("-")[1] for log in recorder.traces] == ["a1", "a2"]
    log = recorder.last
    assert log.left_out == 8
    names = [span.name for span in log.spans]
    assert [name for name in names if name.startswith("iteration")] == ["iteration-8", "iteration-9", "iteration-10"]
    assert len(names) == 2 + 3 * 3 - 1


def _ten_turns(request: ModelRequest) -> ModelResponse:
    return ModelResponse(calls=[call("look", city="Oslo")]) if request.answers < 10 else ModelResponse("done")


async def test_to_debug_requests_answers_and_states_are_kept() -> None:
    recorder = Recorder("on_error", debug=True)
    with pytest.raises(AgentError):
        await agent(call("look", city="Oslo")).run("go", tracing=recorder)  # the script has ended
    log = recorder.last
    first, second = log.find("inference-lead")
    assert isinstance(first.input, list)
    assert first.output == {"calls": [{"id": "call-0-0", "name": "look", "arguments": {"city": "Oslo"}}]}
    assert (second.status, "ScriptEnded" in (second.error or "")) == ("error", True)
    states = [span.events[0].attributes["state"] for span in log.spans if span.name.startswith("iteration")]
    assert [len(state["messages"]) for state in states if isinstance(state, dict)] == [1, 3]  # type: ignore[arg-type]  # lists


async def test_a_wait_is_told_apart_from_work() -> None:
    recorder = Recorder(content=True)
    lead = agent(call("look", city="Oslo"), "done", approvals=["look"])
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[lead], tracing=recorder) as runner:
            tasks = Tasks(runner)
            run = await tasks.start(lead, "go", task_id="t")
            await run.settled()
            (wanted,) = await tasks.approvals()
            await tasks.decide(wanted.id, Allow())
            await run.result()
    log = recorder.last
    assert [len(span.waits) for _, span in log.walk() if span.name != "tool-look"][:3] == [1, 1, 1]
    assert [span.status for span in log.find("tool-look")] == ["waiting", "ok"]
    text = log.to_text()
    assert "~ tool-look" in text
    assert text.splitlines()[0].startswith("+ task-lead-t")
    page = log.to_html()
    assert page.count('class="wait"') == 3
    assert "Oslo is &lt;b&gt;fine&lt;/b&gt;" in page


async def test_a_failed_task_that_is_resumed_is_one_trace_that_ends_well() -> None:
    recorder = Recorder()
    fails = [True]

    class Once:
        async def answer(self, _request: ModelRequest) -> ModelResponse:
            if fails:
                fails.clear()
                raise ConnectionError
            return ModelResponse("done")

    lead = Agent("lead", "Lead.", model=Once())
    with fail_after(30):
        async with MemoryStore() as store, Runner(store, workflows=[lead], tracing=recorder) as runner:
            run = await Tasks(runner).start(lead, "go", task_id="t")
            with pytest.raises(RunFailed):
                await run.result()
            await wait_all_tasks_blocked()  # the recorder is told later
            assert recorder.last.failed
            await (await runner.resume("t")).result()
    (log,) = recorder.traces
    assert (log.failed, log.root.status, log.root.error) == (False, "ok", None)
    assert [span.status for span in log.find("inference-lead")] == ["error", "ok"]


class Reading(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        named = dict(attributes)
        self.seen.add(tag)
        assert not {"style", "onclick", "src"} & set(named)
        if named.get("id"):
            self.ids.add(str(named["id"]))
        if tag == "a":
            self.links.add(str(named["href"]))
        if tag not in {"meta", "rect"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert {"style", "src"}.isdisjoint(dict(attrs)), tag
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_the_page_needs_nothing_else_and_allows_nothing_else() -> None:
    recorder = Recorder(content=True)
    await agent([call("look", city="</pre><script>alert(1)</script>")], "done").run("go", tracing=recorder)
    page = recorder.last.to_html()
    reading = Reading()
    reading.feed(page)
    assert reading.open == []
    assert "script" not in reading.seen
    assert {link[1:] for link in reading.links} - {""} <= reading.ids
    style = page.partition("<style>")[2].partition("</style>")[0]
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page


def spans() -> st.SearchStrategy[Span]:
    ids = st.sampled_from([f"{number:016x}" for number in range(1, 6)])
    texts = st.text(max_size=8)
    values = st.recursive(st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3))
    return st.builds(
        Span,
        trace_id=st.just("1" * 32),
        span_id=ids,
        parent_id=st.none() | st.just("f" * 16),
        name=texts,
        type=st.sampled_from(ObservationType),
        started_at=st.floats(0, 2e9),
        ended_at=st.none() | st.floats(0, 2e9),
        status=st.sampled_from(["ok", "error", "cancelled", "waiting", "interrupted", "suspended", None]),
        error=st.none() | texts,
        input=values,
        output=values,
        usage=st.dictionaries(st.sampled_from(["total_tokens", "cost"]), st.integers(0, 9)),
        events=st.lists(st.builds(SpanEvent, name=texts, at=st.floats(0, 2e9)), max_size=2).map(tuple),
        waits=st.lists(st.tuples(st.floats(0, 2e9), st.floats(0, 2e9)), max_size=2).map(tuple),
    )


@given(st.lists(spans(), min_size=1, max_size=5, unique_by=lambda span: span.span_id))
def test_any_trace_survives_json_lines_and_can_be_shown(kept: list[Span]) -> None:
    log = TraceLog(tuple(kept))
    assert TraceLog.from_jsonl(f"\n{log.to_jsonl()}") == log
    assert len(log.to_text().splitlines()) >= len(kept)
    reading = Reading()
    reading.feed(log.to_html())
    assert reading.open == []


def test_an_empty_trace_can_be_shown() -> None:
    assert TraceLog(()).to_text() == ""
    with pytest.raises(LookupError):
        _ = TraceLog(()).root


def test_long_texts_lists_and_deep_values_are_cut() -> None:
    text = cut("x" * 70_000)
    assert isinstance(text, str)
    assert (len(text) < 66_000, text.endswith("(4,464 more characters)")) == (True, True)
    many = cut(list(range(150)))
    assert isinstance(many, list)
    assert (len(many), many[-1]) == (101, "... (50 more)")
    keys = cut({str(number): number for number in range(150)})
    assert isinstance(keys, dict)
    assert (len(keys), keys["..."]) == (101, "50 more")
    deep: Any = "in"
    for _ in range(30):
        deep = [deep]
    assert "more inside" in str(cut(deep))
    assert cut({"a": [1, None, "x"]}) == {"a": [1, None, "x"]}


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0 ms"), (0.0421, "42 ms"), (1.25, "1.2 s"), (75, "1 min 15 s"), (7_384, "2 h 03 min")],
)
def test_durations_are_told_to_be_read(seconds: float, told: str) -> None:
    assert duration(seconds) == told


@pytest.mark.parametrize("text", ["", "\n", "no span\n"])
def test_a_text_without_spans_is_no_trace(text: str) -> None:
    with pytest.raises(ValueError, match=r"span|JSON"):
        TraceLog.from_jsonl(text)


@pytest.mark.parametrize("given", [{"trace": "all"}, {"trace": 1}, {"traces": 0}, {"turns": 0}])
def test_what_a_recorder_cannot_do_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(given))):
        Recorder(**given)


async def test_the_recorder_can_be_used_by_hand() -> None:
    recorder = Recorder()
    async with recorder.start_trace("task-a-1", "session", "user", tags=["x"]) as trace:
        await recorder.set_error(trace, ValueError("no"))
        for _ in range(120):
            await recorder.add_event(trace, "said")
        await recorder.add_event(TraceContext(trace.trace_id, "f" * 16), "unknown")
        await recorder.end_generation(trace, {"text": "x"}, {"total_tokens": 3})
    (span,) = recorder.last.spans
    assert (span.error, span.output, span.usage) == ("ValueError: no", {"text": "x"}, {"total_tokens": 3})
    assert (len(span.events), span.metadata) == (100, {"session_id": "session", "user_id": "user", "tags": ["x"]})
