"""``stagepost serve`` and ``stagepost keys``: what they refuse, and a process that serves until it is told to end."""

import gc
import signal
import socket
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from sse_starlette.sse import AppStatus
from starlette.applications import Starlette
from tests._needs import need
from tests.service.conftest import Command
from tests.service.test_process import COMMAND, ENVIRONMENT, LONG

from stagepost import service
from stagepost.checkpoint import SqliteStore, StoreFile
from stagepost.service import Key, create_app
from stagepost.service._cli._serving import Service, _freeze, _thawed, application, is_asgi
from stagepost.service._http._settings import ServiceSettings
from stagepost.service._serving._listening import address_of, listening
from stagepost.service._serving._server import serve
from stagepost.workflows import Runner

need("uvicorn", "starlette")
FLOWS = "tests.service._flows:workflows"
HERE = "tests.service.test_serving"

keyless = create_app(Runner(SqliteStore("nowhere/runs.db")))


async def bare(scope: object, receive: object, send: object) -> None:
    """An application of nobody's."""


def made() -> Starlette:
    return keyless


def failing() -> Starlette:
    raise RuntimeError("no")


def of_a_store(store: SqliteStore) -> Runner:
    return Runner(store)


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A process that serves on a free port, and its address."""
    process = subprocess.Popen(
        [*COMMAND, "serve", *arguments, "--port", "0"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert " is served at http" in line, (line, process.stderr and process.stderr.read())
        yield process, line.partition(" is served at ")[2].partition(";")[0]
    finally:
        process.kill()
        process.communicate(timeout=LONG)


def test_a_service_ends_with_open_streams_when_it_is_told_to(file: Path, command: Command) -> None:
    with serving(FLOWS, "--file", str(file)) as (process, address):
        refused = command("serve", FLOWS, "--file", file)
        assert refused.exit_code == 4
        assert "is owned by process" in refused.stderr
        with httpx.Client(base_url=address, timeout=LONG) as http:
            assert http.get("/health").json()["status"] == "ok"
            with http.stream("GET", "/runs/mail-1/events", params={"view": "watch"}) as stream:
                lines = stream.iter_lines()
                assert next(lines)
                process.send_signal(signal.SIGTERM)
                assert process.wait(LONG) == -signal.SIGTERM
                list(lines)  # it ends, and is no error
    assert StoreFile.at(file).owner is None


@pytest.fixture(autouse=True, scope="module")
def nothing_left(few_objects: None) -> None:
    """Collect what tests before have left and frozen, as litellm leaves clients unclosed: services thaw it."""
    gc.unfreeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    gc.freeze()


def test_what_is_there_at_the_start_is_left_out_of_collections_until_the_end() -> None:
    with _thawed():
        _freeze()
        assert gc.get_freeze_count() > 10_000
    assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("is_broken", [False, True], ids=["well", "broken"])
async def test_a_signal_ends_it_and_then_has_its_usual_effect(
    is_broken: bool,  # noqa: FBT001  # a table
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[int] = []

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        if is_broken:
            raise RuntimeError("at the end")

    monkeypatch.setattr(AppStatus, "should_exit", False)  # set by the signal, and for the process for good
    before = signal.signal(signal.SIGTERM, lambda number, _frame: seen.append(number))
    try:
        with listening("127.0.0.1", 0) as bound, anyio.fail_after(LONG):
            assert address_of(bound) == f"http://127.0.0.1:{bound.getsockname()[1]}"
            end = partial(signal.raise_signal, signal.SIGTERM)
            await serve(Starlette(lifespan=lifespan), ServiceSettings(), bound, end)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [signal.SIGTERM]
    assert ("at the end" in caplog.text) is is_broken


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ([FLOWS, "--host", "0.0.0.0"], 2, "stagepost keys new"),  # noqa: S104  # refused
        ([f"{HERE}:keyless", "--host", "0.0.0.0"], 2, "stagepost keys new"),  # noqa: S104  # refused
        ([f"{HERE}:keyless", "--keys", "x"], 2, "own keys"),
        ([f"{HERE}:failing"], 2, "RuntimeError: no"),
        ([f"{HERE}:HERE"], 2, "it is to give"),
        (["nowhere:app"], 2, "no module 'nowhere'"),
        ([FLOWS, "--keys", "/nowhere/keys"], 2, "STAGEPOST_KEYS_FILE /nowhere/keys"),
        ([FLOWS, "--port", "x"], 2, "--port"),
        ([FLOWS, "--port", "99999"], 2, "STAGEPOST_PORT"),
        ([FLOWS, "--host", "host.invalid", "--keys", "KEYS"], 4, "cannot listen on host.invalid"),
        ([f"{HERE}:keyless", "--port", "0"], 5, "nowhere"),
    ],
    ids=lambda each: "-".join(map(str, each)).rpartition(":")[2][:30] if isinstance(each, list) else "",
)
def test_what_cannot_be_served_is_refused(
    command: Command, tmp_path: Path, arguments: list[str], code: int, told: str
) -> None:
    keys = tmp_path / "keys"
    keys.write_text(str(Key.of("a-secret-of-nobody", name="ann", scopes=["read"])))
    given = [str(keys) if each == "KEYS" else each for each in arguments]
    found = command("serve", *given, STAGEPOST_FILE=str(tmp_path / "runs.db"))
    assert (found.exit_code, told in found.stderr) == (code, True), found.stderr


def test_a_port_in_use_is_named(command: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as bound:
        found = command("serve", FLOWS, "--port", bound.getsockname()[1], "--file", tmp_path / "runs.db")
    assert found.exit_code == 4
    assert "in use" in found.stderr


@pytest.mark.parametrize("name", ["keyless", "bare", "made"])
def test_an_application_or_what_makes_one_is_served_as_it_is(name: str) -> None:
    found = application(Service(f"{HERE}:{name}"), ServiceSettings())
    assert found is (bare if name == "bare" else keyless)


def test_a_function_gets_the_store(tmp_path: Path) -> None:
    found: Any = application(Service(f"{HERE}:of_a_store", tmp_path / "runs.db"), ServiceSettings())
    assert found.state.stagepost_has_keys is False


def test_what_is_an_application() -> None:
    assert is_asgi(bare)
    assert is_asgi(keyless)
    assert not any(map(is_asgi, (Starlette, made, test_what_is_an_application, "x", None)))


def test_a_key_is_made_and_its_secret_shown_once(command: Command) -> None:
    found = command("keys", "new", "ann", "--scope", "read", "--scope", "decide")
    secret, line = (each.split(maxsplit=1)[1] for each in found.stdout.splitlines())
    assert Key.parse(line) == Key.of(secret, name="ann", scopes=["read", "decide"])
    assert secret not in found.stderr
    told = command("keys", "new", "ann", "--scope", "read", "--json")
    assert told.exit_code == 0


@pytest.mark.parametrize("arguments", [["a b", "--scope", "read"], ["ann", "--scope", "write"]], ids=["name", "scope"])
def test_a_key_that_is_none_is_not_made(command: Command, arguments: list[str]) -> None:
    assert command("keys", "new", *arguments).exit_code == 2


def test_help_imports_no_web_library() -> None:
    program = (
        "import sys, stagepost.service._cli._main;"
        "print([m for m in sys.modules if m.partition('.')[0] in ('starlette', 'uvicorn', 'jinja2', 'limits')])"
    )
    found = subprocess.run([sys.executable, "-c", program], env=ENVIRONMENT, check=True, capture_output=True, text=True)
    assert found.stdout == "[]\n"


def test_without_the_extra_it_is_said_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delitem(sys.modules, "stagepost.service._cli._serving", raising=False)
    monkeypatch.setitem(sys.modules, "stagepost.service._serving._server", None)
    monkeypatch.setattr("stagepost.service._extras._PACKAGES", {"stagepost.service._serving._server"})
    found = command("serve", FLOWS, "--file", tmp_path / "runs.db")
    assert found.exit_code == 2
    assert "stagepost serve needs" in found.stderr
    assert "[serve]" in found.stderr


def test_a_module_that_is_broken_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stagepost.service._app", None)
    with pytest.raises(ModuleNotFoundError, match="_app"):
        service.__getattr__("create_app")
    with pytest.raises(AttributeError, match="has no attribute 'create'"):
        service.__getattr__("create")
    assert "create_app" in dir(service)
