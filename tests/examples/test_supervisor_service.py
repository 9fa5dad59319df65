"""What the example's tools answer, what its local model understands, and its service over HTTP."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from socket import create_server
from uuid import uuid4

import httpx
import pytest
from tests._needs import need

need("starlette", "jinja2", "limits", "sse_starlette")

from supervisor_service import Options, chat_app  # noqa: E402  # the module is skipped without it
from supervisor_service.__main__ import main  # noqa: E402
from supervisor_service.knowledge import ARTICLES, Knowledge  # noqa: E402
from supervisor_service.local.supervising import understood  # noqa: E402
from supervisor_service.stocks import price_of  # noqa: E402
from supervisor_service.weather import CITIES, weather_of  # noqa: E402

ABILITIES = "I can look up the weather"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def client(folder: Path) -> AsyncIterator[httpx.AsyncClient]:
    app = chat_app(Options(folder=folder, pace=0, work=0))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as opened,
    ):
        yield opened


async def said(opened: httpx.AsyncClient, session: str, message: str) -> dict[str, object]:
    answer = await opened.post("/chat/complete", json={"session_id": session, "message": message})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def test_a_conversation_asks_the_workers_that_it_needs_and_follows_up(tmp_path: Path) -> None:
    session = str(uuid4())
    async with client(tmp_path) as opened:
        first = await said(opened, session, "What's the weather in Miami, and how is Apple?")
        then = await said(opened, session, "and in Paris?")
        about = await said(opened, session, "What is a call in doubt?")
        page = await opened.get("/")
    assert "In Miami it is" in str(first["response"])
    assert "Apple (AAPL) is at" in str(first["response"])
    assert [call["tool"] for call in first["supervisor_tool_calls"]] == ["ask_weather_agent", "ask_stock_agent"]  # type: ignore[attr-defined]  # JSON
    assert "In Paris it is" in str(then["response"])
    assert "[Calls in doubt]" in str(about["response"])
    assert "data-try" in page.text


async def test_a_worker_that_fails_is_told_kindly(tmp_path: Path) -> None:
    async with client(tmp_path) as opened:
        answer = await said(opened, str(uuid4()), "What is the weather in the Bermuda Triangle?")
    assert "could not help" in str(answer["response"])
    assert "connection" not in str(answer)
    assert answer["worker_details"][0]["status"] == "failed"  # type: ignore[index]  # JSON


@pytest.mark.parametrize(
    ("text", "earlier", "asked"),
    [
        ("weather in paris and london", (), ["weather: What is the weather in Paris?", "weather: … London?"]),
        ("and tomorrow?", ("How is Rome?",), ["weather: What is the weather in Rome tomorrow?"]),
        ("Will it rain in Atlantis?", (), ["weather: What is the weather in Atlantis?"]),
        ("and Nvidia?", ("How is Apple?",), ["stock: What is the price of Nvidia (NVDA)?"]),
        ("price of ZZZZ", (), ["stock: What is the price of ZZZZ?"]),
        ("What is a fork? How warm is NYC?", (), ["knowledge: What is a fork?", "weather: … New York?"]),
        ("sell it", ("How is Tesla?",), ["desk: Sell shares of Tesla (TSLA)."]),
        ("Please buy 5 shares of SAP", (), ["desk: Buy 5 shares of SAP (SAP)."]),
        ("Mail a report to bob@example.org", (), ["desk: Mail a report to bob@example.org"]),
        ("why?", ("How do approvals work?",), ["knowledge: How do approvals work? why"]),
    ],
)
def test_the_local_model_understands(text: str, earlier: Sequence[str], asked: list[str]) -> None:
    found = understood(text, earlier)
    assert not isinstance(found, str)
    assert [f"{ask.worker}: {ask.request}" for ask in found] == [
        one.replace("…", "What is the weather in") for one in asked
    ]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("hi", ABILITIES),
        ("?", ABILITIES),
        ("asdf", ABILITIES),
        ("thanks!", "welcome"),
        ("weather?", "which city"),
        ("buy", "Which company"),
        ("who are you", "supervisor"),
    ],
)
def test_the_local_model_answers_alone_what_needs_no_worker(text: str, answer: str) -> None:
    found = understood(text)
    assert isinstance(found, str)
    assert answer in found


@pytest.mark.parametrize(
    ("query", "title"),
    [
        ("What happens at a SIGKILL?", "What happens at a SIGKILL"),
        ("how do approvals work", "Approvals"),
        ("What is stagepost?", "What stagepost is"),
        ("Which providers are there", "Models and providers"),
        ("cron", "Schedules"),
    ],
)
def test_articles_are_found_by_their_words(query: str, title: str) -> None:
    knowledge = Knowledge()
    assert knowledge.search(query)[0].title == title
    knowledge.close()


def test_a_query_cannot_be_more_than_words() -> None:
    knowledge = Knowledge()
    assert len(knowledge) == len([*ARTICLES.glob("*.md")])
    for hostile in ('" OR title:*', "NEAR(a b", "'; DROP TABLE article; --", "*", "", "\0"):
        knowledge.search(hostile)
    assert knowledge.search("the of a") == []
    knowledge.close()


def test_the_weather_of_a_day_is_the_same_for_everybody() -> None:
    day = date(2026, 7, 1)
    found = {city: weather_of(city, None, day) for city in CITIES}
    assert found == {city: weather_of(city.upper(), None, day) for city in CITIES}
    assert found["Cairo"].temperature_c > found["Reykjavik"].temperature_c
    assert weather_of("Oslo", "no", date(2026, 1, 1)).temperature_c < 5
    with pytest.raises(LookupError, match="Atlantis"):
        weather_of("Atlantis", None, day)
    with pytest.raises(LookupError, match="GB"):
        weather_of("London", "CA", day)


def test_a_price_has_a_company_and_a_currency() -> None:
    now = datetime(2026, 7, 1, 12, 30, 5, tzinfo=UTC)
    found = price_of(" aapl ", now)
    assert (found.company, found.currency, found.as_of.second) == ("Apple", "USD", 0)
    assert 200 < found.price < 260
    with pytest.raises(LookupError, match="ZZZZ"):
        price_of("zzzz", now)


def test_whoever_takes_a_port_that_is_in_use_is_told_of_another(capsys: pytest.CaptureFixture[str]) -> None:
    with create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["--port", str(port)]) == 1
    assert capsys.readouterr().err == f"Port {port} is in use. Choose another one: make serve PORT={port + 1}\n"
