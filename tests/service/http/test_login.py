"""Pages: logging in and out, their files, and errors for people."""

from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from tests.service.http._served import HOST, SECRET, app, client

from stagepost.service import RequestLimits
from stagepost.service._http import _pages as pages
from stagepost.service._http._pages._assets import Assets
from stagepost.service._keys._key import Key, Scope, new_key
from stagepost.service._keys._keyring import Keyring
from stagepost.service._keys._logins import Logins

HTML = {"Accept": "text/html,*/*;q=0.8"}
OURS = {"Origin": HOST}
STYLE = Path(pages.__file__).parent / "stagepost"
PAGE = "{% extends 'stagepost/base.html' %}{% block content %}<p>{{ said }} {{ url('/x') }}</p>{% endblock %}"


@pytest.fixture
def served(tmp_path: Path) -> Starlette:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(PAGE)
    (tmp_path / "assets" / "own.css").write_text("p { color: red }")
    (tmp_path / "assets" / "own.bin").write_bytes(b"\0")
    return app(pages={"own": tmp_path})


async def log_in(http: httpx.AsyncClient, key: str = SECRET, next_: str = "/shown") -> httpx.Response:
    return await http.post("/login", data={"key": key, "next": next_}, headers=OURS)


async def test_a_browser_without_a_login_is_sent_to_log_in_and_back(served: Starlette) -> None:
    async with client(served) as http:
        sent = await http.get("/shown?a=1&b=2", headers=HTML)
        assert (sent.status_code, sent.headers["location"]) == (303, "/login?next=/shown%3Fa%3D1%26b%3D2")
        asked = await http.get(sent.headers["location"])
        assert 'value="/shown?a=1&amp;b=2"' in asked.text
        begun = await log_in(http, next_="/shown?a=1&b=2")
        assert begun.headers["location"] == "/shown?a=1&b=2"
        shown = await http.get(begun.headers["location"], headers=HTML)
        assert "<p>&lt;b&gt;&amp; /x</p>" in shown.text
        assert "ann" in shown.text


async def test_a_program_without_a_key_is_told_so(served: Starlette) -> None:
    async with client(served) as http:
        assert (await http.get("/shown")).status_code == 401


async def test_the_cookie_holds_no_key_and_stays_with_this_site(served: Starlette) -> None:
    async with client(served, base_url="https://localhost") as http:
        begun = await http.post("/login", data={"key": SECRET}, headers={"Origin": "https://localhost"})
    cookie = begun.headers["set-cookie"].lower()
    assert SECRET.lower() not in cookie
    assert {"httponly", "secure", "samesite=strict", "path=/"} <= {part.strip() for part in cookie.split(";")}


async def test_a_wrong_key_is_refused_and_too_many_are_not_looked_at() -> None:
    async with client(app(pages={}, limits=RequestLimits(failures="2/minute"))) as http:
        assert (await log_in(http, "wrong")).status_code == 401
        assert (await log_in(http, "<script>")).status_code == 401
        refused = await log_in(http)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 60


async def test_after_logging_out_the_login_is_worth_nothing(served: Starlette) -> None:
    async with client(served) as http:
        await log_in(http)
        login = http.cookies["stagepost_login"]
        assert (await http.post("/logout", headers=OURS)).headers["location"] == "/login"
        again = await http.get("/shown", headers={"Cookie": f"stagepost_login={login}"})
    assert again.status_code == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {},
        {"Origin": "http://["},
    ],
    ids=str,
)
async def test_a_page_of_another_site_cannot_use_a_login(served: Starlette, headers: dict[str, str]) -> None:
    async with client(served) as http:
        await log_in(http)
        assert (await http.post("/whoami", headers=OURS)).status_code == 200
        refused = await http.post("/whoami", headers=headers)
    assert (refused.status_code, refused.json()["error"]["type"]) == (403, "RequestRefused")


async def test_nobody_logs_somebody_in_from_another_site(served: Starlette) -> None:
    async with client(served) as http:
        refused = await http.post("/login", data={"key": SECRET}, headers={"Origin": "http://evil.example"})
    assert refused.status_code == 403


@pytest.mark.parametrize(
    "wanted",
    [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:x",
        "/login",
        "/x/../logout",
        "/%2e%2e/elsewhere",
        "/.//evil.example",
        "/%5cevil.example",
        "x",
        "/" * 3_000,
    ],
    ids=lambda each: ascii(each)[:20],
)
async def test_a_login_leads_nowhere_else(served: Starlette, wanted: str) -> None:
    async with client(served) as http:
        assert (await log_in(http, next_=wanted)).headers["location"] == "/"
        assert (await http.get("/login", params={"next": wanted})).headers["location"] == "/"


async def test_a_form_that_is_none_is_refused(served: Starlette) -> None:
    async with client(served) as http:
        assert (await http.post("/login", json={"key": SECRET})).status_code == 422
        many = "&".join(f"a{number}=b" for number in range(9))
        typed = {"Content-Type": "application/x-www-form-urlencoded"}
        assert (await http.post("/login", content=many, headers=typed)).status_code == 422


async def test_files_stay_in_a_browser_for_as_long_as_they_are_the_same(served: Starlette) -> None:
    async with client(served) as http:
        page = (await http.get("/login")).text
        path = page.partition('stylesheet" href="')[2].partition('"')[0]
        file = await http.get(path)
        again = await http.get(path, headers={"If-None-Match": file.headers["etag"]})
        unnamed = await http.get("/assets/own/own.css")
        refused = await http.get("/assets/own/../../index.html")
        missing = await http.get("/assets/own/own.js")
        picture = await http.get("/assets/own/own.bin")
    assert "immutable" in file.headers["cache-control"]
    assert file.headers["content-type"].startswith("text/css")
    assert (again.status_code, again.content) == (304, b"")
    assert unnamed.headers["cache-control"] == "no-cache"
    assert refused.status_code in (400, 404)
    assert missing.status_code == 404
    assert picture.headers["content-type"] == "application/octet-stream"


async def test_people_are_told_of_errors_by_a_page(served: Starlette) -> None:
    async with client(served) as http:
        missing = await http.get("/nowhere", headers=HTML)
        failed = await http.get("/broken", headers=HTML)
        strange = await http.get("/a//b", headers=HTML)
    assert (missing.status_code, failed.status_code, strange.status_code) == (404, 500, 400)
    assert all("<!doctype html>" in each.text for each in (missing, failed, strange))
    assert "secret" not in failed.text
    assert failed.headers["x-request-id"] in failed.text


def test_a_folder_of_pages_cannot_replace_the_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="another name"):
        app(pages={"stagepost": tmp_path})


def test_a_file_that_is_not_there_is_named_by_the_template(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"'own/none.css'.*stagepost/style.css"):
        Assets({"stagepost": STYLE}).address("own/none.css")


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def logins(*keys: Key, clock: Clock) -> Logins:
    return Logins(Keyring(keys), secret=b"x" * 32, lifetime=60, clock=clock)


def test_a_login_ends_with_its_time_and_with_its_key() -> None:
    clock, (_, ann) = Clock(), new_key("ann@example.com", [Scope.READ])
    login = logins(ann, clock=clock).begin(ann)
    assert logins(ann, clock=clock).key(login) == ann
    assert logins(clock=clock).key(login) is None
    assert logins(new_key(ann.name, ann.scopes)[1], clock=clock).key(login) is None
    clock.now += 61
    assert logins(ann, clock=clock).key(login) is None


@pytest.mark.parametrize("place", [0, 1, 2], ids=["name", "expiry", "signature"])
def test_a_login_that_was_changed_is_none(place: int) -> None:
    clock, (_, ann), (_, ben) = Clock(), new_key("ann", [Scope.READ]), new_key("ben", [Scope.ADMIN])
    made = logins(ann, ben, clock=clock)
    ours, theirs = made.begin(ann).split("."), made.begin(ben).split(".")
    ours[place] = theirs[place] if place != 1 else str(int(ours[1]) + 1)
    assert made.key(".".join(ours)) is None


@pytest.mark.parametrize(
    "login", ["", "a", "a.b.c", "é.1.2", "a." * 400, "YW5u.9e9.x", "YW5u.²." + "0" * 64], ids=ascii
)
def test_what_is_no_login_is_none(login: str) -> None:
    made = logins(new_key("ann", [Scope.READ])[1], clock=Clock())
    assert made.key(login) is None
    made.end(login)
