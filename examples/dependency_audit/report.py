"""The editor: the audit as one Markdown document."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from .analysis import tally, write_verdict
from .environment import normalised
from .models import SEVERITIES, Finding, Inspection
from .words import counted, sized

COLUMNS = ("Name", "Version", "Licence", "Size", "Files", "Native", "Typed", "Problems")
NOTHING = "–"  # noqa: RUF001  # an en dash is how a table says "none"


def render(
    inspections: Iterable[Inspection], findings: Iterable[Finding], *, environment: str, diagram: str = ""
) -> str:
    """Write the report.

    Whatever the order of the arguments, the same content gives the same text. All that comes from metadata is
    escaped, so no distribution can add markup to the report.

    Args:
        inspections: One for each distribution.
        findings: One for each inspection.
        environment: What to call the environment, such as its path.
        diagram: The source of a mermaid diagram without a fence; the section is left out if it is empty.
    """
    inspected = sorted(inspections, key=lambda one: (normalised(one.name), one.metadata_path))
    found = sorted(findings, key=_by_urgency)
    sections = (
        "# Dependency audit",
        f"**{_escaped(write_verdict(found))}**",
        _summary(inspected, environment),
        _findings(found),
        _table(inspected, found),
        f"## How it was made\n\n```mermaid\n{diagram.strip()}\n```" if diagram.strip() else "",
    )
    return "\n\n".join(section for section in sections if section) + "\n"


def _by_urgency(finding: Finding) -> tuple[int, str, str]:
    urgency = SEVERITIES.index(finding.severity) if finding.severity else len(SEVERITIES)
    return urgency, normalised(finding.name), finding.metadata_path


def _summary(inspected: Sequence[Inspection], environment: str) -> str:
    files = sum(one.file_count for one in inspected)
    size = sized(sum(one.size_bytes for one in inspected))
    verified = sum(one.verified_count for one in inspected)
    facts = (
        f"Environment: {_escaped(environment)}",
        f"Installed: {counted(len(inspected), 'distribution')}, {counted(files, 'file')}, {size}",
        f"Compared with recorded hashes: {counted(verified, 'file')}",
        f"With compiled code: {sum(one.native for one in inspected)}",
        f"With type information: {sum(one.typed for one in inspected)}",
    )
    return "\n".join(f"- {fact}" for fact in facts)


def _findings(found: Iterable[Finding]) -> str:
    """Tell findings with the same sentences together, so that one cause is one section."""
    alike: defaultdict[tuple[str, ...], list[Finding]] = defaultdict(list)
    for finding in found:
        if finding.severity:
            alike[finding.severity, *finding.sentences].append(finding)
    return "\n\n".join(["## Findings", *(map(_section, alike.values()) if alike else ["None."])])


def _section(alike: Sequence[Finding]) -> str:
    names = [f"{_escaped(finding.name)} {_escaped(finding.version)}" for finding in alike]
    title = names[0] if len(names) == 1 else counted(len(names), "distribution")
    sentences = [f"- {_escaped(sentence)}" for sentence in alike[0].sentences]
    concerned = [", ".join(names), ""] if len(names) > 1 else []
    return "\n".join([f"### {title} ({alike[0].severity})", "", *concerned, *sentences])


def _table(inspected: Sequence[Inspection], found: Iterable[Finding]) -> str:
    problems = {finding.metadata_path: tally(finding.violations) for finding in found}
    rows = [_row(one, problems.get(one.metadata_path, "")) for one in inspected]
    rule = ("---", "---", "---", "---:", "---:", "---", "---", "---")
    return "\n".join(["## Distributions", "", _line(COLUMNS), _line(rule), *map(_line, rows)])


def _row(one: Inspection, problems: str) -> tuple[str, ...]:
    return (
        _escaped(one.name),
        _escaped(one.version),
        _escaped(one.licence or NOTHING),
        sized(one.size_bytes),
        f"{one.file_count:,}",
        _yes(fact=one.native),
        _yes(fact=one.typed),
        problems or NOTHING,
    )


def _yes(*, fact: bool) -> str:
    return "yes" if fact else NOTHING


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Put text on one line and take the meaning from Markdown's signs; `_` has none inside a word."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    signs = re.sub(r"[\\`*\[\]|~#]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line)
    return signs.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
