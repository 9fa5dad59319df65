import subprocess
import sys

import stagepost.agents
from stagepost.agents import AgentError, errors

LIGHT = """
import sys
import stagepost.agents
print([name for name in ("litellm", "mcp", "httpx", "openai") if name in sys.modules])
"""


def test_all_is_sorted_and_complete() -> None:
    assert sorted(stagepost.agents.__all__) == list(stagepost.agents.__all__)
    imported = {
        name
        for name, value in vars(stagepost.agents).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("stagepost.agents")
    }
    assert imported <= set(stagepost.agents.__all__)


def test_everything_public_is_documented() -> None:
    for name in stagepost.agents.__all__:
        value = getattr(stagepost.agents, name)
        if isinstance(value, type):
            assert value.__doc__, name


def test_every_error_of_the_layer_is_public_and_stands_in_the_tree() -> None:
    for name in errors.__all__:
        assert issubclass(getattr(stagepost.agents, name), AgentError)
        assert name in str(errors.__doc__)


def test_importing_the_layer_loads_no_vendor() -> None:
    path = repr(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path = {path}\n{LIGHT}"], capture_output=True, check=True, timeout=120
    )
    assert done.stdout.strip() == b"[]"
