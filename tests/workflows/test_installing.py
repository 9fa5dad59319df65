"""What a missing extra says works for how the package was installed."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from stagepost._installing import Installation, installed_version
from stagepost.workflows import ExtraMissing

PIP = "/venv/bin/python -m pip install"
VCS = {"url": "https://git.example/stagepost", "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}
WAYS: dict[str, tuple[dict[str, Any], str]] = {
    "index": ({}, f"{PIP} 'stagepost[llm]'"),
    "by uv": ({"installer": "uv"}, "uv pip install --python /venv/bin/python 'stagepost[llm]'"),
    "without pip": ({"has_pip": False}, "uv pip install --python /venv/bin/python 'stagepost[llm]'"),
    "editable": (
        {"direct_url": {"url": "file:///src/my%20post", "dir_info": {"editable": True}}},
        f"{PIP} -e '/src/my post[llm]'",
    ),
    "folder": ({"direct_url": {"url": "file:///src/post", "dir_info": {}}}, f"{PIP} '/src/post[llm]'"),
    "wheel": (
        {"direct_url": {"url": "file:///w/stagepost-1.whl", "archive_info": {}}},
        f"{PIP} 'stagepost[llm] @ file:///w/stagepost-1.whl'",
    ),
    "git": ({"direct_url": VCS}, f"{PIP} 'stagepost[llm] @ git+https://git.example/stagepost@c0ffee'"),
    "branch": (
        {"direct_url": {**VCS, "vcs_info": {**VCS["vcs_info"], "requested_revision": "main"}, "subdirectory": "py"}},  # type: ignore[dict-item]  # JSON
        f"{PIP} 'stagepost[llm] @ git+https://git.example/stagepost@main#subdirectory=py'",
    ),
    "not installed": ({"source": Path("/src/post")}, f"{PIP} -e '/src/post[llm]'"),
}


def installation(prefix: Path, **known: Any) -> Installation:
    usual = {"direct_url": None, "source": None, "installer": "pip", "has_pip": True}
    return Installation(**{**usual, **known}, python="/venv/bin/python", prefix=prefix)


@pytest.mark.parametrize(("known", "command"), WAYS.values(), ids=WAYS)
def test_an_extra_is_installed_as_the_package_was(known: dict[str, Any], command: str, tmp_path: Path) -> None:
    assert installation(tmp_path, **known).command("llm") == command


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("pipx_metadata.json", "pipx inject app 'stagepost[llm]'"),
        ("uv-receipt.toml", "uv tool install app --with 'stagepost[llm]'"),
    ],
)
def test_an_extra_of_a_tool_goes_into_the_environment_of_the_tool(file: str, command: str, tmp_path: Path) -> None:
    prefix = tmp_path / "app"
    prefix.mkdir()
    (prefix / file).touch()
    assert installation(prefix).command("llm") == command


def test_what_this_process_has_is_found_out() -> None:
    assert "stagepost" in Installation.here().command("llm") or "[llm]" in Installation.here().command("llm")
    assert Installation.here().command("retry") in str(ExtraMissing("Retry", "tenacity", "retry"))


def test_a_package_that_is_not_installed_is_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stagepost._installing._NAME", "no-such-package-of-ours")
    here = Installation.here()
    assert here.source is not None
    assert (here.source / "stagepost").exists() or (here.source / "pyproject.toml").exists()
    assert installed_version() == "unknown"


def test_the_installed_version_is_that_of_the_package() -> None:
    assert installed_version() == version("stagepost")
