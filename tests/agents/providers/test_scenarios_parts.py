"""Pictures that a model is shown, by a user and by tools, at each provider."""

from base64 import b64decode
from pathlib import Path
from typing import Any, Final

import pytest
from tests.agents._weather import look
from tests.agents.providers._place import Place
from tests.agents.providers._rules import Call, Entry
from tests.agents.providers._scenes import everywhere, run, tasks_of

from stagepost import agents
from stagepost.agents import Agent, tool
from stagepost.checkpoint import SqliteStore

Image: Any = getattr(agents, "Image", None)

pytestmark = [*everywhere(), pytest.mark.skipif(Image is None, reason="messages have no parts")]

PIXEL: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
URL: Final = "https://example.org/sea.png"
SHOW: Final = Call("show", {})


def pixel() -> Any:
    return Image(data=b64decode(PIXEL), media_type="image/png")


@tool(idempotent=True)
async def show() -> Any:
    "Show the sea."
    return pixel()


def looking(place: Place, script: list[Entry], **options: Any) -> Agent[Any]:
    return Agent("looker", "You look.", model=place.model(script), tools=[show, look], **options)


def check_shown(place: Place, *images: str) -> None:
    """See that the last request shows these pictures, each once, by their data or addresses."""
    place.check()
    shown = place.session.asked[-1].images
    assert len(shown) == len(images)
    assert all(wanted in given for wanted, given in zip(images, shown, strict=True))
    sent = str(place.session.requests[-1].body)
    assert sent.count(PIXEL[:40]) == images.count(PIXEL)  # and nowhere as text


async def refused(place: Place, agent: Agent[Any], request: object) -> bool:
    """Whether a request is refused before the provider is asked, because it takes no pictures."""
    if "image" in place.provider.takes:
        return False
    with pytest.raises(Exception, match=r"(?i)image"):  # whatever says so
        await run(agent, request)
    assert place.session.requests == []
    return True


@pytest.mark.parametrize("form", ["data", "url"])
async def test_a_picture_is_shown_by_a_user(place: Place, form: str) -> None:
    agent = looking(place, ["The sea.", Call("look", {"city": "Oslo"}), "Still the sea."])
    image = pixel() if form == "data" else Image(url=URL)
    if form == "url" and place.provider.name in ("gemini", "bedrock"):
        pytest.skip("litellm itself fetches the picture from its address, for these")
    if await refused(place, agent, ["What is this?", image]):
        return
    result = await run(agent, ["What is this?", image])
    assert result.output == "The sea."
    assert (await run(agent, "And now?", after=result)).output == "Still the sea."
    check_shown(place, PIXEL if form == "data" else URL)


async def test_a_picture_without_words(place: Place) -> None:
    agent = looking(place, ["The sea."])
    if await refused(place, agent, [pixel()]):
        return
    assert (await run(agent, [pixel()])).output == "The sea."
    check_shown(place, PIXEL)


async def test_a_picture_comes_from_a_tool(place: Place) -> None:
    agent = looking(place, [[Call("look", {"city": "Oslo"}), SHOW], "The sea."])
    assert (await run(agent)).output == "The sea."
    assert len(place.session.asked[-1].results) == 2
    check_shown(place, *[PIXEL] * ("image" in place.provider.takes))


async def test_pictures_come_from_tools_at_once_and_over_turns(place: Place) -> None:
    agent = looking(place, [[SHOW, SHOW], SHOW, "The sea.", "Still the sea."])
    result = await run(agent)
    assert (await run(agent, "And now?", after=result)).output == "Still the sea."
    assert len(place.session.asked[-1].results) == 3
    check_shown(place, *[PIXEL] * 3 * ("image" in place.provider.takes))


async def test_a_picture_is_kept_over_a_restart(place: Place, tmp_path: Path) -> None:
    agent = looking(place, [SHOW, "The sea."])
    async with tasks_of(agent, SqliteStore(tmp_path / "runs")) as (tasks, _):
        assert (await (await tasks.start(agent, "Look.", task_id="t")).result())["output"] == "The sea."
    place.session.extend(["Still the sea."])
    agent = Agent("looker", "You look.", model=place.again(), tools=[show, look])
    async with tasks_of(agent, SqliteStore(tmp_path / "runs")) as (tasks, _):
        assert (await (await tasks.follow_up("t", "And now?")).result())["output"] == "Still the sea."
    check_shown(place, *[PIXEL] * ("image" in place.provider.takes))
