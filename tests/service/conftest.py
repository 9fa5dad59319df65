"""The command in this process, and stores that it works on."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from tests._needs import need

need("typer", "rich")

from tests.service import _flows as flows  # noqa: E402  # after the check of what they need

from stagepost.checkpoint import SqliteStore  # noqa: E402
from stagepost.workflows import Runner  # noqa: E402

APP = "tests.service._flows:workflows"


class Command(Protocol):
    def __call__(self, *arguments: object, typed: str | None = None, **environment: str | None) -> Any: ...


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run the command; nothing of it may be an escape sequence, and what is JSON fits the schema."""
    from typer.testing import CliRunner

    from stagepost.service._cli._commands._root import main

    for name in ("STAGEPOST_FILE", "COLUMNS", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, typed: str | None = None, **environment: str | None) -> Any:
        given = [str(argument) for argument in arguments]
        result = CliRunner().invoke(main, given, input=typed, env=environment, prog_name="stagepost")
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        for text in (result.stdout, result.stderr):
            assert not set(text) & {"\x1b", "\x9b", "\r", "\u202e"}
        if "--json" in given and result.exit_code != 2:
            check_json(" ".join(each for each in given[:2] if not each.startswith("-")), result)
        return result

    return run


def check_json(name: str, result: Any) -> None:
    """See that output is what the schema says."""
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # it has no stubs

    from stagepost.service._cli._schema import LINES, OUTPUTS, schemas

    whole = schemas()
    command = name if name in OUTPUTS else name.partition(" ")[0]
    validator = Draft202012Validator({**whole["commands"][command], "$defs": whole["$defs"]})
    texts = result.stdout.splitlines() if command in LINES else [result.stdout] if result.stdout else []
    for text in texts:
        validator.validate(json.loads(text))
    if result.stderr:
        Draft202012Validator({**whole["error"], "$defs": whole["$defs"]}).validate(json.loads(result.stderr))


async def _made(path: Path) -> None:
    async with SqliteStore(path) as store, Runner(store, workflows=flows.workflows) as runner:
        labels = {"customer": "7"}
        await (await runner.start(flows.digest, {"n": 1}, run_id="digest-1", labels=labels, keep="all")).settled()
        await (await runner.start(flows.quick, {}, run_id="quick-1", key="order-1")).settled()
        boom = {"boom": str(path.with_name("repaired"))}
        await (await runner.start(flows.quick, boom, run_id="failed-1", labels={**labels, "tenant": "north"})).settled()
        await (await runner.start(flows.mail, {}, run_id="mail-1")).settled()
        await runner.schedule(flows.quick, timedelta(days=1), key="nightly")


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("store") / "runs.db"
    anyio.run(_made, path)
    return path


@pytest.fixture
def file(template: Path, tmp_path: Path) -> Path:
    """A store with runs that wait, have completed and have failed, owned by nobody."""
    return Path(shutil.copy(template, tmp_path / "runs.db"))


@pytest.fixture
def owned(file: Path) -> Iterator[Path]:
    """The same, owned by somebody who works on its runs."""
    with owner(file, lambda store: Runner(store, workflows=flows.workflows)):
        yield file


@contextmanager
def owner(file: Path, make: Callable[[SqliteStore], Runner]) -> Iterator[Runner]:
    store = SqliteStore(file)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(store),
        portal.wrap_async_context_manager(make(store)) as runner,
    ):
        portal.call(runner.recover)
        yield runner


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
