import tomllib
from pathlib import Path

import pytest
from dependency_audit.errors import InvalidPolicy
from dependency_audit.models import RULES, Inspection, Rule
from dependency_audit.policy import CHECKS, Policy, judge, load_policy
from dependency_audit.settings import DEFAULT_POLICY

FINE = Inspection(
    name="alpha",
    version="1.0",
    metadata_path="/site/alpha-1.0.dist-info",
    licence="MIT",
    typed=True,
    file_source="RECORD",
    file_count=3,
    verified_count=2,
)
EVERY_RULE = Policy.model_validate({"severity": dict.fromkeys(RULES, "low")})


def spoiled(**changes: object) -> Inspection:
    return Inspection.model_validate(FINE.model_dump() | changes)


def policy(**tables: object) -> Policy:
    return Policy.model_validate(EVERY_RULE.model_dump() | tables)


def broken(inspection: Inspection, held_against: Policy = EVERY_RULE) -> list[Rule]:
    return [violation.rule for violation in judge(inspection, held_against, python="3.12.1")]


def test_the_shipped_file_spells_out_every_default() -> None:
    text = DEFAULT_POLICY.read_text(encoding="utf-8")
    assert tomllib.loads(text) == Policy().model_dump()
    assert load_policy() == Policy()


def test_every_rule_has_a_check_and_a_level() -> None:
    assert tuple(CHECKS) == RULES == tuple(Policy().severity.model_dump())


def test_a_distribution_in_order_breaks_no_rule() -> None:
    assert judge(FINE, EVERY_RULE) == []


@pytest.mark.parametrize(
    ("rule", "changes", "detail"),
    [
        ("file_changed", {"changed_files": ["a.py"]}, "1 of its 2 verified files changed since installation: a.py"),
        ("file_missing", {"missing_files": ["a", "b"]}, "it lacks 2 files that came with it: a and b"),
        ("file_unreadable", {"unreadable_files": ["a"]}, "it has 1 file that cannot be read: a"),
        ("licence_denied", {"licence": "GPL-3.0-only"}, "its licence GPL-3.0-only is not acceptable to the policy"),
        ("licence_unknown", {"licence": None}, "its metadata names no licence"),
        (
            "licence_review",
            {"licence": "MPL-2.0"},
            "its licence MPL-2.0 comes with conditions for those who change or link it",
        ),
        (
            "metadata_broken",
            {"problems": ["METADATA is missing", "RECORD is empty"]},
            "its metadata is broken: METADATA is missing, RECORD is empty",
        ),
        (
            "installed_twice",
            {"twins": ["/site/alpha-2.0.dist-info", "C:\\site\\alpha.egg-info"]},
            "it is installed more than once, also as alpha-2.0.dist-info and alpha.egg-info",
        ),
        (
            "python_excluded",
            {"requires_python": "<3.12"},
            "it asks for Python <3.12, and this is Python 3.12.1",
        ),
        ("unverifiable", {"verified_count": 0}, "it has no recorded hashes"),
        ("too_large", {"size_bytes": 123_456_789}, "it takes 123 MB on disk, more than 100 MB"),
        ("native_code", {"native": True}, "it ships compiled code"),
        ("untyped", {"typed": False}, "it ships no type information"),
        ("editable", {"editable": True}, "it is installed from a working tree"),
    ],
    ids=RULES,
)
def test_a_broken_rule_is_told_with_its_facts(rule: Rule, changes: dict[str, object], detail: str) -> None:
    (violation,) = judge(spoiled(**changes), EVERY_RULE, python="3.12.1")
    assert (violation.rule, violation.detail, violation.severity) == (rule, detail, "low")


def test_a_rule_that_is_off_is_not_broken() -> None:
    off = Policy.model_validate({"severity": dict.fromkeys(RULES, "off")})
    everything = spoiled(changed_files=["a"], licence=None, problems=["p"], native=True, editable=True)
    assert judge(everything, off) == []


def test_violations_come_by_severity_and_then_by_rule() -> None:
    mixed = policy(severity={"native_code": "high", "untyped": "high", "file_missing": "info"})
    assert broken(spoiled(native=True, typed=False, missing_files=["a"]), mixed) == [
        "native_code",
        "untyped",
        "file_missing",
    ]


@pytest.mark.parametrize(
    ("licence", "rules"),
    [
        ("MIT OR GPL-3.0-only", []),
        ("MIT AND GPL-3.0-only", ["licence_denied"]),
        ("mit", []),
        ("BSD-3-Clause", ["licence_denied"]),
        ("LGPL-3.0", ["licence_denied", "licence_review"]),
    ],
)
def test_an_allow_list_denies_what_it_does_not_name(licence: str, rules: list[Rule]) -> None:
    strict = policy(licence={"allowed": ["MIT", "GPL*"], "denied": ["GPL*"]})
    assert broken(spoiled(licence=licence), strict) == rules


def test_ignored_files_break_no_rule() -> None:
    lenient = policy(files={"ignored": ["*/tests/*", "../*"]})
    changes = {"changed_files": ["../bin/a"], "missing_files": ["a/tests/b.py"], "unreadable_files": ["a/tests/c"]}
    assert broken(spoiled(**changes), lenient) == []


def test_hashes_of_files_that_are_gone_were_recorded_all_the_same() -> None:
    gone = spoiled(verified_count=0, missing_files=["alpha/__init__.py"])
    assert broken(gone) == ["file_missing"]


def test_an_editable_installation_is_not_blamed_for_types_that_are_elsewhere() -> None:
    assert broken(spoiled(editable=True, typed=False)) == ["editable"]


def test_the_running_python_is_the_one_to_judge_for_unless_another_is_given() -> None:
    assert [one.rule for one in judge(spoiled(requires_python="<3"), EVERY_RULE)] == ["python_excluded"]


def written(folder: Path, text: str | bytes) -> Path:
    path = folder / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_policy_file_may_hold_only_what_it_changes(tmp_path: Path) -> None:
    mine = load_policy(written(tmp_path, "[severity]\nuntyped = 'low'\n"))
    assert mine.severity.untyped == "low"
    assert mine.licence == Policy().licence


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[licences]\n", "'licences' is no key of a policy, allowed here are files, licence, severity"),
        (
            "[files]\nmax_size = 1\n",
            "'files.max_size' is no key of a policy, allowed here are ignored, max_size_mb",
        ),
        (
            "[severity]\nuntyped = 'severe'\n",
            "'severity.untyped' is 'severe', allowed are 'high', 'medium', 'low', 'info' or 'off'",
        ),
        ("[files]\nmax_size_mb = 0\n", "'files.max_size_mb' is 0: input should be greater than 0"),
        ("[files]\nmax_size_mb = '9'\n", "'files.max_size_mb' is '9': input should be a valid integer"),
        ("[licence]\ndenied = 'GPL'\n", "'licence.denied' is 'GPL': input should be a valid list"),
        ("[licence]\ndenied = [1]\n", "'licence.denied.0' is 1: input should be a valid string"),
        ("severity = 'high'\n", "'severity' is 'high', and must be a table"),
        ("[severity\n", "it is not valid TOML"),
        (b"\xff\xfe", "it is not valid TOML"),
    ],
    ids=["table", "key", "level", "zero", "type", "list", "item", "no table", "syntax", "bytes"],
)
def test_a_policy_file_with_a_mistake_is_refused_by_key(tmp_path: Path, text: str | bytes, problem: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(path)
    (told,) = caught.value.problems
    assert told.startswith(problem)
    assert str(caught.value) == f"The policy {str(path)!r} cannot be used: {told}."


def test_every_mistake_of_a_policy_file_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy) as caught:
        load_policy(written(tmp_path, "[severity]\nuntyped = 'x'\nsloppy = 'low'\n"))
    assert len(caught.value.problems) == 2


def test_a_policy_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidPolicy, match=r"it cannot be read \(No such file or directory\)"):
        load_policy(tmp_path / "none.toml")
