from itertools import pairwise, permutations

import pytest
from dependency_audit.analysis import write_finding
from dependency_audit.models import Inspection
from dependency_audit.policy import Policy, judge
from dependency_audit.report import render
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token


def inspected(name: str, **facts: object) -> Inspection:
    base = {"version": "1.0", "metadata_path": f"/site/{name}.dist-info", "licence": "MIT", "verified_count": 1}
    return Inspection.model_validate({"name": name, **base, **facts})


def report(*inspections: Inspection, diagram: str = "", environment: str = "site") -> str:
    findings = [write_finding(one, judge(one, Policy(), python="3.12.1")) for one in inspections]
    return render(inspections, findings, environment=environment, diagram=diagram)


def tokens(text: str) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").enable("strikethrough").parse(text)


def cells(text: str) -> list[list[str]]:
    """Return the body of the table of distributions as a Markdown reader sees it."""
    rows: list[list[str]] = []
    for before, token in pairwise(tokens(text)):
        if token.type == "tr_open":
            rows.append([])
        if before.type == "td_open":
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows[1:]


def test_a_small_report_reads_as_intended() -> None:
    alpha = inspected("alpha", size_bytes=1500, file_count=3, native=True, typed=True)
    beta = inspected("beta", licence=None, missing_files=["beta/__init__.py"], size_bytes=20, file_count=1)
    assert report(beta, alpha, diagram="graph TD\n") == (
        "# Dependency audit\n\n"
        "**This environment should be tidied up. 1 of 2 distributions breaks a rule (2 medium); "
        "look at beta first.**\n\n"
        "- Environment: site\n"
        "- Installed: 2 distributions, 4 files, 1.5 kB\n"
        "- Compared with recorded hashes: 2 files\n"
        "- With compiled code: 1\n"
        "- With type information: 1\n\n"
        "## Findings\n\n"
        "### beta 1.0 (medium)\n\n"
        "- It lacks 1 file that came with it: beta/\\_\\_init\\_\\_.py; reinstall it if anything that uses it "
        "fails.\n"
        "- Its metadata names no licence; look for a licence in its source before you pass it on.\n\n"
        "## Distributions\n\n"
        "| Name | Version | Licence | Size | Files | Native | Typed | Problems |\n"
        "| --- | --- | --- | ---: | ---: | --- | --- | --- |\n"
        "| alpha | 1.0 | MIT | 1.5 kB | 3 | yes | yes | – |\n"  # noqa: RUF001
        "| beta | 1.0 | – | 20 B | 1 | – | – | 2 medium |\n\n"  # noqa: RUF001
        "## How it was made\n\n"
        "```mermaid\ngraph TD\n```\n"
    )


def test_without_a_diagram_there_is_no_section_for_it() -> None:
    assert "mermaid" not in report(inspected("alpha"))


def test_a_clean_report_says_so() -> None:
    assert "## Findings\n\nNone.\n" in report(inspected("alpha"))


def test_the_order_of_the_arguments_does_not_matter() -> None:
    trio = [inspected("b", licence="GPL"), inspected("a", licence=None), inspected("C", native=True)]
    assert len({report(*order) for order in permutations(trio)}) == 1


def test_findings_come_by_severity_and_then_by_name() -> None:
    text = report(inspected("a", licence=None), inspected("z", licence="GPL"), inspected("b", licence="GPL"))
    assert text.index("### 2 distributions (high)") < text.index("b 1.0, z 1.0") < text.index("### a 1.0 (medium)")


def test_twins_keep_their_own_problems() -> None:
    twins = [inspected("a", metadata_path="/site/1", licence=None), inspected("a", metadata_path="/site/2")]
    assert [row[-1] for row in cells(report(*twins))] == ["1 medium", "–"]  # noqa: RUF001


@pytest.mark.parametrize(
    "evil",
    ["a|b", "a\nb", "a\r\n# b", "`a`", "*a*", "_a_", "[a](http://b)", "<b>a</b>", "&lt;", "\\|", "~~a~~", "a\u2028b"],
)
def test_metadata_cannot_add_markup(evil: str) -> None:
    text = report(inspected("alpha", licence=evil, version=evil), environment=evil)
    plain = " ".join(evil.split())
    assert cells(text) == [["alpha", plain, plain, "0 B", "0", "–", "–", "–"]]  # noqa: RUF001


@given(st.text(st.sampled_from("ab_*`|\\<>&[]()!~#-\n\r\t\x00\x1b "), max_size=12))
def test_any_text_is_one_plain_cell(text: str) -> None:
    (row,) = cells(report(inspected("alpha", version=text)))
    plain = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    assert row[:3] == ["alpha", plain, "MIT"]
