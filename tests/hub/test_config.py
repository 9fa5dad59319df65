from pathlib import Path

import pytest
from anyio import fail_after
from tests.hub._agents import Ping, echo

from stagepost.hub import (
    Event,
    Hub,
    HubConfig,
    InvalidConfig,
    InvalidName,
    LogObserver,
    MultiObserver,
    NullObserver,
    Registry,
)


class Counter:
    seen = 0

    def on_event(self, _: Event, /) -> None:
        Counter.seen += 1


async def test_a_hub_is_made_from_configuration() -> None:
    Counter.seen = 0
    config = HubConfig(name="main", observers=("count", "log"), grace=None, dead_letters=0, check_payloads=True)
    hub = Hub.from_config(config, Registry({"count": Counter}))
    with fail_after(5):
        async with hub:
            hub.register("echo", echo)
            await hub.request("echo", Ping())
    assert hub.name == "main"
    assert Counter.seen > 3
    assert Hub.from_config(HubConfig()).name == "hub"


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        ("toml", '[app.hub]\nname = "main"\ngrace = 0\ncheck_payloads = false\n'),
        ("json", '{"app": {"hub": {"name": "main", "grace": 0, "check_payloads": false}}}'),
    ],
    ids=["toml", "json"],
)
def test_configuration_is_read_from_files(tmp_path: Path, suffix: str, text: str) -> None:
    file = tmp_path / f"app.{suffix}"
    file.write_text(text)
    assert HubConfig.load(file, table="app.hub") == HubConfig(name="main", grace=0, check_payloads=False)


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.toml", "name = ", "it is not TOML"),
        ("a.json", "{", "it is not JSON"),
        ("a.toml", 'nome = "x"', "nome: Extra inputs"),
        ("a.toml", "grace = -1", "grace: Input should be greater"),
        ("a.json", "[]", "it: Input should be"),
    ],
    ids=["toml", "json", "unknown key", "wrong value", "wrong shape"],
)
def test_what_cannot_be_used_is_an_error_with_its_place(tmp_path: Path, name: str, text: str, problem: str) -> None:
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(InvalidConfig, match=problem):
        HubConfig.load(file)


def test_missing_files_and_tables_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="cannot be read"):
        HubConfig.load(tmp_path / "none.toml")
    (tmp_path / "a.toml").write_text("x = 1")
    for table in ("y", "x.z"):
        with pytest.raises(InvalidConfig, match=f"has no table '{table}'"):
            HubConfig.load(tmp_path / "a.toml", table=table)


def test_merging_never_loses_what_was_set_explicitly() -> None:
    base = HubConfig(name="main", grace=5, dead_letters=7, check_payloads=True)
    assert base.merge(HubConfig(check_payloads=False, dead_letters=0)) == HubConfig(
        name="main", grace=5, dead_letters=0, check_payloads=False
    )
    assert base.merge(HubConfig(grace=None)).grace is None
    assert base.merge(HubConfig(grace=10.0)).grace == 10.0
    assert base.merge(HubConfig()) == base
    assert base.merge({"name": "other"}).merge({}).name == "other"
    with pytest.raises(InvalidConfig, match="name"):
        base.merge({"name": "a b"})


def test_a_registry_knows_names() -> None:
    registry = Registry({"count": Counter})
    assert registry.names == ("null", "log", "count")
    assert isinstance(registry.observer(), NullObserver)
    assert isinstance(registry.observer("null"), NullObserver)
    assert isinstance(registry.observer("log"), LogObserver)
    assert isinstance(registry.observer("log", "count"), MultiObserver)
    assert isinstance(registry.observer("null", "count"), Counter)
    with pytest.raises(InvalidConfig, match="no observer is called 'odd', only null, log, count"):
        registry.observer("odd")
    with pytest.raises(InvalidName):
        Registry({"a b": Counter})
