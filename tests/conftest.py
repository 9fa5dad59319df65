"""What all tests share: they are many, and they start many processes, each of which imports much."""

import gc
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from hypothesis import HealthCheck, settings  # before anything is frozen: it looks for referrers, who do not show then
from tests._examples import be_thorough, mark_laws
from tests._fast import choose, pytest_addoption, pytest_ignore_collect  # noqa: F401  # hooks of pytest
from tests._forks import LAYERS, LITELLM, Forks, shared
from tests._needs import need
from tests._turns import take_turns

# Without bytecode on disk each process compiles all that it imports anew: litellm alone takes 3 s for that.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Both are limits of real time, 0.2 s for an example, which a busy machine exceeds.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108  # as tests use it: each in a folder of its own
_ROOM: Final = 2 * 1024**3  # bytes; a container may have 64 MB


def _keep_files_in_memory() -> None:
    """Let tests write to memory where there is room: a sync takes 10 ms on a disk, and nothing here is about disks."""
    if _IN_MEMORY.is_dir() and os.access(_IN_MEMORY, os.W_OK) and shutil.disk_usage(_IN_MEMORY).free >= _ROOM:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_IN_MEMORY))


_keep_files_in_memory()


def _let_processes_hear_ctrl_c() -> None:
    """Undo what a shell does that starts us in the background: whatever we started would ignore SIGINT, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


_let_processes_hear_ctrl_c()


def pytest_configure(config: pytest.Config) -> None:
    be_thorough(config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_laws(items)
    if config.getoption("--fast"):
        choose(config, items)
    else:
        take_turns(items)


@pytest.fixture(autouse=True, scope="module")
def few_objects() -> Iterator[None]:
    """Let the collector look only at what the tests of a module make: all tests are 700,000 objects, and take 0.3 s.

    What a module leaves unclosed is found at its end, and not in the next one.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(scope="session")
def forks() -> Forks:
    """Starts processes that have imported all layers."""
    return shared(*LAYERS)


@pytest.fixture(scope="session")
def litellm_forks() -> Forks:
    """Starts processes that have imported litellm, too."""
    need("litellm")
    return shared(*LAYERS, LITELLM)
