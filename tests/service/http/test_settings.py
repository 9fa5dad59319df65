"""Settings come from variables, and whatever does not fit is named with what to do."""

from pathlib import Path

import pytest
from tests.service.http._served import client

from stagepost.checkpoint import MemoryStore
from stagepost.service import Key, Scope, ServiceSettings, create_app, new_key, parse_keys
from stagepost.service.errors import InvalidKey, InvalidServiceSettings
from stagepost.workflows import Runner

SECRET, KEY = new_key("ann", [Scope.READ, Scope.ADMIN])


def test_without_variables_it_is_for_this_machine_only() -> None:
    found = ServiceSettings.from_environment({})
    assert (found.host, found.port, found.all_keys(), found.has_docs, found.origins) == (
        "127.0.0.1",
        8000,
        (),
        True,
        (),
    )
    assert found.limits.requests == "600/minute"


def test_all_are_read_from_variables(tmp_path: Path) -> None:
    other = new_key("ben", [Scope.RUN])[1]
    file = tmp_path / "keys"
    file.write_text(f"# of the night shift\n{other}  # Ben\n")
    found = ServiceSettings.from_environment(
        {
            "STAGEPOST_STAGE": "production",
            "STAGEPOST_LOG_LEVEL": "WARNING",
            "STAGEPOST_PORT": "80",
            "STAGEPOST_KEYS": f" {KEY} ",
            "STAGEPOST_KEYS_FILE": str(file),
            "STAGEPOST_HOSTS": "a.example, b.example",
            "STAGEPOST_ORIGINS": "https://app.example.com",
            "STAGEPOST_RATE": "60",
            "STAGEPOST_GRACE": "",
            "STAGEPOST_LOGIN_SECRET": "x" * 32,
        },
        port=81,
        host=None,
    )
    assert (found.port, found.host, found.log_level, found.grace) == (81, "127.0.0.1", "warning", 10.0)
    assert found.all_keys() == (KEY, other)
    assert (found.hosts, found.origins) == (("a.example", "b.example"), ("https://app.example.com",))
    assert (found.has_docs, found.limits.requests) == (False, "60/minute")
    assert "x" * 32 not in repr(found)


@pytest.mark.parametrize(
    ("name", "value", "advice"),
    [
        ("STAGE", "prod", "development, qa or production"),
        ("LOG_LEVEL", "loud", "debug, info"),
        ("PORT", "70000", "0 to 65535"),
        ("ORIGINS", "*", "https://app.example.com"),
        ("RATE", "often", "a number for each minute"),
        ("MAX_BODY", "0", "at least 1"),
        ("DOCS", "maybe", "true or false"),
        ("GRACE", "-1", "0 to 3600"),
    ],
)
def test_what_does_not_fit_is_named_with_what_to_do(name: str, value: str, advice: str) -> None:
    with pytest.raises(InvalidServiceSettings) as raised:
        ServiceSettings.from_environment({f"STAGEPOST_{name}": value, "STAGEPOST_HOST": "::1"})
    (problem,) = raised.value.problems
    assert problem.startswith(f"STAGEPOST_{name}={value!r}")
    assert advice in problem


@pytest.mark.parametrize("name", ["KEYS", "LOGIN_SECRET"])
def test_secrets_that_do_not_fit_are_not_shown(name: str) -> None:
    with pytest.raises(InvalidServiceSettings, match=f"STAGEPOST_{name} does not fit") as raised:
        ServiceSettings.from_environment({f"STAGEPOST_{name}": "hush-hush"})
    assert "hush" not in str(raised.value)


def test_a_setting_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidServiceSettings, match="prot is no setting"):
        ServiceSettings.from_environment({}, prot=1)


@pytest.mark.parametrize(
    "content", [None, b"\xff", b"hush", f"{KEY}\n{KEY}".encode()], ids=["none", "bytes", "other", "twice"]
)
def test_a_file_of_keys_that_cannot_be_used_is_named(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "keys"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidServiceSettings, match=f"STAGEPOST_KEYS_FILE {file}") as raised:
        ServiceSettings.from_environment({}, keys_file=file).all_keys()
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("stage", ["development", "qa", "production"])
async def test_an_application_is_made_as_its_settings_say(stage: str) -> None:
    variables = {
        "STAGEPOST_STAGE": stage,
        "STAGEPOST_KEYS": str(KEY),
        "STAGEPOST_HOSTS": "runs.example.com",
        "STAGEPOST_ORIGINS": "https://app.example.com",
        "STAGEPOST_RATE": "3",
        "STAGEPOST_LOGIN_SECRET": "s" * 32,
    }
    served = create_app(Runner(MemoryStore()), **ServiceSettings.from_environment(variables).app_options())
    headers = {"X-API-Key": SECRET, "Origin": "https://app.example.com"}
    async with client(served, base_url="http://runs.example.com", headers=headers) as http:
        described = await http.get("/openapi.json")
        assert (described.status_code == 200) is (stage != "production")
        assert described.headers["access-control-allow-origin"] == "https://app.example.com"
        assert (await http.get("/openapi.json", headers={"Host": "localhost"})).status_code == 403
        statuses = [(await http.get("/runs")).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]  # what was described was the first; what was refused before does not count


def test_a_key_is_stored_as_a_line_without_its_secret() -> None:
    assert str(KEY) == f"ann:read,admin:{KEY.digest}"
    assert parse_keys(f"{KEY}\n\n# nobody\n") == (KEY,)
    assert SECRET not in str(KEY) + repr(KEY)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ann",
        "a b:read:" + "0" * 64,
        "ann::" + "0" * 64,
        "ann:write:" + "0" * 64,
        "ann:read:0",
        "ann:read:" + "z" * 64,
    ],
)
def test_what_is_no_key_is_refused(line: str) -> None:
    with pytest.raises(InvalidKey):
        Key.parse(line)
