"""The judge: which rules a distribution breaks under a policy."""

import platform
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from .licences import permits
from .models import RULES, Inspection, Rule, Violation, by_severity
from .settings import Level, Policy, load_policy
from .specifiers import excludes
from .words import counted, listed, sized

__all__ = ["Policy", "judge", "load_policy"]


@dataclass(frozen=True, slots=True)
class Case:
    """What every check sees: the distribution, the policy, the Python version to judge for."""

    inspection: Inspection
    policy: Policy
    python: str


Check = Callable[[Case], str | None]
"""Tells what breaks a rule, None if nothing does."""


def judge(inspection: Inspection, policy: Policy, *, python: str | None = None) -> list[Violation]:
    """Return the rules that a distribution breaks.

    Args:
        inspection: What is known about it.
        policy: What is minded, and how much.
        python: The version that `Requires-Python` is held against; None means the running one.

    Returns:
        The violations, the most serious first, equally serious ones in the order of the rules.
    """
    case = Case(inspection, policy, python or platform.python_version())
    return by_severity(_broken_rules(case))


def _broken_rules(case: Case) -> Iterator[Violation]:
    levels: dict[Rule, Level] = {rule: getattr(case.policy.severity, rule) for rule in RULES}
    for rule, level in levels.items():
        detail = None if level == "off" else CHECKS[rule](case)
        if level != "off" and detail:
            yield Violation(rule=rule, severity=level, detail=detail)


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text.lower(), pattern.lower()) for pattern in patterns)


def _minded(paths: Iterable[str], policy: Policy) -> list[str]:
    return [path for path in paths if not _matches(path, policy.files.ignored)]


def _changed(case: Case) -> str | None:
    files = _minded(case.inspection.changed_files, case.policy)
    whole = counted(case.inspection.verified_count, "verified file")
    return f"{len(files)} of its {whole} changed since installation: {listed(files)}" if files else None


def _missing(case: Case) -> str | None:
    files = _minded(case.inspection.missing_files, case.policy)
    return f"it lacks {counted(len(files), 'file')} that came with it: {listed(files)}" if files else None


def _unreadable(case: Case) -> str | None:
    files = _minded(case.inspection.unreadable_files, case.policy)
    return f"it has {counted(len(files), 'file')} that cannot be read: {listed(files)}" if files else None


def _denied(case: Case) -> str | None:
    if case.inspection.licence is None or permits(case.inspection.licence, lambda name: _is_allowed(name, case.policy)):
        return None
    return f"its licence {case.inspection.licence} is not acceptable to the policy"


def _is_allowed(licence: str, policy: Policy) -> bool:
    rules = policy.licence
    return not _matches(licence, rules.denied) and (not rules.allowed or _matches(licence, rules.allowed))


def _unlicensed(case: Case) -> str | None:
    return "its metadata names no licence" if case.inspection.licence is None else None


def _reviewed(case: Case) -> str | None:
    licence = case.inspection.licence
    if licence is None or permits(licence, lambda name: not _matches(name, case.policy.licence.review)):
        return None
    return f"its licence {licence} comes with conditions for those who change or link it"


def _broken(case: Case) -> str | None:
    return f"its metadata is broken: {', '.join(case.inspection.problems)}" if case.inspection.problems else None


def _twice(case: Case) -> str | None:
    names = [path.replace("\\", "/").rpartition("/")[2] for path in case.inspection.twins]
    return f"it is installed more than once, also as {listed(names)}" if names else None


def _excluded(case: Case) -> str | None:
    wanted = case.inspection.requires_python
    if wanted is None or not excludes(wanted, case.python):
        return None
    return f"it asks for Python {wanted}, and this is Python {case.python}"


def _unverifiable(case: Case) -> str | None:
    inspection = case.inspection
    lost = inspection.file_source == "RECORD" and inspection.missing_files
    known = inspection.verified_count or inspection.unreadable_files or lost
    return None if known else "it has no recorded hashes"


def _large(case: Case) -> str | None:
    limit = case.policy.files.max_size_mb * 1_000_000
    if case.inspection.size_bytes <= limit:
        return None
    return f"it takes {sized(case.inspection.size_bytes)} on disk, more than {sized(limit)}"


def _native(case: Case) -> str | None:
    return "it ships compiled code" if case.inspection.native else None


def _untyped(case: Case) -> str | None:
    known = case.inspection.typed or case.inspection.editable
    return None if known else "it ships no type information"


def _editable(case: Case) -> str | None:
    return "it is installed from a working tree" if case.inspection.editable else None


CHECKS: dict[Rule, Check] = {
    "file_changed": _changed,
    "file_missing": _missing,
    "file_unreadable": _unreadable,
    "licence_denied": _denied,
    "licence_unknown": _unlicensed,
    "licence_review": _reviewed,
    "metadata_broken": _broken,
    "installed_twice": _twice,
    "python_excluded": _excluded,
    "unverifiable": _unverifiable,
    "too_large": _large,
    "native_code": _native,
    "untyped": _untyped,
    "editable": _editable,
}
"""The check behind every rule."""
