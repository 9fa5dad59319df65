"""Settings of a supervisor: read from variables, checked before anything starts, and never shown if they are secret."""

from pathlib import Path

import pytest
from tests.service.supervisor._shop import WEATHER

from stagepost.service import Scope
from stagepost.service.errors import InvalidServiceSettings
from stagepost.service.supervisor import SupervisorSettings, TurnLimits


def test_without_variables_they_are_those_of_the_contract() -> None:
    settings = SupervisorSettings.from_environment({})
    assert (settings.stage, settings.log_level, settings.port, settings.rate) == (
        "development",
        "info",
        8000,
        "60/minute",
    )
    assert settings.limits.requests == "60/minute"
    assert settings.turns == TurnLimits(deadline=300, grace=30, waits=True)
    assert settings.supervisor_timeout == 30
    worker = settings.worker(WEATHER)
    assert (worker.model, worker.timeout, worker.max_iterations) == ("gpt-5-nano", 60, 5)
    assert settings.new_guardrails() is not None
    assert settings.tracing([WEATHER]) is None
    assert settings.all_keys() == ()


def test_variables_set_them() -> None:
    given = {
        "STAGEPOST_API_KEY": "a-secret-of-sixteen",
        "STAGEPOST_STORE": "chats.db",
        "STAGEPOST_SUPERVISOR_MODEL": "gpt-9",
        "STAGEPOST_TURN_DEADLINE": "20",
        "STAGEPOST_TURN_GRACE": "5",
        "STAGEPOST_BUSY_SESSIONS": "refuse",
        "STAGEPOST_GUARDRAILS": "off",
        "STAGEPOST_RATE": "5",
    }
    settings = SupervisorSettings.from_environment(given)
    (key,) = settings.all_keys()
    assert (key.name, Scope.ADMIN in key.scopes) == ("api", False)
    assert settings.store == Path("chats.db")
    assert settings.turns == TurnLimits(deadline=20, grace=5, waits=False)
    assert settings.new_guardrails() is None
    assert settings.limits.requests == "5/minute"
    assert "sixteen" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "takes"),
    [
        ("WORKER_TIMEOUT", "0", "seconds"),
        ("WORKER_ITERATIONS", "many", "at least 1"),
        ("BUSY_SESSIONS", "perhaps", "wait or refuse"),
        ("API_KEY", "hunter2", "16 to 512"),
        ("API_KEY", "with spaces in it, long", "16 to 512"),
        ("LANGFUSE_SECRET_KEY", "hunter2", "with the public one"),
        ("LANGFUSE_HOST", "nowhere", "https"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_by_the_name_of_its_variable(name: str, value: str, takes: str) -> None:
    with pytest.raises(InvalidServiceSettings, match=f"STAGEPOST_{name}.*{takes}") as refused:
        SupervisorSettings.from_environment({f"STAGEPOST_{name}": value})
    assert "hunter2" not in str(refused.value)


def test_traces_go_to_langfuse_with_both_keys() -> None:
    pytest.importorskip("langfuse")
    given = {"STAGEPOST_LANGFUSE_PUBLIC_KEY": "pk-1", "STAGEPOST_LANGFUSE_SECRET_KEY": "sk-1"}
    settings = SupervisorSettings.from_environment({**given, "STAGEPOST_LANGFUSE_HOST": "http://localhost:1"})
    assert settings.tracing([WEATHER]) is not None
