"""The public types of the agents layer, as type checkers see them. Checked, never run."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal, TypedDict, assert_type

from pydantic import BaseModel, JsonValue

from stagepost.agents import (
    Agent,
    AgentChain,
    AgentResult,
    Agents,
    Approvals,
    Budget,
    CallInDoubt,
    ChainResult,
    ChatMessage,
    ClearResults,
    ClientCredentials,
    Compaction,
    ContextPolicy,
    Cut,
    ExternalTool,
    Fallback,
    FunctionModel,
    Handoff,
    KeepLast,
    LiteLLM,
    McpServer,
    Memories,
    Memory,
    MemoryEntry,
    Model,
    ModelContext,
    ModelError,
    ModelHook,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    OutputMode,
    PendingApproval,
    PendingQuestion,
    ProgressHook,
    PromptContext,
    PromptPreview,
    ProviderTool,
    RateLimited,
    Refuse,
    ReplayModel,
    Retries,
    ScriptedModel,
    StreamPart,
    Summarize,
    Task,
    Tasks,
    TaskStream,
    TokenArrived,
    Tool,
    ToolContext,
    ToolProgress,
    ToolReturned,
    Toolset,
    ToolsetContext,
    Window,
    call,
    converse,
    external_tool,
    handoff,
    provider_tool,
    sse,
    tool,
    toolset,
)
from stagepost.agents.models import Attempt, ModelAdapter, retry_after, status_error
from stagepost.agents.quality import (
    Candidate,
    Case,
    Consulted,
    EvaluationCell,
    EvaluationReport,
    Judge,
    JudgeAndRefine,
    Scorecard,
    ValidationResult,
    at_most,
    consult,
    criteria_for,
    evaluate,
    judge_agent,
    refiner_agent,
)
from stagepost.agents.testing import MODEL_CHECKS, PROVIDER_CHECKS, ModelCheck
from stagepost.checkpoint import MemoryStore
from stagepost.hub import Hub
from stagepost.programs import PtcLisp
from stagepost.workflows import Chain, Pattern, Run, Runner, StepContext


class WeatherQuery(BaseModel):
    city: str


class WeatherReport(BaseModel):
    degrees: int


class Spot(TypedDict):
    x: int


@tool
async def get_weather(city: str) -> WeatherReport:
    "Weather of a city now."
    return WeatherReport(degrees=30)


@toolset
async def by_turn(context: ToolsetContext[str]) -> list[Tool[..., object]]:
    return [get_weather] if context.deps and context.turn else []


assert_type(by_turn, Toolset)
assert_type(toolset([get_weather, by_turn]).filtered(include=["get_*"]).prefixed("x_").searched(above=5), Toolset)
quote = external_tool("quote", "Asks.", parameters=WeatherQuery, returns=WeatherReport, within=timedelta(days=1))
assert_type(quote, ExternalTool)
search = provider_tool("web", {"anthropic": {"type": "web_search_20250305", "name": "web_search"}})
assert_type(search, ProviderTool)
assert_type(Agent("all", "", tools=[get_weather, by_turn, quote, search], toolsets=[by_turn, search]), Agent[str])


@tool(idempotent=True, timeout=5)
def send_mail(to: str, body: str, context: ToolContext) -> str:
    "Send a mail."
    return context.call_id


class Pool:
    size: int


@tool
def count(context: ToolContext[Pool]) -> int:
    "Connections."
    assert_type(context.deps, Pool)
    context.deps.sise  # type: ignore[attr-defined]  # noqa: B018  # deps have a type
    return context.deps.size


@tool
def untyped(context: ToolContext) -> int:
    "Nothing is said of deps."
    assert_type(context.deps, Any)
    return context.turn


def plain(city: str) -> int:
    return len(city)


class Own:
    async def answer(self, request: ModelRequest) -> ModelResponse:
        return ModelResponse(request.messages[-1].text)


tools: Sequence[Tool[..., object]] = [get_weather, send_mail]


def tenant(context: ToolContext[Pool]) -> str:
    return str(context.deps.size)


remembering = Agent("clerk", "Help.", tools=[Memory(label="customer"), Memory(scope=tenant, name="all"), get_weather])
Memory(label=7)  # type: ignore[arg-type]
Memory(scope=count)  # type: ignore[arg-type]  # a scope is a text


async def remembered(store: MemoryStore) -> None:
    memories = Memories(store)
    assert_type((await memories.list("7")).items, Sequence[MemoryEntry])
    assert_type(await memories.search("7", "tea"), Sequence[MemoryEntry])
    assert_type(await memories.clear("7"), int)


models: Sequence[Model] = [
    Own(),
    ScriptedModel([call("plain", city="Oslo"), "4"]),
    FunctionModel(lambda request: request.messages[-1].text),
    LiteLLM("openai/gpt-5-mini", timeout=60, options={"temperature": 0}, retries=Retries(attempts=2)),
    Fallback(["openai/gpt-5-mini", Own()]),
    RateLimited(Own(), per_minute=60, at_once=4),
    ReplayModel("answers.jsonl", record="openai/gpt-5-mini"),
]
typed = Agent(
    "weather",
    prompt="Answer weather questions.",
    model=models[0],
    tools=[get_weather, send_mail, plain],
    input=WeatherQuery,
    output=WeatherReport,
    budget=Budget(turns=8, tool_calls=20, tokens=50_000, cost=0.5),
)
texting = Agent("echo", prompt="Echo.", idle=timedelta(hours=1))


def of_users(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    return [message for message in messages if message.role == "user"]


assert_type(handoff(typed, filter=of_users), Handoff)
handing = Agent("front", "Talk.", tools=[handoff(texting), handoff("echo", name="again", limit=3)])
handoff(3)  # type: ignore[arg-type]  # no agent


async def prompt(context: PromptContext[WeatherQuery]) -> str:
    return "Echo." if context.fields is None else f"Mind {context.fields.city}."


def typed_prompt(context: PromptContext[WeatherQuery, Pool]) -> str:
    assert_type(context.deps, Pool)
    return "Echo."


def bare_prompt(context: PromptContext) -> str:
    assert_type(context.deps, Any)
    return "Echo."


class Priced:
    inherited = True

    async def model_call(
        self,
        request: ModelRequest,
        context: ModelContext[Pool],
        call: Callable[[ModelRequest], Awaitable[ModelResponse]],
    ) -> ModelResponse:
        assert_type(context.deps, Pool)
        assert_type(context.path, Sequence[str])
        assert_type(context.turn, int)
        return await call(request)


async def silent(context: ModelContext) -> None:
    assert_type(context.deps, Any)


priced: ModelHook = Priced()
prompted = Agent("prompted", typed_prompt, settings=ModelSettings(temperature=0, stop=("END",)), hooks=[priced])
barely = Agent("barely", bare_prompt, tools=[count, untyped])

lead = Agent(
    "lead",
    prompt=prompt,
    model="fast",
    tools=[
        plain,
        McpServer.stdio("clock", answer_within=60),
        McpServer.http("https://files", auth=ClientCredentials("id", "secret", issuer="https://login", scope="read")),
    ],
    sub_agents=[typed, "echo"],
    input=WeatherQuery,
    approvals=["send_*"],
    hooks=[Own()],
    description="Leads.",
    models={"fast": models[0], "slow": "openai/gpt-5"},
)
assert_type(lead, Agent[str])
assert_type(lead.servers, Sequence[McpServer])
assert_type(lead.approvals, Approvals)
known = Agents([lead, typed, texting], idle=600)
assert_type(known["lead"], Agent[object])
assert_type(Agents.load({"agents": []}, tools={"plain": plain}, models={"fast": models[0]}), Agents)
assert_type(lead.describe(), dict[str, JsonValue])
assert_type(typed, Agent[WeatherReport])
assert_type(texting, Agent[str])
agents: Sequence[Agent[object]] = [typed, texting]
assert_type(Agent("any", prompt="", output=str), Agent[str])
programming = Agent("any", "", output=int, programs=PtcLisp(memory="rollback"), budget=Budget(turns=3, retry_turns=1))
assert_type(programming, Agent[int])
assert_type(programming.preview("go"), PromptPreview)
Agent("any", "", programs="lisp")  # type: ignore[call-overload]  # no language
assert_type(Agent("any", prompt="", output=list[int]), Agent[list[int]])
assert_type(Agent("any", prompt="", output=WeatherReport | int), Agent[WeatherReport | int])
assert_type(Agent("any", prompt="", output=Literal["a", "b"]), Agent[Literal["a", "b"]])
assert_type(Agent("any", prompt="", output=Annotated[int, "a number"]), Agent[int])
assert_type(Agent("any", prompt="", output=Spot, output_mode="native"), Agent[Spot])
Agent("any", prompt="", output=3)  # type: ignore[call-overload]  # no type
Agent("any", prompt="", output=int, output_mode="json")  # type: ignore[call-overload]  # no mode
mode: OutputMode = "prompted"


async def use() -> None:
    assert_type(await get_weather("Oslo"), WeatherReport)
    await get_weather(3)  # type: ignore[arg-type]  # a tool is called like its function
    result = await typed.run("Miami?", override_model=ScriptedModel(["30 °C"]))
    assert_type(result, AgentResult[WeatherReport])
    assert_type(result.output.degrees, int)
    assert_type(result.agent, str)
    assert_type(result.messages, Sequence[ChatMessage])
    assert_type((await texting.run("hi", settings=ModelSettings(seed=7), model="fast")).output, str)
    assert_type(texting.run_sync("hi"), AgentResult[str])
    assert_type(typed.run_sync("hi").output, WeatherReport)
    assert_type(result.usage.cost, float | None)
    chain = typed.then(texting, request=lambda report: str(report.degrees)).then(typed)
    assert_type(chain, AgentChain[WeatherReport])
    assert_type(await chain.run("hi"), ChainResult[WeatherReport])
    assert_type(chain.run_sync("hi").output, WeatherReport)
    async with chain.stream("hi") as chain_stream:
        assert_type(chain_stream.result.output, WeatherReport)
    typed.then(texting, request=lambda report: report.degrese)  # type: ignore[attr-defined]  # it is a report
    assert_type(typed.as_workflow(), Pattern)
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(typed)
        assert_type(await hub.request("weather", WeatherQuery(city="Oslo"), expect=WeatherReport), WeatherReport)


async def durable(runner: Runner) -> None:
    tasks = Tasks(runner)
    assert_type(await tasks.start(typed, {"text": "hi"}, settings=ModelSettings(seed=7)), Run)
    assert_type(await tasks.get("t"), Task)
    assert_type(await tasks.approvals(), Sequence[PendingApproval])
    for question in await tasks.questions():
        assert_type(question, PendingQuestion)
        await tasks.answer(question.id, WeatherReport(degrees=3), by="ann")
        await tasks.answer(question.id, Refuse("no"))
    for doubt in await tasks.doubts():
        assert_type(doubt, CallInDoubt)
        await tasks.settle(doubt.id, "paid")
        await tasks.settle(doubt.id, retry=True)
    assert_type(await tasks.follow_up("t", "And?"), Run)
    assert_type(await tasks.fork("t", at=4, effects="keep", new_id="u"), Run)
    async with converse(runner, typed) as talk:
        assert_type(await talk.send("hi"), AgentResult[WeatherReport])
    async with converse(runner, "typed") as named:
        assert_type((await named.send("hi")).output, Any)


class Echo(ModelAdapter):
    """A model made with the kit."""

    async def ask(self, request: ModelRequest, attempt: Attempt) -> ModelResponse:
        attempt.token("piece", "thinking")
        if attempt.number > 1:
            raise attempt.status(503, {"retry-after": "1"}, "busy")
        return ModelResponse(request.messages[-1].text)


async def _asked(request: ModelRequest) -> None:
    echo: Model = Echo("echo", secrets=["key"], timeout=timedelta(seconds=3), retries=Retries(attempts=2))
    assert_type(await echo.answer(request), ModelResponse)
    assert_type(retry_after({}), float | None)
    assert_type(status_error("echo", 500, {}, "why"), ModelError)
    for check in (*MODEL_CHECKS, *PROVIDER_CHECKS):
        assert_type(check, ModelCheck)


class Heard:
    async def tool_progress(self, progress: ToolProgress, context: ToolContext) -> None:
        assert_type((progress.total, context.agent), tuple[float | None, str])


heard: ProgressHook = Heard()


class Rarely:
    def cut(self, window: Window) -> Cut:
        assert_type(window.messages, Sequence[ChatMessage])
        assert_type(window.most_tokens, int | None)
        return Cut(drop=range(window.unread), clear={1, 2}, summarize=True)


def policies() -> None:
    compactions: list[Compaction] = [KeepLast(turns=1), ClearResults(keep=2), Summarize(model="openai/x"), Rarely()]
    policy = ContextPolicy(limit=1_000, compact=compactions)
    assert_type(policy.compact, Sequence[Compaction])
    agent = Agent("a", "A.", context=policy)
    assert_type(agent.context, ContextPolicy | None)
    assert_type(LiteLLM("openai/x").context_window, int | None)
    assert_type(ModelRequest(()).answers, int)


async def streams(runner: Runner) -> None:
    typed = Agent("typed", "T.", output=WeatherReport)
    async with typed.stream("hi", include_thinking=False, partial=True) as stream:
        assert_type(stream, TaskStream[WeatherReport])
        async for part in stream:
            assert_type(part, StreamPart)
            match part:
                case TokenArrived():
                    assert_type((part.token, part.index, part.tool), tuple[str, int, str | None])
                case ToolReturned(name=name, success=success):
                    assert_type((name, success), tuple[str, bool])
    assert_type(stream.result, AgentResult[WeatherReport])
    tasks = Tasks(runner)
    assert_type(tasks.stream("t", after=stream.cursor, below=False), TaskStream[Any])
    assert_type(tasks.start_stream(typed, "hi", task_id="t"), TaskStream[WeatherReport])
    assert_type(tasks.start_stream("typed", "hi", key="k", buffer=10), TaskStream[Any])
    assert_type(await tasks.heard_all("t", stream.cursor), bool)
    async with converse(runner, typed) as talk:
        assert_type(talk.stream("hi", key="k"), TaskStream[WeatherReport])
    async for event in sse(tasks.stream("t")):
        assert_type(event, bytes)


async def quality(context: StepContext) -> None:
    typed = Agent("typed", "T.", output=WeatherReport)
    assert_type(await consult(typed, "hi", context), Consulted[WeatherReport])
    assert_type(await consult("typed", "hi", context, expect=WeatherReport), Consulted[WeatherReport])
    judge = Judge(judge_agent("openai/x"), checks={"short": at_most(10)})
    scorecard = Scorecard(request_id="r", criteria=list(criteria_for("today")))
    assert_type((await judge.validate(scorecard, Candidate(text="x"))).result, ValidationResult)
    report = await evaluate(
        {"a": typed, "b": typed}, [Case(id="1", request="hi")], {"fine": lambda answer: bool(answer.output)}
    )
    assert_type(report, EvaluationReport)
    assert_type(report.cells, tuple[EvaluationCell, ...])
    pattern = JudgeAndRefine(
        "checked",
        judge,
        refiner_agent(),
        candidate=lambda state: Candidate(text=state["text"]),
        criteria=criteria_for("today"),
        answer="text",
    )
    assert_type(Chain("work", [pattern]).companions, Sequence[Pattern])
