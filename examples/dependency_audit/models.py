"""The values that travel between the audit's steps: frozen, and JSON all the way down."""

from collections.abc import Iterable
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict

Severity = Literal["high", "medium", "low", "info"]
"""How much a violation matters."""

SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""Every severity, the most serious first."""

Rule = Literal[
    "file_changed",
    "file_missing",
    "file_unreadable",
    "licence_denied",
    "licence_unknown",
    "licence_review",
    "metadata_broken",
    "installed_twice",
    "python_excluded",
    "unverifiable",
    "too_large",
    "native_code",
    "untyped",
    "editable",
]
"""What a distribution can violate."""

RULES: tuple[Rule, ...] = get_args(Rule)
"""Every rule, in the order in which violations of equal severity are told."""

FileSource = Literal["RECORD", "installed-files.txt", "top_level.txt", "metadata"]
"""Where the list of a distribution's files came from: exact, exact without hashes, guessed, not known."""


class Value(BaseModel):
    """A frozen value whose JSON form reads back as the same value."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Distribution(Value):
    """One installed distribution, as the inventory finds it.

    Attributes:
        name: The name in its metadata, or the one its folder carries.
        version: The version from the same place, `unknown` if neither tells.
        metadata_path: Its `.dist-info` or `.egg-info`, absolute.
        twins: The metadata folders of other installations under the same normalised name.
    """

    name: str
    version: str
    metadata_path: str
    twins: list[str] = []


class Inspection(Value):
    """What a look at the disk tells about one distribution.

    Attributes:
        name: As in `Distribution`.
        version: As in `Distribution`.
        metadata_path: As in `Distribution`.
        twins: As in `Distribution`.
        licence: A short name or an SPDX expression, None if the metadata names no licence.
        requires_python: The `Requires-Python` specifier, None if there is none.
        entry_points: `group: name`, sorted.
        editable: Installed from a working tree, whose files are not listed here.
        native: Ships compiled code.
        typed: Ships `py.typed`, or stubs.
        size_bytes: Size on disk, without `__pycache__`.
        file_count: Files on disk, without `__pycache__`.
        verified_count: Files that were compared with their recorded hash.
        file_source: Where the list of files came from.
        missing_files: Listed and not on disk, sorted.
        changed_files: On disk with another hash than the recorded one, sorted.
        unreadable_files: On disk and not readable, sorted.
        problems: What is wrong with the metadata itself, as sentences without a full stop.
    """

    name: str
    version: str
    metadata_path: str
    twins: list[str] = []
    licence: str | None = None
    requires_python: str | None = None
    entry_points: list[str] = []
    editable: bool = False
    native: bool = False
    typed: bool = False
    size_bytes: int = 0
    file_count: int = 0
    verified_count: int = 0
    file_source: FileSource = "metadata"
    missing_files: list[str] = []
    changed_files: list[str] = []
    unreadable_files: list[str] = []
    problems: list[str] = []


class Violation(Value):
    """One rule that a distribution breaks.

    Attributes:
        rule: The rule.
        severity: How much the policy minds.
        detail: The facts, as a clause about the distribution (`it …` or `its …`).
    """

    rule: Rule
    severity: Severity
    detail: str


def by_severity(violations: Iterable[Violation]) -> list[Violation]:
    """Return the violations with the most serious first; equal ones keep their order."""
    return sorted(violations, key=lambda one: SEVERITIES.index(one.severity))


class Finding(Value):
    """What the analyst has to say about one distribution.

    Attributes:
        name: As in `Distribution`.
        version: As in `Distribution`.
        metadata_path: As in `Distribution`; tells findings of twins apart.
        severity: The worst of its violations, None if it has none.
        sentences: Plain English, the most serious first.
        violations: The violations in the same order.
    """

    name: str
    version: str
    metadata_path: str
    severity: Severity | None = None
    sentences: list[str] = []
    violations: list[Violation] = []
