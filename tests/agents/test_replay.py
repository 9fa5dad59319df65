from pathlib import Path

import anyio
import pytest
from anyio import create_task_group, fail_after

from stagepost.agents import (
    FunctionModel,
    InvalidModel,
    ModelRequest,
    ModelResponse,
    ModelSettings,
    OutputSchema,
    ProviderContent,
    RecordingMissing,
    ReplayModel,
    ScriptedModel,
    Token,
    ToolSchema,
    Usage,
    UserMessage,
    call,
)

ASKED = ModelRequest([UserMessage(text="go")], [ToolSchema("look", "Look.", {"type": "object"})])
RESPONSE = ModelResponse(
    "fine", (call("look", city="Oslo").model_copy(update={"id": "a"}),), Usage(input_tokens=7, cost=0.5)
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def recorded(path: Path, request: ModelRequest = ASKED) -> None:
    await ReplayModel(path, record=ScriptedModel([RESPONSE])).answer(request)


async def test_what_was_recorded_is_given_without_asking(path: Path) -> None:
    await recorded(path)
    assert await ReplayModel(path).answer(ASKED) == RESPONSE
    nobody = ScriptedModel([])
    assert await ReplayModel(str(path), record=nobody).answer(ASKED) == RESPONSE
    assert nobody.requests == ()


@pytest.mark.parametrize(
    "other",
    [
        ModelRequest([UserMessage(text="stop")], ASKED.tools),
        ModelRequest(ASKED.messages),
        ModelRequest(ASKED.messages, ASKED.tools, OutputSchema("Report", {})),
    ],
    ids=["messages", "tools", "output"],
)
async def test_another_request_is_missing(path: Path, other: ModelRequest) -> None:
    await recorded(path)
    with pytest.raises(RecordingMissing, match="record it with") as caught:
        await ReplayModel(path).answer(other)
    assert (caught.value.path, caught.value.last) == (str(path), other.messages[-1].text)


async def test_a_file_that_is_not_there_holds_nothing(path: Path) -> None:
    with pytest.raises(RecordingMissing):
        await ReplayModel(path).answer(ModelRequest([]))


async def test_who_listens_makes_no_other_request(path: Path) -> None:
    await recorded(path)
    heard: list[Token] = []
    await ReplayModel(path).answer(ModelRequest(ASKED.messages, ASKED.tools, on_token=heard.append))
    assert heard == [
        Token(0, "fine"),
        Token(1, '{"city":', "arguments", "look", 0),
        Token(2, '"Oslo"}', "arguments", "look", 0),
    ]


async def test_the_file_shows_nothing_of_the_request_and_no_secret(path: Path) -> None:
    word = 'open"sesame'
    request = ModelRequest([UserMessage(text=f"the word is {word}")])
    model = ReplayModel(path, record=FunctionModel(lambda _: f"I know {word}"), secrets=[word])
    assert (await model.answer(request)).text == "I know ***"
    text = await anyio.Path(path).read_text()
    assert "sesame" not in text
    assert "the word" not in text
    other = ModelRequest([UserMessage(text="the word is another")])
    replayed = ReplayModel(path, secrets=["another"])
    assert (await replayed.answer(other)).text == "I know ***"


async def test_one_question_asked_twice_at_once_is_recorded_once(path: Path) -> None:
    answers = iter(["one", "two"])
    model = ReplayModel(path, record=FunctionModel(lambda _: next(answers)))
    given: list[str] = []

    async def ask() -> None:
        given.append((await model.answer(ASKED)).text)

    with fail_after(5):
        async with create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
    assert given[0] == given[1]
    assert len((await anyio.Path(path).read_text()).splitlines()) == 1


async def test_recordings_are_added_to_the_file(path: Path) -> None:
    await recorded(path)
    other = ModelRequest([UserMessage(text="stop")])
    await recorded(path, other)
    model = ReplayModel(path)
    assert [await model.answer(each) for each in (ASKED, other)] == [RESPONSE, RESPONSE]


async def test_a_line_that_is_no_recording_is_named(path: Path) -> None:
    await recorded(path)
    async with await anyio.open_file(path, "a") as file:
        await file.write("{}\n")
    with pytest.raises(InvalidModel, match="line 2"):
        await ReplayModel(path).answer(ASKED)


SIGNED = ProviderContent(provider="anthropic", model="m", data=({"thinking_blocks": [{"signature": "S1"}]},))


async def test_thinking_and_what_belongs_to_a_provider_are_recorded(path: Path) -> None:
    thought = ModelResponse("fine", thinking="It may rain.", provider=(SIGNED,), is_final=False)
    await ReplayModel(path, record=ScriptedModel([thought])).answer(ASKED)
    heard: list[Token] = []
    request = ModelRequest(ASKED.messages, ASKED.tools, on_token=heard.append)
    assert await ReplayModel(path).answer(request) == thought
    assert [token.kind for token in heard] == ["thinking", "thinking", "thinking", "text"]


async def test_a_recording_of_a_text_says_nothing_of_what_is_not_there(path: Path) -> None:
    await recorded(path)
    line = await anyio.Path(path).read_text()
    assert not [word for word in ("thinking", "provider", "is_final") if word in line]


async def test_what_belongs_to_a_provider_is_left_out_where_it_shows_a_secret(path: Path) -> None:
    other = ProviderContent(
        provider="openai", model="m", data=({"reasoning_items": ["open sesame", 1, None]}, "sesame")
    )
    thought = ModelResponse("fine", provider=(SIGNED, other))
    model = ReplayModel(path, record=ScriptedModel([thought]), secrets=["sesame"])
    assert (await model.answer(ASKED)).provider == (SIGNED,)


async def test_settings_that_an_answer_depends_on_make_another_request(path: Path) -> None:
    await recorded(path)
    silent = ModelSettings(cache=True, timeout=5)
    assert await ReplayModel(path).answer(ModelRequest(ASKED.messages, ASKED.tools, settings=silent)) == RESPONSE
    for settings in (ModelSettings(temperature=0), ModelSettings(extra={"top_p": 1})):
        with pytest.raises(RecordingMissing):
            await ReplayModel(path).answer(ModelRequest(ASKED.messages, ASKED.tools, settings=settings))
