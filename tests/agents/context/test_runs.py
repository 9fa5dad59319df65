"""Long runs: what their model sees turn by turn, what summaries cost, and what a prompt that is too long leads to."""

from dataclasses import replace
from typing import Any

import pytest
from tests.agents._ways import Way, both_ways, loop_of, result_of, started, working
from tests.agents.context._long import Digger, dig, digger, is_paired, is_summary, kinds, tokens

from stagepost.agents import (
    Agent,
    AgentTool,
    AssistantMessage,
    Budget,
    BudgetExceeded,
    ClearResults,
    Compaction,
    CompactionFailed,
    ContextPolicy,
    ContextTooLong,
    Cut,
    FunctionModel,
    Image,
    KeepLast,
    ModelContext,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ScriptedModel,
    Summarize,
    SummaryBy,
    Tasks,
    Token,
    ToolMessage,
    Usage,
    UserMessage,
    Window,
    call,
    tool,
)
from stagepost.checkpoint import MemoryStore
from stagepost.workflows import RunFailed

LAST = ContextPolicy(messages=9, compact=[KeepLast(turns=2)])
SUMMARY = ContextPolicy(messages=9, compact=[Summarize(keep_turns=2)])


@both_ways
async def test_the_prompt_stays_below_its_limit(way: Way) -> None:
    model = Digger(40)
    result = await way(digger(model, ContextPolicy(limit=2_000)))
    assert max(map(tokens, model.requests)) <= 2_000
    assert all(is_paired(request.messages) for request in model.requests)
    assert len(result.messages) == 82
    assert result.turns == 41


@both_ways
async def test_without_a_count_of_the_provider_the_estimate_counts(way: Way) -> None:
    model = Digger(40, counts=False)
    await way(digger(model, ContextPolicy(limit=2_000)))
    assert max(map(tokens, model.requests)) <= 2_000


async def test_the_providers_count_counts_more_than_the_estimate() -> None:
    """A model whose tokens are four times as short."""
    inner = Digger(30, counts=False)

    async def answer(request: ModelRequest) -> ModelResponse:
        response = await inner.answer(request)
        return ModelResponse(response.text, response.calls, Usage(input_tokens=4 * tokens(request)))

    await digger(FunctionModel(answer), ContextPolicy(limit=4_000)).run("go")
    assert max(4 * tokens(request) for request in inner.requests[1:]) <= 4_000


async def test_the_window_of_a_model_is_the_limit_where_none_is_given() -> None:
    class Small(Digger):
        context_window = 2_000

    model = Small(40)
    await digger(model, None).run("go")
    assert max(map(tokens, model.requests)) <= 1_600


@both_ways
async def test_what_is_left_out_is_said(way: Way) -> None:
    model = Digger(6)
    await way(digger(model, LAST))
    assert [kinds(request.messages) for request in model.requests] == [
        "su",
        "suat",
        "suatat",
        "suatatat",
        "suatatatat",
        "suuatat",
        "suuatatat",
    ]
    assert model.requests[5].messages[2].text == "[6 earlier messages of this conversation are not shown.]"
    assert [request.left_out for request in model.requests] == [0, 0, 0, 0, 0, 3, 3]


@both_ways
async def test_old_results_are_cleared_and_can_be_read_again(way: Way) -> None:
    def answer(request: ModelRequest) -> Any:
        if request.answers < 5:
            return call("dig", number=request.answers)
        return call("read_result", result=2) if request.answers == 5 else "done"

    seen: list[ModelRequest] = []

    def noted(request: ModelRequest) -> Any:
        seen.append(request)
        return answer(request)

    policy = ContextPolicy(limit=500, compact=[ClearResults(keep=2)])
    result = await way(digger(FunctionModel(noted), policy))
    cleared = [message.text for message in seen[-2].messages if message.text.startswith("[This text")]
    assert cleared[0] == "[This text of 409 characters is no longer shown; read_result(result=2) reads it.]"
    assert [tool.name for tool in seen[-1].tools] == ["dig", "read_result"]
    assert result.messages[-2].text.endswith(dig_text(0))


def dig_text(number: int) -> str:
    return f"layer {number}: " + "x" * 400


@both_ways
async def test_a_summary_is_asked_for_once_and_counted(way: Way) -> None:
    model = Digger(8)
    result = await way(digger(model, SUMMARY))
    assert len(model.summaries) == 2
    assert len(model.requests) == 9
    last = model.requests[-1].messages[2].text
    assert last.startswith("[10 earlier messages of this conversation are not shown. A summary of them:]")
    assert last.endswith("summary 2")
    every = [*model.requests, *model.summaries]
    assert result.usage.input_tokens == sum(map(tokens, every))
    assert result.usage.cost == pytest.approx(0.11)
    assert result.turns == 9
    assert [message.role for message in result.messages].count("user") == 1


async def test_a_summary_is_made_of_what_is_left_out_and_of_the_summary_before() -> None:
    model = Digger(8)
    await digger(model, SUMMARY).run("go")
    first, second = (request.messages[1].text for request in model.summaries)
    assert "The first request, which stays: go" in first
    assert 'Assistant calls dig: {"number":0}' in first
    assert "Result of dig: layer 2" in first
    assert "layer 3" not in first
    assert "summary 1" in second
    assert "layer 2" not in second
    assert "Result of dig: layer 4" in second
    assert all(not request.tools for request in model.summaries)


async def test_another_model_may_write_the_summary() -> None:
    model, writer = Digger(8), Digger(0)
    policy = ContextPolicy(messages=9, compact=[Summarize(keep_turns=2, model="small", instructions="Sum up.")])
    agent = digger(model, policy, models={"small": writer}, settings=ModelSettings(max_tokens=7, seed=1))
    await agent.run("go")
    assert (len(model.summaries), len(writer.requests)) == (0, 2)
    assert writer.requests[0].messages[0].text == "Sum up."
    assert writer.requests[0].settings == ModelSettings()


async def test_the_agents_own_model_gets_the_agents_settings_but_those_of_its_answers() -> None:
    model = Digger(9)
    settings = ModelSettings(max_tokens=7, seed=1, tool_choice="auto")
    policy = ContextPolicy(messages=9, compact=[Summarize(keep_turns=2, settings=ModelSettings(temperature=0))])
    await digger(model, policy, settings=settings).run("go")
    assert model.summaries[0].settings == ModelSettings(seed=1, temperature=0)


async def test_hooks_are_told_of_summaries_and_nobody_gets_their_pieces() -> None:
    told: list[bool] = []
    pieces: list[Token] = []

    class Listening:
        async def model_call(self, request: ModelRequest, context: ModelContext, ask: Any) -> ModelResponse:
            told.append(context.is_summary)
            return await ask(replace(request, on_token=pieces.append))  # type: ignore[no-any-return]  # a test's hook

    model = Digger(5)
    await digger(model, SUMMARY, hooks=[Listening()]).run("go")
    assert told == [False] * 5 + [True, False]
    assert "".join(piece.text for piece in pieces if piece.kind == "text") == "done"


async def test_a_summary_counts_against_the_budget() -> None:
    model = Digger(20)
    agent = digger(model, SUMMARY, budget=Budget(turns=None, tool_calls=None, cost=0.055))
    with pytest.raises(BudgetExceeded, match="cost"):
        await agent.run("go")
    assert (len(model.requests), len(model.summaries)) == (5, 1)


async def test_a_summary_takes_no_turn_of_the_budget() -> None:
    model = Digger(6)
    result = await digger(model, SUMMARY, budget=Budget(turns=7, tool_calls=None)).run("go")
    assert (result.output, len(model.summaries)) == ("done", 1)


async def test_a_secret_in_a_summary_is_masked() -> None:
    def answer(request: ModelRequest) -> Any:
        if is_summary(request):
            return "the word is sesame-open"
        return call("dig", number=request.answers) if request.answers < 6 else "done"

    seen: list[ModelRequest] = []

    def noted(request: ModelRequest) -> Any:
        seen.append(request)
        return answer(request)

    await digger(FunctionModel(noted), SUMMARY).run("go", secrets={"word": "sesame-open"})
    assert "the word is ***" in seen[-1].messages[2].text


@pytest.mark.parametrize("text", ["", "  "])
async def test_a_summary_that_says_nothing_leaves_a_note(text: str) -> None:
    seen: list[ModelRequest] = []

    def answer(request: ModelRequest) -> Any:
        if is_summary(request):
            return text
        seen.append(request)
        return call("dig", number=request.answers) if request.answers < 6 else "done"

    await digger(FunctionModel(answer), SUMMARY).run("go")
    assert seen[-1].messages[2].text == "[6 earlier messages of this conversation are not shown.]"


async def test_a_conversation_too_long_for_the_writer_is_shortened_and_at_last_left_out() -> None:
    asked: list[int] = []

    class Writer:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            asked.append(len(request.messages[-1].text))
            raise ContextTooLong("writer", "too long")

    policy = ContextPolicy(messages=9, compact=[Summarize(keep_turns=2, model=Writer())])
    model = Digger(6)
    await digger(model, policy).run("go")
    assert len(asked) == 4
    assert asked == sorted(asked, reverse=True)
    assert model.requests[-1].messages[2].text == "[6 earlier messages of this conversation are not shown.]"


async def test_a_compaction_of_ones_own() -> None:
    class Odd:
        summary = SummaryBy(instructions="You are given the earlier part, oddly.")

        def cut(self, window: Window) -> Cut:
            assert isinstance(window.messages[0], UserMessage)
            assert window.most_messages == 5
            return Cut(drop=range(1, window.unread), summarize=True)

    model = Digger(6)
    await digger(model, ContextPolicy(messages=9, compact=[Odd()])).run("go")
    assert kinds(model.requests[5].messages) == "suuat"
    assert model.summaries[0].messages[0].text == "You are given the earlier part, oddly."


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: 1 / 0, "ZeroDivisionError"),
        (lambda: None, "it has returned NoneType: return a Cut"),
        (lambda: Cut(drop=3), "TypeError"),  # type: ignore[arg-type]  # what is refused
    ],
    ids=["raises", "nothing", "no list"],
)
async def test_a_compaction_that_fails_says_so(made: Any, why: str) -> None:
    class Broken:
        def cut(self, window: Window) -> Cut:
            assert window.messages
            return made()  # type: ignore[no-any-return]  # what is refused

    with pytest.raises(CompactionFailed, match=f"Broken.cut.. of agent 'digger' has failed: .*{why}"):
        await digger(Digger(9), ContextPolicy(messages=4, compact=[Broken()])).run("go")


async def test_agents_below_have_the_policy_of_the_agent_above_unless_they_have_their_own() -> None:
    def asked(policy: ContextPolicy | None) -> tuple[ContextPolicy, ContextPolicy, ContextPolicy]:
        below = Agent("below", "B.", tools=[dig], context=policy)
        helper = Agent("helper", "H.", context=policy)
        tools = [AgentTool(helper, name="ask", description="Asks.")]
        lead = Agent("lead", "L.", model=ScriptedModel(["x"]), sub_agents=[below], tools=tools, context=LAST)
        loop = loop_of(lead)
        first, second = loop.below
        return loop._member.context, first._member.context, second._member.context

    own = ContextPolicy(limit=5)
    assert asked(None) == (LAST, LAST, LAST)
    assert asked(own) == (LAST, own, own)


async def test_many_results_at_once_are_shown_as_far_as_there_is_room() -> None:
    @tool(idempotent=True)
    async def book(number: int) -> str:
        "A book."
        return "x" * 8_000

    model = ScriptedModel([[call("book", number=number) for number in range(10)], "done"])
    result = await digger(model, ContextPolicy(limit=8_000), tools=[book]).run("go")
    assert tokens(model.requests[-1]) <= 8_000
    assert all(len(message.text) > 1_000 for message in model.requests[-1].messages[3:])
    assert all(len(message.text) == 8_000 for message in result.messages if isinstance(message, ToolMessage))


class Strict(Digger):
    """A model that refuses what is longer than it can read, and does not say before how much that is."""

    def __init__(self, times: int, room: int) -> None:
        super().__init__(times)
        self.refused = 0
        self.room = room

    async def answer(self, request: ModelRequest) -> ModelResponse:
        if tokens(request) > self.room:
            self.refused += 1
            raise ContextTooLong("strict", f"{tokens(request)} tokens > {self.room} maximum", status=400)
        return await super().answer(request)


@both_ways
@pytest.mark.parametrize("policy", [None, ContextPolicy(compact=[Summarize()])], ids=["usual", "summary"])
async def test_a_prompt_that_is_too_long_is_compacted_and_asked_again(way: Way, policy: ContextPolicy | None) -> None:
    model = Strict(30, room=2_000)
    result = await way(digger(model, policy))
    assert result.output == "done"
    assert 0 < model.refused < 20
    assert len(result.messages) == 62


async def test_results_that_were_never_read_are_shortened_if_nothing_else_helps() -> None:
    @tool(idempotent=True)
    async def book() -> str:
        "A book."
        return "x" * 19_000

    model = Strict(0, room=1_500)
    script = ScriptedModel([call("book"), "done"])

    async def answer(request: ModelRequest) -> ModelResponse:
        if tokens(request) > model.room:
            raise ContextTooLong("strict", "too long")
        return await script.answer(request)

    agent = Agent("reader", "Read.", model=FunctionModel(answer), tools=[book])
    assert (await agent.run("go")).output == "done"
    assert len(script.requests[-1].messages[-1].text) <= 1_000


async def test_a_request_that_is_too_long_itself_fails_and_says_what_to_do() -> None:
    agent = digger(Strict(1, room=500), None)
    with pytest.raises(ContextTooLong) as caught:
        await agent.run("x" * 4_000)
    cause = caught.value
    assert "all that may be left out is left out: ask for less, or ask a model that can read more" in str(cause)
    assert "API key" not in str(cause)
    assert cause.status == 400


async def test_with_nothing_to_be_left_out_a_long_prompt_fails_at_once() -> None:
    model = Strict(30, room=2_000)
    with pytest.raises(
        ContextTooLong, match=r"nothing may be left out, for the agent has ContextPolicy\(compact=\(\)\)"
    ):
        await digger(model, ContextPolicy(compact=())).run("go")
    assert model.refused == 1


async def test_a_task_that_was_stuck_can_be_resumed_and_followed_up() -> None:
    """It failed when nothing was left out; with a policy both ways out lead on."""
    model = Strict(30, room=2_000)
    async with MemoryStore() as store:
        stuck = digger(model, ContextPolicy(compact=()))
        async with working(stuck, store=store) as runner:
            run = await started(runner, stuck)
            with pytest.raises(RunFailed):
                await run.result()
        agent = digger(model, None)
        async with working(agent, store=store) as runner:
            tasks = Tasks(runner)
            second = await tasks.follow_up("r", "and now?")
            assert (await result_of(second, agent)).output == "done"
            task = await tasks.get(second.id)
            before = (await tasks.get("r")).messages
            assert list(task.messages[: len(before)]) == list(before)
            run = await runner.resume("r")
            assert (await result_of(run, agent)).output == "done"


async def test_an_earlier_request_that_is_too_long_does_not_block_what_follows() -> None:
    model = Strict(0, room=1_000)
    agent = digger(model, None)
    async with working(agent) as runner:
        run = await started(runner, agent, "x" * 8_000)
        with pytest.raises(RunFailed):
            await run.result()
        tasks = Tasks(runner)
        second = await tasks.follow_up("r", "in short?")
        assert (await result_of(second, agent)).output == "done"
        assert model.requests[-1].messages[-1].text == "in short?"
        assert len((await tasks.get(second.id)).messages[0].text) == 8_000


@both_ways
async def test_a_follow_up_goes_on_with_what_was_left_out_before(way: Way) -> None:
    model = Digger(7)
    agent = digger(model, SUMMARY)
    result = await way(agent)
    summaries = len(model.summaries)
    await agent.run("and now?", after=result)
    last = model.requests[-1]
    assert len(model.summaries) == summaries
    assert last.messages[1].text == "go"
    assert "summary 2" in last.messages[2].text
    assert last.messages[-1].text == "and now?"


async def test_pictures_of_results_that_are_cleared_are_not_sent() -> None:
    @tool(idempotent=True)
    async def scan() -> list[Any]:
        "A picture."
        return ["x" * 500, Image(data=b"png", media_type="image/png")]

    model = ScriptedModel([*[call("scan")] * 6, "done"])
    await digger(model, ContextPolicy(limit=3_000, compact=[ClearResults(keep=1)]), tools=[scan]).run("go")
    shown = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    assert any(message.text.endswith("[Its pictures and files are no longer shown.]") for message in shown)
    assert [bool(message.parts) for message in shown][-1]
    assert not shown[0].parts


async def test_an_answer_is_never_changed() -> None:
    """What belongs to its provider goes with it, or stays with it."""
    model = Digger(9)
    result = await digger(model, LAST).run("go")
    answers = [message for message in result.messages if isinstance(message, AssistantMessage)]
    for request in model.requests:
        shown = [message for message in request.messages if isinstance(message, AssistantMessage)]
        assert shown == answers[request.left_out : request.left_out + len(shown)]


async def test_a_summary_that_another_policy_wanted_is_written_by_the_agents_own_model() -> None:
    class Broken:
        async def answer(self, request: ModelRequest) -> ModelResponse:
            raise RuntimeError(f"out of order: {len(request.messages)}")

    model = Digger(6)
    compact: list[Compaction] = [ClearResults(), Summarize(keep_turns=2, model=Broken())]
    async with MemoryStore() as store:
        agent = digger(model, ContextPolicy(messages=9, compact=compact))
        async with working(agent, store=store) as runner:
            run = await started(runner, agent)
            with pytest.raises(RunFailed, match="out of order"):
                await run.result()
        agent = digger(model, LAST)
        async with working(agent, store=store) as runner:
            assert (await result_of(await runner.resume("r"), agent)).output == "done"
    assert len(model.summaries) == 1


async def test_a_writer_with_a_small_window_gets_a_part_of_the_conversation() -> None:
    class Writer(Digger):
        context_window = 400

    writer, model = Writer(0), Digger(6)
    await digger(model, ContextPolicy(messages=9, compact=[Summarize(keep_turns=2, model=writer)])).run("go")
    text = writer.summaries[0].messages[-1].text
    assert "characters are missing here …]" in text
    assert len(text) < 800


async def test_a_summary_tells_of_texts_errors_and_pictures() -> None:
    asked: list[str] = []

    @tool(idempotent=True)
    async def slip() -> str:
        "Slips."
        raise RuntimeError("no way")

    def answer(request: ModelRequest) -> Any:
        if is_summary(request):
            asked.append(request.messages[-1].text)
            return "sum"
        if request.answers < 4:
            return ModelResponse("Let me see.", calls=[call("slip").model_copy(update={"id": f"c{request.answers}"})])
        return "done"

    agent = digger(FunctionModel(answer), ContextPolicy(compact=()), tools=[slip])
    result = await agent.run("go")
    picture = Image(data=b"png", media_type="image/png", name="a.png")
    agent = digger(FunctionModel(answer), ContextPolicy(messages=5, compact=[Summarize(keep_turns=1)]), tools=[slip])
    result = await agent.run(["and this?", picture], after=result)
    await agent.run("thanks", after=result)
    assert "Assistant: Let me see.\nAssistant calls slip: {}\n\nError of slip: RuntimeError: no way" in asked[0]
    assert "User: and this? [image: a.png]" in asked[-1]


async def test_a_run_below_another_counts_its_summary_for_the_root() -> None:
    below = Digger(5)
    helper = digger(below, SUMMARY)
    lead = Agent(
        "lead",
        "Lead.",
        model=ScriptedModel([call("message_agent", agent_name="digger", message="go"), "done"]),
        sub_agents=[helper],
        budget=Budget(turns=None, tool_calls=None),
    )
    result = await lead.run("go")
    assert result.usage.input_tokens == sum(map(tokens, [*below.requests, *below.summaries]))


@pytest.mark.parametrize("at", range(3, 12))
async def test_another_process_leaves_out_the_same(at: int) -> None:
    """The provider counts four times what the estimate does, and the next process has only what is stored."""
    inner = Digger(15, counts=False)
    seen: list[ModelRequest] = []

    async def answer(request: ModelRequest) -> ModelResponse:
        seen.append(request)
        if request.answers == at and len([each for each in seen if each.answers == at]) == 1:
            raise RuntimeError("the process ends")
        response = await inner.answer(request)
        return ModelResponse(response.text, response.calls, Usage(input_tokens=4 * tokens(request)))

    agent = digger(FunctionModel(answer), ContextPolicy(limit=4_000))
    async with MemoryStore() as store:
        async with working(agent, store=store) as runner:
            run = await started(runner, agent)
            with pytest.raises(RunFailed):
                await run.result()
        async with working(agent, store=store) as runner:
            assert (await result_of(await runner.resume("r"), agent)).output == "done"
    first, second = [each for each in seen if each.answers == at]
    assert first.messages == second.messages
    assert max(4 * tokens(request) for request in seen[1:]) <= 4_000
