"""Pages of the hub."""

import json
import re
from collections.abc import Mapping

import anyio
import httpx
import pytest
from pydantic import BaseModel
from tests._browser import served_in_thread
from tests.service.drawing._runs import ways
from tests.service.inspector import _office as office
from tests.service.inspector._bank import HOSTILE, Deposit, opened, served, until
from tests.service.inspector._pages import pages

from stagepost.checkpoint import MemoryStore
from stagepost.hub import AgentMetrics, Context, Hub, HubMetrics, Traffic
from stagepost.service import Key, RequestLimits, create_app
from stagepost.service._drawing._hub_picture import Doing, HubAgent, HubWay, draw_hub
from stagepost.service._inspector._hub import per_second, span
from stagepost.service._inspector._hub_drawing import matches
from stagepost.service._verbs import _hub_seen
from stagepost.service._verbs._hub_pace import HubPace, Rate
from stagepost.workflows import Runner

READER = Key.of("r" * 40, name="rita", scopes=["read"])
ADMIN = Key.of("a" * 40, name="ada", scopes=["read", "admin"])


@pytest.fixture(autouse=True)
def _soon_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for ten seconds until an agent is stuck."""
    monkeypatch.setattr(_hub_seen, "SLOW", 0.02)


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


async def test_the_hub_says_what_waits_who_is_stuck_and_what_was_handled() -> None:
    async with opened() as (runner, _, _), pages(runner) as http:
        await anyio.sleep(0.03)
        page = await http.get("/inspect/hub")
        text = plain(page.text)
        assert page.status_code == 200
        assert "Hub bank" in text
        assert re.search(r"vault has been handling a Deposit for .* , and 1 message waits after it", text)
        assert re.search(r"Handled in all 60 ", text)
        assert re.search(r"Failed in all 20 ", text)
        assert re.search(r"account … 20 0 0 0 ", text)
        assert "agent vault: stuck" in page.text
        assert "topic bookings.&gt;: published to" in page.text
        assert len(page.content) < 45_000


async def test_rates_are_known_from_the_second_look_on() -> None:
    async with opened() as (runner, hub, _), pages(runner) as http:
        await http.get("/inspect/hub")
        for number in range(30):
            await hub.send("teller", Deposit(amount=number))
        await hub.request("audit", Deposit(amount=1))
        await anyio.sleep(0.05)
        page = (await http.get("/inspect/hub")).text
        text = plain(page)
        assert re.search(r"<text[^>]*>[\d.,]+/s</text>", page)
        rate = re.search(r"Handled a second ([\d.,]+)", text)
        assert rate is not None
        assert float(rate[1].replace(",", "")) > 1
        assert "failing" in text


async def test_publications_and_what_is_planned_are_drawn() -> None:
    async def plan(number: int, context: Context) -> None:
        await context.send_later("slow", 7, after=3600)

    async with opened() as (runner, hub, bank), pages(runner) as http:

        async def slow(number: int) -> None:
            await bank.opened.wait()

        hub.register("slow", slow, topics=["numbers.*", "other"])

        async def ask(text: str, context: Context) -> None:
            await context.request("slow", 8, timeout=None)

        hub.register("asker", ask)
        hub.register("planner", plan)
        await hub.publish("numbers.odd", 1, sender="planner")
        await hub.request("planner", 1)
        await hub.send("asker", "now")
        await until(lambda: ("asker", "slow") in hub.metrics().waiting)
        page = (await http.get("/inspect/hub")).text
        picture = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
        assert "topic numbers.*: published to" in picture
        assert "agent slow: " in picture
        assert ways(picture)[1] >= 3
        text = plain((await http.get("/inspect/hub/agents/slow")).text)
        assert "Planned for it int next" in text
        assert "by planner" in text
        assert "Messages came from asker, planner." in text
        alone = (await http.get("/inspect/hub", params={"agent": "planner"})).text
        assert "agent planner" in alone


async def test_groups_are_drawn_between_topics_and_their_members() -> None:
    async def note(number: int) -> None:
        pass

    async with Hub("groups", grace=0) as hub, pages(Runner(MemoryStore(), hub=hub), filled=False) as http:
        for name in ("first", "second"):
            hub.register(name, note, topics=["jobs.>"], group="workers")
        hub.register("audit", note, topics=["jobs.>"])
        page = (await http.get("/inspect/hub")).text
        picture = page[page.index("<svg") : page.index("</svg>") + len("</svg>")]
        assert "group one of workers: gets each" in picture
        assert ways(picture) == (4, 0)


async def test_agents_are_found_by_their_ids() -> None:
    async with opened() as (runner, _, _), pages(runner) as http:
        await anyio.sleep(0.03)  # by then an agent is stuck, and shown above
        page = (await http.get("/inspect/hub", params={"agent": "aud"})).text
        table = page[page.index('class="rows counts"') :]
        assert re.findall(r'class="id" href="/inspect/hub/agents/([^"]+)"', table) == ["audit"]
        assert "vault" in page[: page.index('class="rows counts"')]
        assert "No agent&#39;s id contains this" in (await http.get("/inspect/hub?agent=zzz")).text or (
            "No agent's id contains this" in (await http.get("/inspect/hub?agent=zzz")).text
        )


async def test_an_agent_shows_what_it_does_its_options_timers_and_tasks() -> None:
    async with opened() as (runner, _, _), pages(runner) as http:
        await anyio.sleep(0.03)
        text = plain((await http.get("/inspect/hub/agents/vault")).text)
        assert "Stuck for" in text
        assert "from teller" in text
        assert "Its dead letters" in text
        assert "expired" in text
        text = plain((await http.get("/inspect/hub/agents/audit")).text)
        assert "bookings.>" in text.replace("&gt;", ">")
        assert "Planned for it" in text
        assert "every 1 h" in text
        assert "Tasks that it has started" in text
        assert (await http.get("/inspect/hub/agents/nobody")).status_code == 404


async def test_a_dead_letter_is_read_and_sent_again_by_whoever_may() -> None:
    async with opened() as (runner, hub, bank), pages(runner, keys=[READER, ADMIN]) as http:
        (letter,) = hub.dead_letters
        path = f"/inspect/hub/letters/{letter.message.id}"
        reading, acting = {"X-API-Key": "r" * 40}, {"X-API-Key": "a" * 40}
        page = (await http.get(path, headers=reading)).text
        assert "&#34;amount&#34;: 102" in page
        assert "Lyon" in page
        assert "Send it again" not in page
        assert (await http.post(path, headers=reading)).status_code == 403
        await hub.unregister("vault", drain=False)
        refused = await http.post(path, headers=acting)
        assert refused.status_code == 409
        assert "no agent &#39;vault&#39; on hub &#39;bank&#39;" in refused.text
        hub.register("vault", bank.account)
        assert "Send it again" in (await http.get(path, headers=acting)).text
        done = await http.post(path, headers=acting)
        assert (done.status_code, done.headers["location"]) == (303, "/inspect/hub")
        await until(lambda: Deposit(amount=102) in bank.booked)
        assert bank.by[bank.booked.index(Deposit(amount=102))] == "ada"
        page = (await http.get(done.headers["location"], headers=reading)).text
        assert "The letter was sent again." in page
        assert re.search(rf"{letter.message.id}</code> by ada", page)
        late = await http.post(path, headers=acting)
        assert late.status_code == 409
        assert "it was sent again already" in late.text
        assert (await http.get(path, headers=reading)).status_code == 404


async def test_payloads_are_texts_without_secrets_whatever_they_are() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError("no text")

    async def never(payload: object) -> None:
        await anyio.sleep_forever()

    class Secret(BaseModel):
        text: str

    async with opened(secrets={"token": "s3cret-token"}) as (runner, hub, _), pages(runner) as http:
        hub.register("slow", never)
        await hub.send("slow", 1)
        payloads = (Odd(), Secret(text="a s3cret-token"), HOSTILE, "x" * 1_000_000, float("nan"), b"\xff")
        for payload in payloads:
            await hub.send("slow", payload, ttl=0, headers={"key": "s3cret-token"})
        await until(lambda: len(hub.dead_letters) > len(payloads))
        found = [await http.get(f"/inspect/hub/letters/{each.message.id}") for each in hub.dead_letters[1:]]
        assert [each.status_code for each in found] == [200] * len(payloads)
        assert "s3cret-token" not in "".join(each.text for each in found)
        assert "<script>alert" not in "".join(each.text for each in found)
        assert max(len(each.content) for each in found) < 60_000


async def test_a_late_reply_cannot_be_sent_again() -> None:
    async with opened() as (runner, hub, bank), pages(runner) as http:
        await hub.unregister("vault", drain=False)
        hub.register("vault", bank.vault, detach=True)
        with pytest.raises(TimeoutError):
            await hub.request("vault", Deposit(amount=5), timeout=0.01)
        bank.opened.set()
        await until(lambda: hub.dead_letters[-1].reason == "late reply")
        path = f"/inspect/hub/letters/{hub.dead_letters[-1].message.id}"
        assert "nobody waits for it any more" in (await http.get(path)).text
        assert (await http.post(path)).status_code == 409


def test_the_hub_is_followed_though_nothing_is_committed() -> None:
    seen: list[str] = []
    app = create_app(served, limits=RequestLimits.none())
    accept = {"accept": "text/event-stream"}
    with served_in_thread(app) as at, httpx.stream("GET", f"{at.address}/inspect/hub", headers=accept) as answer:
        for line in answer.iter_lines():
            if line.startswith('data: {"id'):
                seen.append(json.loads(line.removeprefix("data: "))["id"])
            if seen.count("part-figures") > 1:
                break
    assert set(seen) >= {"part-figures", "part-picture", "part-agents"}
    assert seen.count("part-letters") == 1


async def test_where_there_is_no_hub_there_is_no_page() -> None:
    async with pages(office.runner(), filled=False) as http:
        assert "/inspect/hub" not in (await http.get("/inspect")).text
        assert (await http.get("/inspect/hub")).status_code == 404
        assert (await http.get("/inspect/hub/letters/1")).status_code == 400
        assert (await http.post("/inspect/hub/letters/1")).status_code == 400


async def test_of_a_hub_with_thousands_of_agents_a_few_are_shown_at_a_time() -> None:
    async def note(number: int) -> None:
        pass

    async with Hub("large", grace=0) as hub:
        for number in range(3000):
            hub.register(f"agent-{number}", note, topics=["numbers"])
        async with pages(Runner(MemoryStore(), hub=hub), filled=False) as http:
            page = await http.get("/inspect/hub")
            assert "Agents 1 to 25 of 3,000" in page.text
            assert re.findall(r'class="id" href="[^"]+">([^<]+)<', page.text)[-1] == "agent-24"
            assets = re.findall(r'(?:href|src)="(/assets/[^"]+)"', page.text)
            loaded = sum([len((await http.get(each)).content) for each in dict.fromkeys(assets)])
            assert len(page.content) + loaded < 60_000
            more = re.search(r'rel="next" href="([^"]+)"', page.text)
            assert more is not None
            page = await http.get(more[1].replace("&amp;", "&"))
            assert "Agents 26 to 50 of 3,000" in page.text
            assert 'rel="prev" href="/inspect/hub"' in page.text
            last = (await http.get("/inspect/hub?agent=agent-29&skip=100")).text
            assert "Agents 101 to 111 of 111" in last
            assert 'rel="next"' not in last


def metrics(handled: int, failed: int = 0) -> HubMetrics:
    return HubMetrics(handled=handled, failed=failed)


def counted(**handled: int) -> Mapping[str, AgentMetrics]:
    return {agent: AgentMetrics(handled=number) for agent, number in handled.items()}


def test_rates_are_those_of_the_last_seconds() -> None:
    pace = HubPace()
    assert pace.look(100, metrics(50), counted(a=50), []).whole is None
    assert pace.look(102, metrics(70, 4), counted(a=60, b=10), []).whole == Rate(10, 2)
    later = pace.look(120, metrics(70, 4), counted(a=60, b=46), [])
    assert later.whole == Rate(0, 0)
    assert later.agents == {"a": Rate(0, 0), "b": Rate(2, 0)}
    assert pace.look(120, metrics(70, 4), counted(a=1), []).agents == {"a": Rate(0, 0)}
    assert HubPace().look(1, metrics(1), {}, []).agents == {}


def test_who_has_sent_to_whom_is_remembered_for_minutes() -> None:
    pace = HubPace()
    way = Traffic(sender="a", recipient="b", topic=None, waiting=1, running=0)
    assert [*pace.look(1, metrics(0), {}, [way]).ways] == [("a", "b", None)]
    assert [*pace.look(200, metrics(0), {}, []).ways] == [("a", "b", None)]
    assert [*pace.look(400, metrics(0), {}, []).ways] == []


@pytest.mark.parametrize(
    ("pattern", "topic", "expected"),
    [
        ("a.b", "a.b", True),
        ("a.*", "a.b", True),
        ("a.*", "a.b.c", False),
        ("a.>", "a.b.c", True),
        ("a.>", "a", False),
        ("*.b", "a.c", False),
    ],
)
def test_subscriptions_match_topics(pattern: str, topic: str, *, expected: bool) -> None:
    assert matches(pattern, topic) is expected


@pytest.mark.parametrize(("value", "text"), [(None, "…"), (0, "0"), (0.25, "0.2"), (12.4, "12"), (1234.5, "1,234")])
def test_rates_are_short(value: float | None, text: str) -> None:
    assert per_second(value) == text


def test_times_are_in_the_unit_in_which_they_are_read() -> None:
    assert (span(0.000_064, 1), span(0.5, 1), span(1, 0)) == ("64 µs", "500 ms", "")


def test_a_picture_of_a_hub_leaves_out_whom_nothing_is_known_of() -> None:
    agents = [
        HubAgent("a", Doing.WORKING),
        HubAgent("b", topics=["t"]),
        HubAgent("alone"),
        HubAgent("l", topics=["t"], is_listener=True),
    ]
    sent = [HubWay("", "a", is_busy=True), HubWay("a", "", "t"), HubWay("a", "gone"), HubWay("a", "b")]
    svg = draw_hub("h", agents, sent, title="t")
    assert "agent a: working" in svg
    assert "listener l: idle" in svg
    assert "outside no agent: sends" in svg
    assert "alone" not in svg
    assert ways(svg) == (5, 1)
    assert "alone" in draw_hub("h", [HubAgent("alone")], [], title="t")


def test_a_hub_without_agents_has_a_picture() -> None:
    assert "hub h: open" in draw_hub("h", [], [], title="t")
