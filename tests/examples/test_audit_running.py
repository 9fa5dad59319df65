from pathlib import Path

import pytest
from dependency_audit.analysis import write_finding
from dependency_audit.environment import find_distributions, normalised, running_environment
from dependency_audit.inspection import inspect
from dependency_audit.models import Inspection
from dependency_audit.policy import judge, load_policy
from dependency_audit.report import render

MAINSTREAM = {"anyio", "hypothesis", "pluggy", "pydantic", "pydantic-core", "pytest"}


@pytest.fixture(scope="module")
def seen() -> dict[str, Inspection]:
    found = [one for folder in running_environment() for one in find_distributions(folder)]
    return {normalised(one.name): inspect(one) for one in found if normalised(one.name) in MAINSTREAM}


def test_the_running_environment_is_as_its_installer_left_it(seen: dict[str, Inspection]) -> None:
    assert set(seen) == MAINSTREAM
    for one in seen.values():
        assert one.size_bytes > one.file_count > 0, one.name
        assert one.verified_count > 0, one.name
        assert (one.changed_files, one.missing_files, one.problems) == ([], [], []), one.name


def test_mainstream_libraries_have_a_licence_and_types(seen: dict[str, Inspection]) -> None:
    assert {name: one.licence for name, one in seen.items() if not one.licence} == {}
    assert all(one.typed for one in seen.values())
    assert (seen["pydantic-core"].native, seen["pydantic"].native) == (True, False)
    assert "console_scripts: pytest" in seen["pytest"].entry_points


def test_mainstream_libraries_give_no_alarm(seen: dict[str, Inspection]) -> None:
    findings = [write_finding(one, judge(one, load_policy())) for one in seen.values()]
    assert {one.name: one.severity for one in findings if one.severity} == {"hypothesis": "info"}


def test_the_whole_of_a_running_environment_can_be_listed_and_reported(seen: dict[str, Inspection]) -> None:
    findings = [write_finding(one, judge(one, load_policy())) for one in seen.values()]
    text = render(seen.values(), findings, environment=str(Path(running_environment()[0])))
    assert all(f"| {one.name} | {one.version} |" in text for one in seen.values())
