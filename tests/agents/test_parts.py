"""Pictures, sounds and files: asked with, returned by tools, kept beside messages, given to models with their bytes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError
from tests.agents._weather import results

from stagepost.agents import (
    Agent,
    AgentTool,
    Audio,
    ChatMessage,
    File,
    Image,
    InvalidRequest,
    ModelRequest,
    PartMissing,
    ScriptedModel,
    ScriptEntry,
    Tasks,
    ToolMessage,
    ToolResult,
    UserMessage,
    call,
    converse,
    tool,
)
from stagepost.checkpoint import BlobNotFound, BlobTooLarge, MemoryStore
from stagepost.checkpoint._blobs import digest_of
from stagepost.hub import Hub
from stagepost.workflows import RunFailed, Runner

DATA = b"\x89PNG\r\n picture"
PICTURE = Image(data=DATA, media_type="image/png", name="a.png")
SOUND = Audio(data=b"sound", media_type="audio/wav")
REMOTE = Image(url="https://example.com/b.png")


def agent(*script: ScriptEntry, prompt: str = "Look.", **options: Any) -> tuple[Agent[Any], ScriptedModel]:
    model = ScriptedModel(script)
    return Agent("eye", prompt=prompt, model=model, **options), model


def seen(request: ModelRequest) -> list[tuple[str, bytes | None]]:
    """What a model gets of parts: their kinds and bytes."""
    messages: Sequence[ChatMessage] = request.messages
    parts = [part for message in messages if isinstance(message, UserMessage | ToolMessage) for part in message.parts]
    return [(part.kind, part.data) for part in parts]


# what is asked


@pytest.mark.parametrize(
    ("request_", "text", "parts"),
    [
        (["What is on this?", PICTURE], "What is on this?", (PICTURE,)),
        ((PICTURE, "What?", SOUND, "And?", REMOTE), "What?\nAnd?", (PICTURE, SOUND, REMOTE)),
        (PICTURE, "", (PICTURE,)),
        (["only", "texts"], "only\ntexts", ()),
    ],
    ids=["list", "tuple", "part", "texts"],
)
async def test_texts_and_parts_are_one_message(request_: object, text: str, parts: tuple[Image, ...]) -> None:
    eye, model = agent("a cat")
    result = await eye.run(request_)
    assert result.output == "a cat"
    asked = model.requests[0].messages[1]
    assert isinstance(asked, UserMessage)
    assert (asked.text, asked.parts) == (text, parts)
    assert [part.data for part in asked.parts] == [part.data for part in parts]


class Shown(BaseModel):
    question: str
    picture: Image
    more: list[Image | File] = []


async def test_parts_in_the_fields_of_a_request_stand_beside_their_names() -> None:
    eye, model = agent("yes", input=Shown, prompt="Look at {picture} for: {question}")
    notes = File(data=b"notes", media_type="text/plain")
    await eye.run(Shown(question="Cat?", picture=PICTURE, more=[REMOTE, notes, PICTURE]))
    system, asked = model.requests[0].messages
    assert isinstance(asked, UserMessage)
    more = '"more":["[image 2]","[file 3]","[image 1: a.png]"]'
    assert asked.text == '{"question":"Cat?","picture":"[image 1: a.png]",' + more + "}"
    assert seen(model.requests[0]) == [("image", DATA), ("image", None), ("file", b"notes")]
    assert getattr(system, "text", "") == "Look at [image 1: a.png] for: Cat?"


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (["a", 1], "its request contains int: a list contains texts, Image, Audio and File"),
        ([Path("a.png")], r"give Image.from_file\('a.png'\)"),
        ([b"bytes"], r"its request contains bytes \(give Image\(data=…"),
        ([], "an empty list: give a text"),
        (1, "it takes a text, or a list of texts, Image, Audio and File, not int"),
        ({"a": 1}, "not dict: give the agent input="),
    ],
    ids=["number", "path", "bytes", "nothing", "int", "dict"],
)
async def test_what_a_request_cannot_hold_is_said(request_: object, why: str) -> None:
    eye, _ = agent("no")
    with pytest.raises(InvalidRequest, match=why):
        await eye.run(request_)


async def test_an_agent_with_fields_says_all_that_it_takes() -> None:
    eye, _ = agent("no", input=Shown)
    with pytest.raises(InvalidRequest, match="it takes Shown, a mapping of its fields, a text, or a list of"):
        await eye.run(3)


def test_a_data_url_is_its_bytes() -> None:
    assert Image(url="data:image/png;base64,AAE=") == Image(data=b"\x00\x01", media_type="image/png")
    assert File(url="data:,a%20b").data == b"a b"
    assert File(url="data:text/csv;charset=utf-8,a").media_type == "text/csv"
    for wrong in ("data:image/png;base64", "data:image/png;base64,*"):
        with pytest.raises(ValidationError, match="not a valid data: URL"):
            Image(url=wrong)


@pytest.mark.parametrize(
    ("kind", "given", "why"),
    [
        (
            Image,
            {"data": DATA, "media_type": "png"},
            'media_type=.png. of Image is none: .*"image/png"',
        ),
        (Image, {"data": DATA, "media_type": "audio/wav"}, "media_type='audio/wav' of Image is none: .*\"image/png\""),
        (Audio, {"data": DATA, "media_type": "image/png"}, "media_type='image/png' of Audio is none: .*\"audio/wav\""),
        (File, {"data": DATA, "media_type": "pdf"}, "media_type='pdf' of File is none: .*\"application/pdf\""),
        (Image, {"data": b"", "media_type": "image/png"}, "Image has no bytes"),
        (Image, {"url": "a.png"}, r"url='a.png' of Image is not an address: .*Image.from_file\(…\)"),
        (Image, {"url": "file:///a.png"}, "url='file:///a.png' of Image is not an address"),
        (File, {"url": "file:///a.pdf"}, "url='file:///a.pdf' of File is not an address"),
        (Image, {"digest": "abc", "media_type": "image/png"}, "digest='abc' of Image is none: give the 64 hexadecimal"),
    ],
    ids=["no type", "sound", "picture", "no type of a file", "empty", "path", "file", "file of a file", "digest"],
)
def test_parts_that_no_model_could_take_are_refused_when_they_are_made(
    kind: type[Image | Audio | File], given: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        kind(**given)


def test_types_of_parts_may_have_parameters_and_addresses_any_scheme() -> None:
    assert File(data=b"", media_type="text/plain; charset=utf-8").data == b""
    assert Image(url="gs://bucket/a.png", media_type="IMAGE/PNG").url == "gs://bucket/a.png"
    assert File(url="file-abc123").url == "file-abc123"


def test_parts_are_equal_with_and_without_their_bytes() -> None:
    bare = Image.model_validate_json(PICTURE.model_dump_json())
    assert (bare.data, bare) == (None, PICTURE)
    assert {bare, PICTURE} == {PICTURE}
    assert Image(data=DATA, media_type="image/jpeg", name="a.png") != PICTURE
    assert PICTURE != "a.png"


# what tools return


@tool
def shoot() -> Image:
    "Take a picture."
    return PICTURE


@tool
def several() -> list[str | Image | Audio]:
    "Texts and parts."
    return ["before", PICTURE, "after", SOUND]


@tool
def nested() -> dict[str, object]:
    "A value with a part in it."
    return {"size": 3, "chart": PICTURE, "others": [SOUND, REMOTE, PICTURE]}


@tool
def told() -> ToolResult:
    "A text of its own."
    return ToolResult("here it is", parts=[PICTURE])


@tool
def untold() -> ToolResult:
    "Parts alone."
    return ToolResult("", parts=(PICTURE, REMOTE))


@tool
def failed() -> ToolResult:
    "An error with a picture."
    return ToolResult("it went wrong", is_error=True, parts=[PICTURE])


TOLD = {
    "shoot": "[image 1: a.png]",
    "several": "before\n[image 1: a.png]\nafter\n[audio 2]",
    "nested": '{"size":3,"chart":"[image 1: a.png]","others":["[audio 2]","[image 3]","[image 1: a.png]"]}',
    "told": "here it is",
    "untold": "[image 1: a.png]\n[image 2]",
    "failed": "it went wrong",
}


@pytest.mark.parametrize("at_once", [1, 2], ids=["one", "two"])
@pytest.mark.parametrize("name", TOLD)
async def test_parts_that_a_tool_returns_reach_the_model(name: str, at_once: int) -> None:
    tools = [shoot, several, nested, told, untold, failed]
    eye, model = agent([call(name)] * at_once, "seen", tools=tools)
    result = await eye.run("?")
    for message in results(result):
        assert (message.text, message.is_error) == (TOLD[name], name == "failed")
        assert message.parts[0] == PICTURE
        assert message.parts[0].data == DATA
    assert seen(model.requests[1])[0] == ("image", DATA)
    assert b"PNG" not in str(model.requests[1]).encode()


async def test_lists_without_parts_are_json_as_before() -> None:
    @tool
    def listed() -> list[str]:
        "Texts."
        return ["a", "b"]

    eye, _ = agent(call("listed"), "seen", tools=[listed])
    assert results(await eye.run("?"))[0].text == '["a","b"]'


@pytest.mark.parametrize(
    ("returned", "why"),
    [
        (ToolResult("x", parts=[1]), "its parts contain int: they may be Image, Audio and File"),  # type: ignore[list-item]
        (ToolResult(3), "a ToolResult of something else than a text"),  # type: ignore[arg-type]
        (Image(digest="0" * 64, media_type="image/png"), "it has Image without its bytes: give data=, or url="),
        ([PICTURE, object()], "the result of 'odd' cannot be stored"),
    ],
    ids=["number", "no text", "no bytes", "no JSON"],
)
async def test_a_result_that_cannot_be_kept_is_told_to_the_model(returned: object, why: str) -> None:
    @tool
    def odd() -> object:
        "Something odd."
        return returned

    eye, _ = agent(call("odd"), "oh", tools=[odd])
    (message,) = results(await eye.run("?"))
    assert message.is_error
    assert why in message.text


async def test_a_part_that_is_too_large_for_the_store_is_told_to_the_model(anyio_backend: str) -> None:
    eye, model = agent(call("several"), "oh", tools=[several])
    async with MemoryStore(max_blob=6) as store, Runner(store, workflows=[eye]) as runner:
        state = await (await runner.start(eye.as_workflow(), eye.as_workflow().accept("?"))).result()
        (message,) = results(list(state["messages"]))
        assert message.is_error
        assert message.text.startswith("before\n[image 1: a.png]\nafter\n[audio 2]\nThe result has image of 14 bytes")
        with pytest.raises(BlobTooLarge, match="the input of 'eye' cannot be stored: it has 14 bytes"):
            await Tasks(runner).start(eye, ["?", PICTURE])
    assert len(model.requests) == 2


async def test_p11_a_part_that_shows_a_secret_is_not_kept(anyio_backend: str) -> None:
    @tool
    def leak() -> list[str | File]:
        "The password in a file, and in a name."
        return ["here", File(data=b"password: hunter2hunter2", media_type="text/plain")]

    @tool
    def named() -> File:
        "The password in a name."
        return File(data=b"x", media_type="text/plain", name="hunter2hunter2.txt")

    eye, _ = agent([call("leak"), call("named")], "oh", tools=[leak, named])
    result = await eye.run("?", secrets={"password": "hunter2hunter2"})
    first, second = results(result)
    assert first.text == "here\n[file 1]\nThe result has file that shows a secret: it is not kept"
    assert (second.text, second.parts[0].name) == ("[file 1: ***.txt]", "***.txt")


# where bytes are


async def test_what_is_stored_of_a_part_is_its_digest(anyio_backend: str) -> None:
    eye, model = agent(call("shoot"), "seen", tools=[shoot])
    async with MemoryStore() as store, Runner(store, workflows=[eye]) as runner:
        run = await Tasks(runner).start(eye, ["What?", SOUND])
        await run.result()
        snapshot = await store.load(run.id)
        said = snapshot.root.state["messages"]
        assert b'"parts":[{"media_type":"audio/wav","digest":"%s"' % digest_of(b"sound").encode() in said
        assert b"sound" not in said.replace(b'"sound"', b"")
        assert await store.blob(digest_of(DATA)) == DATA
        assert seen(model.requests[1]) == [("audio", b"sound"), ("image", DATA)]
        task = await Tasks(runner).get(run.id)
        assert [part.data for message in results(list(task.messages)) for part in message.parts] == [None]


async def test_a_text_only_transcript_has_no_byte_more() -> None:
    assert UserMessage(text="a").model_dump_json() == '{"role":"user","text":"a"}'


async def test_a_run_in_memory_is_followed_up_with_its_parts() -> None:
    eye, model = agent(call("shoot"), "seen", "again", "and again", tools=[shoot])
    first = await eye.run(["What?", SOUND])
    second = await eye.run("And?", after=first)
    third = await eye.run(["And now?", Image(digest=digest_of(DATA), media_type="image/png")], after=second)
    both = [("audio", b"sound"), ("image", DATA)]
    assert seen(model.requests[2]) == both
    assert seen(model.requests[3]) == [*both, ("image", DATA)]
    assert [part.data for message in results(third) for part in message.parts] == [DATA]


async def test_bytes_that_are_nowhere_are_refused_when_a_run_is_started() -> None:
    eye, _ = agent("no")
    with pytest.raises(BlobNotFound, match="give the bytes themselves"):
        await eye.run([Image(digest="0" * 64, media_type="image/png")])


async def test_tasks_conversations_and_the_hub_take_parts(anyio_backend: str) -> None:
    eye, model = agent("a", "b", "c", "d", "e", "f")
    async with MemoryStore() as store, Hub() as hub, Runner(store, hub=hub) as runner:
        await runner.serve(eye)
        assert await hub.request("eye", ["What?", PICTURE], expect=str) == "a"
        tasks = Tasks(runner)
        run = await tasks.start(eye, ["What?", SOUND])
        await run.result()
        follow = await tasks.follow_up(run.id, ["And?", PICTURE])
        await follow.result()
        assert seen(model.requests[2]) == [("audio", b"sound"), ("image", DATA)]
        await store.delete(run.id)
        assert await store.blob(digest_of(b"sound")) == b"sound"
        async with converse(runner, eye, id="talk") as talk:
            await talk.send(["What?", SOUND], key="first")
            assert (await talk.send(["What?", SOUND], key="first")).output == "a"
            await talk.send("And?")
        assert seen(model.requests[4]) == [("audio", b"sound")]
        async with converse(runner, eye, id="talk") as talk:
            result = await talk.send(["And this?", PICTURE])
        assert seen(model.requests[5]) == [("audio", b"sound"), ("image", DATA)]
        assert result.messages[0] == UserMessage(text="What?", parts=(SOUND,))


async def test_bytes_that_are_gone_fail_the_turn_and_are_named(anyio_backend: str) -> None:
    eye, _ = agent("no")
    store = MemoryStore()
    async with store, Runner(store, workflows=[eye]) as runner:

        async def gone(digest: str) -> bytes:
            raise BlobNotFound(digest)

        store.blob = gone  # type: ignore[method-assign]  # as if somebody had deleted them by hand
        run = await Tasks(runner).start(eye, ["?", PICTURE])
        with pytest.raises(RunFailed, match=rf"run '{run.id}' has Image with the digest '{digest_of(DATA)}'"):
            await run.result()


async def test_a_missing_part_names_what_it_is() -> None:
    error = PartMissing("Image", "abc", "run-1")
    assert (error.kind, error.digest, error.run_id) == ("Image", "abc", "run-1")
    assert "a message of run 'run-1' has Image with the digest 'abc'" in str(error)


async def test_a_digest_that_a_model_has_made_up_concerns_its_call_alone(anyio_backend: str) -> None:
    class Look(BaseModel):
        picture: Image

    below = Agent("below", prompt="", input=Look, description="Looks.")
    script: list[ScriptEntry] = [call("below", picture={"media_type": "image/png", "digest": "0" * 64}), "sorry"]
    lead = Agent("lead", prompt="", model=ScriptedModel(script), tools=[AgentTool(below)])
    async with MemoryStore() as store, Runner(store, workflows=[lead]) as runner:
        state = await (await Tasks(runner).start(lead, "?")).result()
    assert "no bytes are stored under the digest" in results(list(state["messages"]))[0].text
    in_memory = await Agent("lead", prompt="", model=ScriptedModel(script), tools=[AgentTool(below)]).run("?")
    assert "no bytes are stored under the digest" in results(in_memory)[0].text


async def test_calls_in_doubt_keep_the_parts_of_their_results(anyio_backend: str) -> None:
    @tool(on_unknown="park")
    def scan() -> list[str | Image]:
        "Scan something, once."
        return ["scanned", PICTURE]

    eye, model = agent(call("scan"), "seen", tools=[scan])
    async with MemoryStore() as store, Runner(store, workflows=[eye]) as runner:
        state = await (await Tasks(runner).start(eye, "?")).result()
        (message,) = results(list(state["messages"]))
        assert (message.text, message.parts) == ("scanned\n[image 1: a.png]", (PICTURE,))
        assert await store.blob(digest_of(DATA)) == DATA
    assert seen(model.requests[1]) == [("image", DATA)]
