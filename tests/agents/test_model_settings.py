"""Settings, cache marks, parts, ends and counts, through the real litellm."""

from collections.abc import AsyncIterator, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import pytest
from anyio import fail_after
from tests.agents._speaking import Json, Said, chunks, completion, message, speaking, streamed, tool_call, whole

from stagepost.agents import (
    AnswerCut,
    AnswerTooLong,
    AssistantMessage,
    Audio,
    ContentRefused,
    Fallback,
    File,
    Image,
    InfrastructureError,
    InvalidModel,
    LiteLLM,
    ModelError,
    ModelRejected,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    ModelTimeout,
    Part,
    Retries,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSchema,
    UnsupportedPart,
    Usage,
    UserMessage,
)
from stagepost.agents.testing import Hang, LocalServer

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="needs litellm: pip install 'stagepost[llm]'"),
    pytest.mark.filterwarnings("ignore:.*`ReadOnly` qualifier"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:litellm"),
]

LOOK = ToolSchema("look", "Look out.", {"type": "object", "properties": {}})
ASKED = ModelRequest([SystemMessage(text="Be short."), UserMessage(text="Miami?")])
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
COUNTED = {"prompt_tokens": 9, "completion_tokens": 5, "total_tokens": 14}
FINE = completion({"content": "fine"}, usage=COUNTED)
CLAUDE = "anthropic/claude-sonnet-4-5"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module", autouse=True)
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """One event loop for all tests: litellm keeps connections of the one in which it is first used."""
    async with LiteLLM("openai/none"):
        yield


def model_of(name: str, url: str, **options: Any) -> LiteLLM:
    return LiteLLM(name, api_base=url, api_key="sk-none", retries=Retries(attempts=1), **options)


async def answered(
    said: Said, request: ModelRequest = ASKED, name: str = "openai/local", **options: Any
) -> tuple[ModelResponse, Json]:
    with fail_after(60), speaking(said) as speaker:
        response = await model_of(name, speaker.url, **options).answer(request)
        assert len(speaker.asked) == 1
        return response, speaker.asked[0]


async def test_settings_are_told_and_those_of_the_request_are_stronger() -> None:
    own = ModelSettings(temperature=0.5, max_tokens=7, stop=("a", "b"), extra={"top_p": 0.1, "presence_penalty": 0.5})
    request = ModelRequest(
        ASKED.messages,
        (LOOK,),
        settings=ModelSettings(
            temperature=0, seed=3, tool_choice="look", parallel_tool_calls=False, extra={"top_p": 0.2}
        ),
    )
    _, asked = await answered(FINE, request, settings=own)
    told = {
        name: asked[name]
        for name in (
            "temperature",
            "max_tokens",
            "stop",
            "top_p",
            "presence_penalty",
            "seed",
            "tool_choice",
            "parallel_tool_calls",
        )
    }
    assert told == {
        "temperature": 0,
        "max_tokens": 7,
        "stop": ["a", "b"],
        "top_p": 0.2,
        "presence_penalty": 0.5,
        "seed": 3,
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": False,
    }


async def test_what_is_about_tools_is_left_out_where_there_are_none() -> None:
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=True)
    _, asked = await answered(FINE, settings=settings)
    assert not {"tool_choice", "parallel_tool_calls", "tools"} & asked.keys()


async def test_options_with_a_name_among_the_settings_are_settings() -> None:
    model = LiteLLM("openai/local", options={"temperature": 0.5, "stop": "end", "top_p": 1})
    assert model.settings == ModelSettings(temperature=0.5, stop=("end",), extra={"top_p": 1})


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"settings": ModelSettings(seed=1), "options": {"seed": 2}}, "seed is given twice"),
        ({"settings": ModelSettings(seed=1, extra={"seed": 2})}, "seed is given twice"),
        ({"settings": ModelSettings(extra={"stream": True})}, "extra={'stream': …} is not for extra"),
        ({"options": {"model": "x"}}, "options={'model': …} is not for options"),
    ],
    ids=["options", "extra", "own", "own-options"],
)
def test_a_setting_that_is_given_twice_is_refused(given: Any, why: str) -> None:
    with pytest.raises(InvalidModel) as caught:
        LiteLLM("openai/local", **given)
    assert why in str(caught.value)


async def test_a_setting_that_the_provider_does_not_know_is_named() -> None:
    with pytest.raises(ModelRejected, match="does not know the setting seed: leave it out"):
        await answered(message({"type": "text", "text": "fine"}), name=CLAUDE, settings=ModelSettings(seed=1))


async def test_a_timeout_of_the_settings_is_stronger() -> None:
    with fail_after(30):
        async with LocalServer([Hang()]) as server:
            model = model_of("openai/local", server.url, timeout=60)
            with pytest.raises(ModelTimeout, match=r"0\.2 s|imed out|timeout"):
                await model.answer(ModelRequest(ASKED.messages, settings=ModelSettings(timeout=0.2)))


TALK = (
    *ASKED.messages,
    AssistantMessage(calls=(ToolCall(id="a", name="look", arguments="{}"),)),
    ToolMessage(call_id="a", tool="look", text="hot"),
)


def marks(asked: Any) -> Iterator[str]:
    """Where a request is marked."""
    match asked:
        case {"cache_control": _}:
            yield str(asked.get("type") or asked.get("name"))
    inner = asked.values() if isinstance(asked, dict) else asked if isinstance(asked, list) else ()
    for each in inner:
        yield from marks(each)


async def test_what_does_not_change_is_marked_for_the_cache() -> None:
    request = ModelRequest(TALK, (LOOK,), settings=ModelSettings(cache=True))
    said = message({"type": "text", "text": "fine"})
    _, asked = await answered(said, request, CLAUDE)
    assert sorted(marks(asked)) == ["custom", "text", "text", "tool_result"]
    assert asked["tools"][-1]["cache_control"] == {"type": "ephemeral"}
    assert asked["system"][0]["cache_control"] == {"type": "ephemeral"}
    _, asked = await answered(said, ModelRequest(TALK, (LOOK,)), CLAUDE)
    assert not list(marks(asked))


@pytest.mark.parametrize("name", ["openai/local", "deepseek/deepseek-chat", "mistral/mistral-large-latest"])
async def test_a_provider_that_caches_by_itself_gets_no_marks(name: str) -> None:
    _, asked = await answered(FINE, ModelRequest(TALK, (LOOK,), settings=ModelSettings(cache=True)), name)
    assert not list(marks(asked))


async def test_claude_may_call_nothing_where_there_are_no_tools_any_more() -> None:
    _, asked = await answered(message({"type": "text", "text": "fine"}), ModelRequest(TALK), CLAUDE)
    assert asked["tool_choice"]["type"] == "none"


PNG = Image(data=b"PNG", media_type="image/png")
PDF = File(data=b"%PDF", media_type="application/pdf", name="a.pdf")
NOTE = File(data=b"Sunny.", media_type="text/plain", name="note.txt")
SOUND = Audio(data=b"RIFF", media_type="audio/x-wav")
LINK = Image(url="https://example.org/a.png")


def with_parts(*parts: Part) -> ModelRequest:
    return ModelRequest([UserMessage(text="See.", parts=parts)])


async def test_parts_are_told_in_the_form_of_openai() -> None:
    _, asked = await answered(FINE, with_parts(PNG, LINK, PDF, NOTE, SOUND))
    assert asked["messages"][0]["content"] == [
        {"type": "text", "text": "See."},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,UE5H"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
        {"type": "file", "file": {"file_data": "data:application/pdf;base64,JVBERg==", "filename": "a.pdf"}},
        {"type": "text", "text": "note.txt:\nSunny."},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
    ]


async def test_parts_are_told_in_the_form_of_anthropic_also_in_results() -> None:
    talk = [
        *TALK[:-1],
        ToolMessage(call_id="a", tool="look", text="hot", parts=(PNG,)),
        UserMessage(text="", parts=(PDF, LINK)),
    ]
    _, asked = await answered(message({"type": "text", "text": "fine"}), ModelRequest(talk, (LOOK,)), CLAUDE)
    result, *rest = asked["messages"][-1]["content"]
    assert [one["type"] for one in result["content"]] == ["text", "image"]
    assert [one["type"] for one in rest] == ["document", "image"]
    assert rest[1]["source"]["type"] == "url"


@pytest.mark.parametrize(
    ("name", "part", "why"),
    [
        (CLAUDE, SOUND, "takes no sounds"),
        (CLAUDE, Image(data=b"x", media_type="image/tiff"), "no pictures of the type image/tiff"),
        (CLAUDE, File(data=b"x", media_type="application/zip"), "no files of the type application/zip"),
        ("deepseek/deepseek-chat", PNG, "takes no pictures"),
        ("deepseek/deepseek-chat", PDF, "takes no files"),
        ("mistral/mistral-large-latest", PDF, "takes no files"),
        ("openai/gpt-4.1", Audio(url="https://example.org/a.wav"), "only as bytes"),
        ("openai/gpt-4.1", File(url="https://example.org/a.zip", media_type="application/zip"), "only as bytes"),
        ("openai/gpt-4.1", Image(digest="0" * 64, media_type="image/png"), "bytes are not here"),
    ],
)
async def test_a_part_that_a_model_cannot_take_is_refused_before_it_is_asked(name: str, part: Part, why: str) -> None:
    with speaking(FINE) as speaker:
        model = model_of(name, speaker.url)
        with pytest.raises(UnsupportedPart, match=why) as caught:
            await model.answer(with_parts(part))
        assert not speaker.asked
        assert (caught.value.kind, caught.value.model) == (part.kind, name)
        with pytest.raises(UnsupportedPart):
            model.check_parts([NOTE, part])


async def test_before_a_model_is_prepared_nothing_is_known_of_it() -> None:
    LiteLLM("deepseek/deepseek-chat").check_parts([PNG])


async def test_a_model_that_cannot_take_a_part_is_left_out_of_a_fallback() -> None:
    with fail_after(60), speaking(FINE) as speaker:
        blind, seeing = model_of("deepseek/deepseek-chat", speaker.url), model_of("openai/local", speaker.url)
        assert (await Fallback([blind, seeing]).answer(with_parts(PNG))).text == "fine"
        assert [asked["model"] for asked in speaker.asked] == ["local"]
        with pytest.raises(UnsupportedPart):
            await Fallback([blind]).answer(with_parts(PNG))


def end(reason: str, *, stream: bool, **said: Any) -> Said:
    return chunks(said, reason=reason) if stream else completion(said, reason=reason)


@STREAMED
@pytest.mark.parametrize(
    ("reason", "said", "is_final"),
    [
        ("stop", {"content": "fine"}, True),
        ("tool_calls", {"content": "Let me see."}, False),
        ("pause_turn", {"content": "Let me see."}, False),
        ("eos", {"content": "fine"}, True),
        ("whatever", {"content": "fine"}, True),
        ("whatever", {"content": ""}, False),
        ("stop", {"tool_calls": [tool_call("look")]}, True),
    ],
)
async def test_an_answer_that_goes_on_is_not_final(reason: str, said: Json, is_final: bool, stream: bool) -> None:  # noqa: FBT001  # columns of a table
    response, _ = await answered(end(reason, stream=stream, **said), stream=stream)
    assert response.is_final is is_final


@pytest.mark.parametrize(("reason", "is_final"), [("end_turn", True), ("pause_turn", False), ("tool_use", False)])
async def test_what_litellm_has_no_word_for_is_known_all_the_same(reason: str, is_final: bool) -> None:  # noqa: FBT001  # a column of a table
    said = message({"type": "text", "text": "Let me see."}, reason=reason)
    assert (await answered(said, name=CLAUDE))[0].is_final is is_final


@STREAMED
@pytest.mark.parametrize(
    ("reason", "kind"), [("max_tokens", AnswerTooLong), ("refusal", ContentRefused), ("error", InfrastructureError)]
)
async def test_an_end_that_is_none_is_an_error_in_any_provider_s_words(
    reason: str,
    kind: type[ModelError],
    stream: bool,  # noqa: FBT001  # a table's column
) -> None:
    with pytest.raises(kind):
        await answered(end(reason, stream=stream, content="It is"), stream=stream)


ODD: Sequence[Any] = [
    {"prompt_tokens": 9.5, "completion_tokens": 5.0, "total_tokens": 14.5},
    {"prompt_tokens": "9", "completion_tokens": "5", "total_tokens": "14"},
    {"prompt_tokens": "many", "completion_tokens": {}, "total_tokens": []},
    {"prompt_tokens": -9, "completion_tokens": 5, "total_tokens": -4},
    {
        **COUNTED,
        "prompt_tokens_details": {"cached_tokens": "6"},
        "completion_tokens_details": {"reasoning_tokens": 2.5},
    },
    {"total_tokens": 14},
    {},
    None,
    "none",
    [1],
    7,
]


@STREAMED
@pytest.mark.parametrize("usage", ODD, ids=str)
async def test_an_odd_count_loses_no_answer(usage: Any, stream: bool) -> None:  # noqa: FBT001  # a table's column
    said = chunks({"content": "fine"}, usage=usage) if stream else completion({"content": "fine"}, usage=usage)
    response, _ = await answered(said, stream=stream)
    assert response.text == "fine"
    assert response.usage.input_tokens >= 0


async def test_a_count_has_what_came_from_the_cache_and_what_was_thought() -> None:
    details = {"prompt_tokens_details": {"cached_tokens": 6}, "completion_tokens_details": {"reasoning_tokens": 2}}
    response, _ = await answered(completion({"content": "fine"}, usage={**COUNTED, **details}))
    assert response.usage == Usage(input_tokens=9, output_tokens=5, cached_tokens=6, reasoning_tokens=2)
    usage = {"input_tokens": 9, "output_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20}
    response, _ = await answered(message({"type": "text", "text": "fine"}, usage=usage), name=CLAUDE)
    made = response.usage
    assert (made.input_tokens, made.cached_tokens, made.cache_writes) == (129, 100, 20)
    assert made.cost == pytest.approx(0.000207)


@pytest.mark.parametrize("usage", [{}, {"input_tokens": "9", "output_tokens": 5.5}, {"input_tokens": None}], ids=str)
async def test_an_odd_count_of_anthropic_loses_no_answer(usage: Any) -> None:
    said = message({"type": "text", "text": "fine"}, usage=usage)
    assert (await answered(said, name=CLAUDE))[0].text == "fine"


@pytest.mark.parametrize(
    "usage",
    [{}, {"usageMetadata": None}, {"usageMetadata": {"promptTokenCount": "9", "candidatesTokenCount": 5.5}}],
    ids=str,
)
async def test_an_odd_count_of_gemini_loses_no_answer(usage: Any) -> None:
    content = {"role": "model", "parts": [{"text": "fine"}]}
    said = whole({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], **usage})
    assert (await answered(said, name="gemini/gemini-2.5-flash"))[0].text == "fine"


async def test_a_stream_of_gemini_that_ends_without_its_end_is_cut() -> None:
    candidate = {"content": {"role": "model", "parts": [{"text": "It is"}]}, "index": 0}
    usage = {"promptTokenCount": 9, "candidatesTokenCount": 5, "totalTokenCount": 14}
    cut = streamed({"candidates": [candidate], "usageMetadata": usage})
    with pytest.raises(AnswerCut):
        await answered(cut, name="gemini/gemini-2.5-flash", stream=True)
    ended = streamed({"candidates": [{**candidate, "finishReason": "STOP"}], "usageMetadata": usage})
    assert (await answered(ended, name="gemini/gemini-2.5-flash", stream=True))[0].text == "It is"


async def test_an_error_of_a_tool_is_marked_for_anthropic() -> None:
    talk = [*TALK[:-1], TALK[-1].model_copy(update={"is_error": True})]
    _, asked = await answered(message({"type": "text", "text": "fine"}), ModelRequest(talk, (LOOK,)), CLAUDE)
    (result,) = asked["messages"][-1]["content"]
    assert (result["is_error"], result["content"]) == (True, "hot")
    _, asked = await answered(message({"type": "text", "text": "fine"}), ModelRequest(TALK, (LOOK,)), CLAUDE)
    assert "is_error" not in asked["messages"][-1]["content"][0]


async def test_a_refusal_in_a_stream_is_an_error() -> None:
    with pytest.raises(ContentRefused, match=r"I will not\."):
        await answered(chunks({"role": "assistant", "refusal": "I will "}, {"refusal": "not."}), stream=True)


@STREAMED
async def test_a_refusal_of_openai_s_responses_is_an_error(stream: bool) -> None:  # noqa: FBT001  # a table's column
    part = {"type": "refusal", "refusal": "I will not."}
    item = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
    counted = {"input_tokens": 9, "output_tokens": 5, "total_tokens": 14}
    body = {
        "id": "r",
        "object": "response",
        "created_at": 1,
        "status": "completed",
        "model": "m",
        "output": [item],
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "usage": counted,
    }
    started = {
        "type": "response.created",
        "sequence_number": 0,
        "response": {**body, "status": "in_progress", "output": []},
    }
    ended = {"type": "response.completed", "sequence_number": 1, "response": body}
    said = streamed(started, ended) if stream else whole(body)
    with pytest.raises(ContentRefused, match="I will not"):
        await answered(said, name="openai/responses/gpt-5-mini", stream=stream)
