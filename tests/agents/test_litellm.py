"""Real litellm against a real server, which does as it is told."""

import json
import subprocess
import sys
from importlib.util import find_spec
from time import monotonic
from typing import Any

import anyio
import pytest
from anyio import create_task_group, fail_after
from anyio.from_thread import run_sync
from anyio.lowlevel import current_token
from pydantic import BaseModel, SecretStr
from pydantic_core import to_json
from tests.checkpoint._processes import environment

from stagepost.agents import (
    Agent,
    AnswerCut,
    AnswerTooLong,
    AssistantMessage,
    ContentRefused,
    LiteLLM,
    ModelError,
    ModelRejected,
    ModelRequest,
    ModelResponse,
    ModelTimeout,
    ModelUnavailable,
    OutputSchema,
    RateLimitReached,
    Retries,
    ScriptedModel,
    ScriptEntry,
    Token,
    UnreadableAnswer,
    Usage,
    UserMessage,
    call,
    tool,
)
from stagepost.agents._models._litellm._vendor import load
from stagepost.agents.testing import (
    Cut,
    Drip,
    Garbage,
    Hang,
    LocalServer,
    ServerEntry,
    ServerRequest,
    ServerScript,
    Slow,
    Status,
)

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'"),
    # What pydantic says of litellm's own code. litellm ignores the first when it is imported, and pytest undoes that;
    # the others nobody sees who has not asked for warnings of deprecation in other people's modules.
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]

KEY = "sesame-open-1234"
FAST = Retries(first=0.01, most=0.02, jitter=0)
ASKED = ModelRequest([UserMessage(text="Miami?")])


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """litellm, before anybody's time runs: under coverage, on a machine with much else to do, that takes a minute."""
    load()


def local(url: str, **options: Any) -> LiteLLM:
    return LiteLLM("openai/local", api_base=url, api_key=KEY, **{"retries": FAST, "timeout": 5, **options})


async def asked(
    script: ServerScript, request: ModelRequest = ASKED, **options: Any
) -> tuple[ModelResponse, LocalServer]:
    with fail_after(30):
        async with LocalServer(script) as server, local(server.url, **options) as model:
            return await model.answer(request), server


async def failed(script: ServerScript, **options: Any) -> tuple[ModelError, int]:
    """The error of a model, and how often it was asked."""
    with fail_after(30):
        async with LocalServer(script) as server, local(server.url, **options) as model:
            with pytest.raises(ModelError) as caught:
                await model.answer(ASKED)
            return caught.value, len(server.requests)


STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@STREAMED
async def test_an_answer_with_calls_and_usage(stream: bool) -> None:  # noqa: FBT001  # a table's column
    calls = (call("look", city="Oslo"), call("wait", seconds=[1, 2]))
    given = ModelResponse("Let me see.", [made.model_copy(update={"id": made.name}) for made in calls])
    usage = Usage(input_tokens=7, output_tokens=3)
    response, server = await asked([ModelResponse(given.text, given.calls, usage)], stream=stream)
    assert response == ModelResponse(given.text, tuple(given.calls), usage)
    assert response.usage.cost is None
    (request,) = server.requests
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body["model"] == "local"
    assert bool(request.body.get("stream")) is stream


async def test_a_known_model_has_a_cost() -> None:
    script = [ModelResponse("fine", usage=Usage(input_tokens=1000, output_tokens=100))]
    with fail_after(30):
        async with LocalServer(script) as server:
            model = LiteLLM("openai/gpt-5-mini", api_base=server.url, api_key=SecretStr(KEY))
            response = await model.answer(ASKED)
            await model.aclose()
    assert response.usage.cost == pytest.approx(0.00045)


@STREAMED
@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Status(429, retry_after=0.02), RateLimitReached),
        (Status(500), ModelUnavailable),
        (Status(502), ModelUnavailable),
        (Status(503, retry_after=0), ModelUnavailable),
        (Status(529), ModelUnavailable),
        (Status(409), ModelUnavailable),
        (Status(408), ModelTimeout),
        (Garbage(), (UnreadableAnswer, AnswerCut)),
        (Garbage("{}", "application/json"), (UnreadableAnswer, AnswerCut)),
        (Garbage("[1", "application/json"), (UnreadableAnswer, AnswerCut)),
        (Cut(), AnswerCut),
        (Cut(after=0), AnswerCut),
        (Cut(clean=True), AnswerCut),
    ],
    ids=lambda value: repr(value) if isinstance(value, Status | Garbage | Cut) else "",
)
async def test_what_passes_is_tried_again_until_it_has_passed_or_the_attempts_are_used_up(
    fault: ServerEntry,
    kind: type[ModelError],
    stream: bool,  # noqa: FBT001  # a table's column
) -> None:
    response, server = await asked([fault] * 4 + ["It is fine today."], stream=stream)
    assert response.text == "It is fine today."
    assert len(server.requests) == 5
    error, requests = await failed([fault] * 9 + ["It is fine today."], stream=stream)
    assert isinstance(error, kind)
    assert (requests, error.attempt) == (5, 5)


@STREAMED
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_does_not_pass_is_not_tried_again(status: int, stream: bool) -> None:  # noqa: FBT001  # a column
    error, requests = await failed([Status(status, message=f"no, {KEY}")], stream=stream)
    assert isinstance(error, ModelRejected)
    assert (error.status, requests) == (status, 1)


@STREAMED
async def test_a_hang_ends_by_the_timeout(stream: bool) -> None:  # noqa: FBT001  # a table's column
    error, requests = await failed([Hang()] * 9, stream=stream, timeout=0.2, retries=Retries(attempts=2, first=0.01))
    assert isinstance(error, ModelTimeout)
    assert requests == 2


async def test_a_stream_that_stalls_ends_by_the_timeout() -> None:
    error, requests = await failed(
        [Hang(after=2), "It is fine."], stream=True, timeout=0.2, retries=Retries(attempts=1)
    )
    assert isinstance(error, ModelTimeout)
    assert requests == 1


async def test_a_slow_answer_ends_by_the_timeout() -> None:
    error, _ = await failed([Slow(1), "fine"], timeout=0.2, retries=Retries(attempts=1))
    assert isinstance(error, ModelTimeout)


@STREAMED
async def test_blank_lines_are_no_answer(stream: bool) -> None:  # noqa: FBT001  # a table's column
    error, requests = await failed([Drip()], stream=stream, timeout=0.3, retries=Retries(attempts=1))
    assert isinstance(error, ModelTimeout)
    assert requests == 1


async def test_a_refused_connection_is_not_available() -> None:
    async with LocalServer([]) as server:
        pass
    model = local(server.url)
    with fail_after(30), pytest.raises(ModelUnavailable) as caught:
        await model.answer(ASKED)
    await model.aclose()
    assert caught.value.attempt == 5


async def test_a_missing_key_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with fail_after(30), pytest.raises(ModelRejected, match="API key") as caught:
        await LiteLLM("openai/local", api_base="http://127.0.0.1:1/v1", retries=FAST).answer(ASKED)
    assert caught.value.attempt == 1


async def test_a_key_of_the_environment_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with fail_after(30):
        async with LocalServer([Status(401, message=f"Incorrect API key provided: {KEY}")]) as server:
            model = LiteLLM("openai/local", api_base=server.url, retries=FAST)
            with pytest.raises(ModelRejected, match=r"provided: \*\*\*") as caught:
                await model.answer(ASKED)
            await model.aclose()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(caught.value)


async def test_a_name_without_a_provider_is_said_at_once() -> None:
    with fail_after(30), pytest.raises(ModelRejected, match="Provider"):
        await LiteLLM("nonsense").answer(ASKED)


async def test_a_storm_of_refusals_is_waited_out() -> None:
    script = [Status(429, retry_after=0.3)] * 12 + ["fine"]
    began = monotonic()
    with fail_after(30):
        async with LocalServer(script) as server, local(server.url) as model, create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(model.answer, ASKED)
    assert len(server.requests) == 16
    assert monotonic() - began >= 0.9


@STREAMED
async def test_no_error_shows_the_key(stream: bool) -> None:  # noqa: FBT001  # a table's column
    error, _ = await failed([Status(401, message=f"Incorrect API key provided: {KEY}")], stream=stream)
    assert KEY not in f"{error} {error.detail} {vars(error)}"
    assert error.__cause__ is None
    assert error.__context__ is None
    assert KEY not in repr(local("http://127.0.0.1:1"))


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ({"finish_reason": "length", "message": {"role": "assistant", "content": "It is"}}, AnswerTooLong),
        ({"finish_reason": "content_filter", "message": {"role": "assistant", "content": ""}}, ContentRefused),
        (
            {"finish_reason": "stop", "message": {"role": "assistant", "content": None, "refusal": "No."}},
            ContentRefused,
        ),
    ],
    ids=["length", "filter", "refusal"],
)
async def test_an_answer_that_is_none_is_an_error(answer: dict[str, Any], kind: type[ModelError]) -> None:
    answer["message"]["role"] = "assistant"
    body = {"id": "x", "object": "chat.completion", "created": 0, "model": "local", "choices": [{"index": 0, **answer}]}
    error, requests = await failed([Garbage(to_json(body).decode(), "application/json")])
    assert type(error) is kind
    assert requests == 1


async def test_options_are_told_to_the_provider() -> None:
    _, server = await asked(["fine"], options={"temperature": 0.5, "max_tokens": 7, "extra_headers": {"x-own": "1"}})
    assert (server.requests[0].body["temperature"], server.requests[0].body["max_tokens"]) == (0.5, 7)
    assert server.requests[0].headers["x-own"] == "1"


async def test_a_schema_is_told_in_words_to_a_model_that_litellm_does_not_know() -> None:
    request = ModelRequest(ASKED.messages, output=OutputSchema("Report", {"type": "object"}))
    _, server = await asked(["{}"], request)
    assert "response_format" not in server.requests[0].body
    assert "JSON schema of Report" in server.requests[0].body["messages"][0]["content"]


async def test_tokens_come_as_they_are_written_and_begin_anew_behind_a_cut() -> None:
    heard: list[Token] = []
    request = ModelRequest(ASKED.messages, on_token=heard.append)
    response, server = await asked([Cut(after=3), "It is fine."], request)
    assert response.text == "It is fine."
    assert [token.number for token in heard] in ([0, 1, 0, 1, 2], [0, 0, 1, 2])
    assert "".join(token.text for token in heard[-3:]) == "It is fine."
    assert len(server.requests) == 2


async def test_a_cancelled_question_leaves_nothing_behind() -> None:
    arrived = anyio.Event()

    async def cancel(scope: anyio.CancelScope) -> None:
        await arrived.wait()
        scope.cancel()

    token = current_token()

    def hang(_: ServerRequest) -> Hang:
        run_sync(arrived.set, token=token)
        return Hang()

    with fail_after(30):
        async with LocalServer(hang) as server, local(server.url) as model, create_task_group() as tasks:
            tasks.start_soon(cancel, tasks.cancel_scope)
            await model.answer(ASKED)
        assert len(server.requests) == 1


class Report(BaseModel):
    city: str
    degrees: int


@tool
async def look(city: str) -> str:
    """Look at a city's weather."""
    return f"{city}: 30 °C"


@STREAMED
async def test_a_conversation_is_the_same_through_litellm_and_from_a_script(stream: bool) -> None:  # noqa: FBT001
    usage = Usage(input_tokens=7, output_tokens=3)
    script: list[ScriptEntry] = [
        ModelResponse(calls=(call("look", city="Miami").model_copy(update={"id": "a"}),), usage=usage),
        ModelResponse("no JSON", usage=usage),
        ModelResponse('{"city":"Miami","degrees":30}', usage=usage),
    ]
    agent = Agent("weather", prompt="Answer.", tools=[look], output=Report)
    with fail_after(30):
        async with LocalServer(script) as server, local(server.url, stream=stream) as model:  # type: ignore[arg-type]  # no errors in it
            through = await agent.run("Miami?", model=model)
        scripted = await agent.run("Miami?", model=ScriptedModel(script))
    assert through == scripted
    assert isinstance(through.messages[-1], AssistantMessage)
    assert through.usage.tokens == 30


async def test_it_can_be_asked_again_behind_its_close() -> None:
    with fail_after(30):
        async with LocalServer(["fine"]) as server:
            model = local(server.url)
            await model.aclose()
            for _ in range(2):
                assert (await model.answer(ASKED)).text == "fine"
                await model.aclose()


def test_several_event_loops_may_use_one_after_the_other() -> None:
    async def once() -> str:
        with fail_after(30):
            return (await asked(["fine"]))[0].text

    assert [anyio.run(once) for _ in range(2)] == ["fine", "fine"]


QUIET = """
import logging, os, sys, threading, warnings, anyio
from stagepost.agents import LiteLLM, ModelError, ModelRequest, Retries, UserMessage
from stagepost.agents.testing import Cut, Drip, Garbage, Hang, LocalServer, Status

async def main():
    faults = [Status(429), Status(500), Status(401, message="no"), Garbage(), Cut(), Cut(clean=True), Hang()]
    for stream in (False, True):
        async with LocalServer([*faults, "fine"]) as server:
            model = LiteLLM("openai/local", api_base=server.url, api_key="sesame-open", timeout=4, stream=stream,
                            retries=Retries(attempts=1))
            for _ in range(len(faults) + 1):
                try:
                    await model.answer(ModelRequest([UserMessage(text="?")]))
                except ModelError:
                    pass
            await model.aclose()

before = dict(os.environ)
anyio.run(main)
assert dict(os.environ) == before, set(os.environ) ^ set(before)
import litellm
assert not litellm.callbacks and not litellm.success_callback and not litellm.failure_callback
assert not logging.getLogger().handlers
assert litellm.anthropic_beta_headers_manager._BETA_HEADERS_CONFIG, "fetched when Claude is first asked"
"""


IMPORTED = """
import io, json, logging, os, sys, time, anyio
own = logging.StreamHandler(io.StringIO())
logging.getLogger("LiteLLM").addHandler(own)
from stagepost.agents import LiteLLM

async def prepare():
    everybody, loop = time.process_time(), time.thread_time()
    await LiteLLM("openai/local").prepare()
    return time.process_time() - everybody, time.thread_time() - loop

took, in_the_loop = anyio.run(prepare)
handlers = logging.getLogger("LiteLLM").handlers == [own], str(logging.getLogger("LiteLLM Router").handlers)
with open(sys.argv[1], "w") as file:
    json.dump({"took": took, "in the loop": in_the_loop, "handlers": handlers}, file)
"""


def process(script: str, *arguments: str, cache: str | None = None) -> subprocess.CompletedProcess[bytes]:
    """What becomes of a process of its own that imports litellm, which takes four seconds of processor time."""
    env = environment()
    env.pop("TIKTOKEN_CACHE_DIR", None)  # litellm sets it, in this process for one if another test has imported it
    return subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-W", "always::RuntimeWarning", "-c", script, *arguments],
        capture_output=True,
        check=False,
        timeout=240,
        env=env if cache is None else {**env, "TIKTOKEN_CACHE_DIR": cache},
    )


def test_nothing_is_printed_and_nothing_warned_of_and_the_environment_stays() -> None:
    done = process(QUIET)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process tells of its import, for several tests; after it, it is quiet where a variable is set."""
    file = tmp_path_factory.mktemp("imported") / "told"
    done = process(IMPORTED + QUIET, str(file), cache="/somewhere")
    found: dict[str, Any] = json.loads(file.read_text())
    return {**found, "end": (done.returncode, done.stdout, done.stderr)}


def test_nothing_is_printed_and_the_environment_stays_where_it_says_what_litellm_would_set(
    told: dict[str, Any],
) -> None:
    assert told["end"] == (0, b"", b"")


def test_the_import_does_not_stall_the_loop(told: dict[str, Any]) -> None:
    assert told["in the loop"] < told["took"] / 10


def test_where_the_application_sends_the_logs_of_litellm_they_go(told: dict[str, Any]) -> None:
    assert told["handlers"] == [True, "[<NullHandler (NOTSET)>]"]
