"""The analyst: violations told in plain English, by rules and without a model."""

from collections import Counter
from collections.abc import Iterable, Sequence

from .models import SEVERITIES, Finding, Inspection, Rule, Severity, Violation, by_severity
from .words import counted, listed

ADVICE: dict[Rule, str] = {
    "file_changed": "reinstall it, unless somebody can say who edited it and why",
    "file_missing": "reinstall it if anything that uses it fails",
    "file_unreadable": "fix the permissions or the disk, and audit again",
    "licence_denied": "replace it, or have somebody who may decide this change the policy",
    "licence_unknown": "look for a licence in its source before you pass it on",
    "licence_review": "read the conditions before you change it or pass it on",
    "metadata_broken": "reinstall it, so that tools can tell what it is",
    "installed_twice": "uninstall until none is left, then install the one you mean",
    "python_excluded": "use a version that supports this Python",
    "unverifiable": "nobody would notice a change to its files",
    "too_large": "check that all of it is needed",
    "native_code": "its source does not show everything that runs",
    "untyped": "a type checker sees nothing of it",
    "editable": "its real files are elsewhere and were not audited",
}
"""What to do about a violation of each rule, or what follows from it."""


def write_finding(inspection: Inspection, violations: Iterable[Violation]) -> Finding:
    """Tell what is wrong with one distribution and what to do about it.

    Args:
        inspection: What is known about it.
        violations: What the judge said, in any order.

    Returns:
        One sentence for each violation, the most serious first; none if there is nothing to tell.
    """
    ordered = by_severity(violations)
    return Finding(
        name=inspection.name,
        version=inspection.version,
        metadata_path=inspection.metadata_path,
        severity=ordered[0].severity if ordered else None,
        sentences=[_sentence(violation) for violation in ordered],
        violations=ordered,
    )


def tally(violations: Iterable[Violation]) -> str:
    """Return how many violations of each severity there are: `1 high, 2 info`, empty if none."""
    counts = Counter(violation.severity for violation in violations)
    return ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES if counts[severity])


def write_verdict(findings: Sequence[Finding]) -> str:
    """Sum up an audit in one or two sentences.

    Args:
        findings: One for each distribution, those without violations included.
    """
    concerned = [finding for finding in findings if finding.severity]
    if not concerned:
        return f"Nothing to report about {counted(len(findings), 'distribution')}."
    worst = min((one.severity for one in concerned if one.severity), key=SEVERITIES.index)
    names = [finding.name for finding in concerned if finding.severity == worst]
    told = tally(violation for finding in concerned for violation in finding.violations)
    return (
        f"{VERDICTS[worst]} {len(concerned)} of {counted(len(findings), 'distribution')} "
        f"{'breaks' if len(concerned) == 1 else 'break'} a rule ({told}); look at {listed(names)} first."
    )


VERDICTS: dict[Severity, str] = {
    "high": "This environment needs attention now.",
    "medium": "This environment should be tidied up.",
    "low": "This environment is in order, with reservations.",
    "info": "This environment is in order.",
}
"""The verdict by the worst violation."""


def _sentence(violation: Violation) -> str:
    text = f"{violation.detail}; {ADVICE[violation.rule]}."
    return text[0].upper() + text[1:]
