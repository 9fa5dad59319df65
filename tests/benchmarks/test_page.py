"""Every benchmark writes its tables onto one page, between marks of its own."""

from pathlib import Path
from types import ModuleType

import pytest
from benchmarks import imports, tracing
from benchmarks.agents import report as agents
from benchmarks.hub import report as hub
from benchmarks.page import PAGE, write
from benchmarks.service import chats
from benchmarks.streams import report as streams
from benchmarks.workflows import report as workflows

REPORTS = [hub, workflows, agents, streams, imports, tracing, chats]

each_report = pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.__name__)


@each_report
def test_it_writes_between_the_marks_of_a_page(report: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n")
    write("new", report.BEGIN, report.END, page)
    assert page.read_text() == f"before\n{report.BEGIN}\n\nnew\n\n{report.END}\nafter\n"


@each_report
def test_the_page_has_the_marks(report: ModuleType) -> None:
    text = PAGE.read_text()
    assert text.count(report.BEGIN) == text.count(report.END) == 1
