"""The demo as its user runs it: a real process, killed and followed by another."""

import subprocess
from pathlib import Path

import pytest
from tests._forks import Forks
from tests.examples.audit_environment import Site


def audit(forks: Forks, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return forks.run("-m", "dependency_audit", *arguments, cwd=cwd, environment={"COLUMNS": "300"})


@pytest.fixture
def tampered(site: Site) -> Site:
    for number in range(24):
        site.install(f"library-{number}", "1.0", files={f"library_{number}/__init__.py": "x = 1\n" * 50})
    site.install("victim", "2.5", files={"victim/__init__.py": "safe = True\n", "victim/core.py": "y = 2\n"})
    site.write("victim/core.py", "y = 3  # not what was released\n")
    return site


def test_a_killed_audit_ends_in_the_right_report(tampered: Site, tmp_path: Path, forks: Forks) -> None:
    done = audit(forks, "--path", str(tampered.folder), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "inspections saved before SIGKILL" in done.stdout
    report = (tmp_path / "audit-report" / "audit.md").read_text()
    assert "### victim 2.5 (high)" in report
    assert "victim/core.py" in report
    assert "| victim | 2.5 |" in report
    assert report.count("| library-") == 24
    assert "```mermaid\nflowchart TD" in report


def test_a_killed_audit_reports_the_same_as_one_that_ran_through(tampered: Site, tmp_path: Path, forks: Forks) -> None:
    audit(forks, "--path", str(tampered.folder), "--output", "killed", cwd=tmp_path)
    through = audit(forks, "--path", str(tampered.folder), "--output", "through", "--no-crash", cwd=tmp_path)
    assert "killed                   no" in " ".join(through.stdout.split("\n")), through.stdout
    assert (tmp_path / "killed" / "audit.md").read_text() == (tmp_path / "through" / "audit.md").read_text()


def test_a_path_that_is_no_environment_gets_one_clear_sentence(tmp_path: Path, forks: Forks) -> None:
    done = audit(forks, "--path", str(tmp_path / "nowhere"), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "is not a Python environment, because it does not exist" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_policy_with_a_mistake_is_refused_before_anything_runs(tampered: Site, tmp_path: Path, forks: Forks) -> None:
    policy = tmp_path / "mine.toml"
    policy.write_text("[licence]\nalowed = []\n")
    done = audit(forks, "--path", str(tampered.folder), "--policy", str(policy), cwd=tmp_path)
    assert done.returncode == 2
    assert "mine.toml" in done.stderr
    assert "alowed" in done.stderr
