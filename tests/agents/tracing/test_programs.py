"""Traces of agents whose answers are programs: programs, their calls, what is kept and what is hidden."""

from typing import Any

import anyio
import pytest
from pydantic import JsonValue
from tests.agents.programs._orders import Asked

from stagepost.agents import (
    Agent,
    AgentGaveUp,
    AgentTool,
    Allow,
    BaseTracingProvider,
    ObservationType,
    Recorder,
    ScriptedModel,
    Tasks,
    TraceLog,
    Tracing,
    tool,
)
from stagepost.agents._tracing._hiding import without_hidden
from stagepost.checkpoint import MemoryStore
from stagepost.programs import PtcLisp
from stagepost.workflows import Runner

DONE = "(return {:total 1})"
BRANCHES = '(def kept (pmap #(:name (tool/look {:id %})) [3 1 2])) (println "names:" kept)'


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def shape(log: TraceLog) -> list[tuple[int, str]]:
    """Names of spans with their depths, from the turns on."""
    return [(depth - 2, span.name) for depth, span in log.walk() if depth > 1]


async def test_a_program_is_a_span_below_its_turn_and_its_calls_are_below_it() -> None:
    recorder = Recorder(content=True)
    await Asked(BRANCHES, "(foo)", DONE).agent.run({"rows": []}, tracing=recorder)
    log = recorder.last
    look = (2, "tool-look")
    assert shape(log) == [
        (0, "iteration-0"), (1, "inference-reporter"), (1, "program"), look, look, look,
        (0, "iteration-1"), (1, "inference-reporter"), (1, "program"),
        (0, "iteration-2"), (1, "inference-reporter"), (1, "program"),
    ]  # fmt: skip
    first, second, third = log.find("program")
    assert [span.type for span in (first, second, third)] == [ObservationType.SPAN] * 3
    assert (first.input, first.output) == (BRANCHES, {"value": None, "prints": ['names: ["n3" "n1" "n2"]']})
    assert [span.status for span in (first, second, third)] == ["ok", "error", "ok"]
    assert second.error is not None
    assert second.error.startswith("undefined_variable: undefined_variable: Undefined variable: foo (line 1, column 2)")
    assert [event.attributes for event in third.events] == [{"end": "return"}]
    calls = log.find("tool-look")
    assert [span.input for span in calls] == [{"id": 3}, {"id": 1}, {"id": 2}]
    assert [span.metadata["call_id"] for span in calls] == ["program-0-0.1", "program-0-1.2", "program-0-2.3"]
    assert TraceLog.from_jsonl(log.to_jsonl()).spans == log.spans


async def test_without_content_only_kinds_are_told() -> None:
    recorder = Recorder()
    await Asked(BRANCHES, "(foo)", DONE).agent.run({"rows": []}, tracing=recorder)
    first, second, _ = recorder.last.find("program")
    assert (first.input, first.output, second.error) == (None, None, "undefined_variable")
    assert "names" not in recorder.last.to_jsonl()


async def test_agents_below_are_in_the_tree_also_in_branches() -> None:
    poet = Agent("poet", "Write.", model=ScriptedModel(["a line"]), description="Writes.")
    program = '(return (pmap (fn [x] (tool/poet {:request x})) ["a" "b"]))'
    lead = Agent(
        "lead", "Lead.", model=ScriptedModel([program]), tools=[AgentTool(poet)], output=list[str], programs=PtcLisp()
    )
    recorder = Recorder()
    await lead.run("Go.", tracing=recorder)
    below = [(2, "sub-agent-poet"), (3, "iteration-0"), (4, "inference-poet")]
    assert shape(recorder.last) == [(0, "iteration-0"), (1, "inference-lead"), (1, "program"), *below, *below]


async def test_modes_keep_all_failures_or_nothing() -> None:
    kept: dict[Any, list[int]] = {}
    for mode in (True, "on_error", False):
        recorder = Recorder(mode)
        await Asked(DONE).agent.run({"rows": []}, tracing=recorder)
        with pytest.raises(AgentGaveUp):
            await Asked('(fail {:reason :none :message "nothing"})').agent.run({"rows": []}, tracing=recorder)
        kept[mode] = [len(log.find("program")) for log in recorder.traces]
    assert kept == {True: [1, 1], "on_error": [1], False: []}


async def test_debugging_shows_what_a_program_began_with() -> None:
    recorder = Recorder(debug=True)
    await Asked("(def seen (count data/rows))", DONE).agent.run({"rows": [{"id": 1}]}, tracing=recorder)
    states = [span.events[0] for span in recorder.last.find("program")]
    assert [event.name for event in states] == ["state", "state"]
    assert states[0].attributes["state"] == {"data": {"rows": [{"id": 1}]}, "memory": {}}
    assert states[1].attributes["state"] == {"data": {"rows": [{"id": 1}]}, "memory": {"seen": 1}}


async def test_fields_that_models_are_not_shown_are_in_no_trace() -> None:
    program = '(def kept (first data/rows)) (def more {"_code" (:_code kept)}) (tool/pass_on {:_code (:_code kept)})'

    @tool(idempotent=True)
    async def pass_on(details: dict[str, str] | None = None) -> dict[str, str]:
        return {"_code": "sesame", "seen": "yes"}

    recorder = Recorder(debug=True)
    asked = Asked(program.replace("{:_code (:_code kept)}", "{:details kept}"), DONE, tools=[pass_on])
    await asked.agent.run({"rows": [{"_code": "sesame"}]}, tracing=recorder)
    text = recorder.last.to_jsonl()
    assert "sesame" not in text
    assert "[Hidden]" in text
    (call,) = recorder.last.find("tool-pass_on")
    assert (call.input, call.output) == ({"details": {"_code": "[Hidden]"}}, '{"_code":"[Hidden]","seen":"yes"}')


def test_hiding_looks_into_texts_and_into_what_programs_have_kept() -> None:
    kept: JsonValue = {"m": [{"k": "_a"}, 1, "_b", 2, {"k": "c"}, {"_d": 3}]}
    assert without_hidden(kept) == {"m": [{"k": "_a"}, "[Hidden]", "_b", "[Hidden]", {"k": "c"}, {"_d": "[Hidden]"}]}
    assert without_hidden(['{"_a": 1}', '{"_a": 1', "_a", {"m": 1}]) == [
        '{"_a":"[Hidden]"}',
        '{"_a": 1',
        "_a",
        {"m": 1},
    ]


async def test_long_texts_and_lists_are_cut() -> None:
    recorder = Recorder(content=True)
    program = f'(println "{"x" * 100}") (return {{:total 1 :names (map str (range 500))}}) ; {"y" * 70_000}'
    await Asked(program).agent.run({"rows": []}, tracing=recorder)
    (span,) = recorder.last.find("program")
    assert isinstance(span.input, str)
    assert span.input.endswith("more characters)")
    assert isinstance(span.output, dict)
    assert isinstance(value := span.output["value"], dict)
    assert isinstance(names := value["names"], list)
    assert (len(names), names[-1]) == (101, "... (400 more)")


async def test_secrets_are_masked() -> None:
    recorder = Recorder(content=True)
    asked = Asked('(println "the key is k-4711") (return {:total 1})')
    await asked.agent.run({"rows": []}, tracing=recorder, secrets={"key": "k-4711"})
    assert "4711" not in recorder.last.to_jsonl()


async def test_a_program_that_waits_goes_on_in_its_span() -> None:
    @tool(needs_approval=True)
    async def pay(amount: int) -> str:
        return f"paid {amount}"

    agent = Asked("(pmap (fn [i] (tool/pay {:amount i})) [1 2]) (return {:total 1})", tools=[pay]).agent
    recorder = Recorder()
    async with MemoryStore() as store, Runner(store, workflows=[agent], tracing=recorder) as runner:
        tasks = Tasks(runner)
        task = await tasks.start(agent, {"rows": []}, task_id="t")
        await task.settled()
        for wanted in await tasks.approvals():
            await tasks.decide(wanted.id, Allow())
        await task.result()
    (program,) = recorder.last.find("program")
    assert program.status == "ok"
    calls = recorder.last.find("tool-pay")
    assert {span.parent_id for span in calls} == {program.span_id}
    assert sorted(str(span.status) for span in calls) == ["ok", "ok", "waiting", "waiting"]


class Broken(BaseTracingProvider):
    """Raises, and returns nonsense, wherever it is asked."""

    async def begin_trace(self, *_: Any, **__: Any) -> None:
        """Raises."""
        raise RuntimeError

    async def begin_observation(self, *_: Any, **__: Any) -> None:
        """Waits for ever."""
        await anyio.sleep_forever()

    async def end_observation(self, *_: Any, **__: Any) -> None:
        """Raises."""
        raise ValueError

    async def end_generation(self, *_: Any, **__: Any) -> None:
        """Raises."""
        raise KeyError


async def test_a_provider_cannot_affect_a_program() -> None:
    asked = Asked(BRANCHES, DONE)
    expected = await Asked(BRANCHES, DONE).run()
    tracing = Tracing(Broken(), content=True, debug=True, patience=0.01, within=0.1)
    result = await asked.agent.run({"rows": []}, tracing=tracing)
    assert (result.output, result.turns) == (expected.output, expected.turns)
    assert tracing.statistics().failed


async def test_turns_and_timeline_are_texts() -> None:
    recorder = Recorder()
    await Asked(BRANCHES, "(foo)", DONE).agent.run({"rows": []}, tracing=recorder)
    log = recorder.last
    told = [line.split("  ") for line in log.to_turns().splitlines()]
    assert [next(filter(None, line)) for line in told] == ["turn 1", "turn 2", "turn 3"]
    assert [line[-2:] for line in told] == [
        ["3 calls", "program: value"], ["0 calls", "program: undefined_variable"], ["0 calls", "program: return"],
    ]  # fmt: skip
    lines = log.to_timeline().splitlines()
    assert len(lines) == len(log.spans)
    assert {line.index("|") for line in lines} == {37}
    assert "      program" in log.to_timeline()
