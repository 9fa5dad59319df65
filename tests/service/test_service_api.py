"""What is public of the service: sorted, documented, in the tree of errors, and imported when it is used."""

import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

from stagepost import programs, service
from stagepost.service import assistant, channels, errors, supervisor
from stagepost.workflows import ExtraMissing

LIGHT = """
import sys
import stagepost.service
print([name for name in ("httpx2", "jinja2", "limits", "starlette", "uvicorn") if name in sys.modules])
"""


@pytest.mark.parametrize(
    "package", [service, supervisor, channels, assistant, programs], ids=lambda each: each.__name__
)
def test_public_names_are_sorted_and_documented(package: ModuleType) -> None:
    in_order = sorted(package.__all__, key=lambda name: (not name.isupper(), name))  # as ruff sorts: constants first
    assert in_order == list(package.__all__)
    classes = [getattr(package, name) for name in package.__all__ if isinstance(getattr(package, name), type)]
    assert [each.__name__ for each in classes if not each.__doc__] == []


def test_each_error_of_the_service_stands_in_the_tree() -> None:
    ours = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, errors.ServiceError)]
    assert [each.__name__ for each in ours if each.__name__ not in str(errors.__doc__)] == []


def test_each_error_of_channels_stands_in_the_tree() -> None:
    ours = [getattr(channels, name) for name in channels.__all__]
    found = [each for each in ours if isinstance(each, type) and issubclass(each, Exception)]
    tree = str(import_module(channels.ChannelError.__module__).__doc__)
    assert [each.__name__ for each in found if each.__name__ not in tree] == []


def test_channels_load_what_is_asked_for_and_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(channels.__all__) <= set(dir(channels))
    with pytest.raises(AttributeError, match="has no attribute 'Fax'"):
        channels.Fax  # noqa: B018  # it is asked for
    monkeypatch.delitem(sys.modules, "stagepost.service.channels._yaml")
    monkeypatch.delitem(sys.modules, "stagepost.service.channels._live_file")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ExtraMissing, match="assistant"):
        channels.LiveFile  # noqa: B018  # it is asked for


def test_importing_the_service_loads_nothing_of_the_web() -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path = {sys.path!r}\n{LIGHT}"],
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.decode().strip() == "[]"
