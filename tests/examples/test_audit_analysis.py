from dependency_audit.analysis import ADVICE, write_finding, write_verdict
from dependency_audit.models import RULES, SEVERITIES, Finding, Inspection, Severity, Violation

ALPHA = Inspection(name="alpha", version="1.0", metadata_path="/site/alpha-1.0.dist-info")
UNTYPED = Violation(rule="untyped", severity="info", detail="it ships no type information")
CHANGED = Violation(rule="file_changed", severity="high", detail="1 of its 2 verified files changed: a.py")
UNKNOWN = Violation(rule="licence_unknown", severity="medium", detail="its metadata names no licence")


def finding(name: str, *severities: Severity) -> Finding:
    violations = [UNTYPED.model_copy(update={"severity": severity}) for severity in severities]
    return write_finding(ALPHA.model_copy(update={"name": name}), violations)


def test_every_rule_has_advice() -> None:
    assert tuple(ADVICE) == RULES


def test_a_finding_tells_the_most_serious_first() -> None:
    told = write_finding(ALPHA, [UNTYPED, CHANGED, UNKNOWN])
    assert told.severity == "high"
    assert told.violations == [CHANGED, UNKNOWN, UNTYPED]
    assert told.sentences == [
        "1 of its 2 verified files changed: a.py; reinstall it, unless somebody can say who edited it and why.",
        "Its metadata names no licence; look for a licence in its source before you pass it on.",
        "It ships no type information; a type checker sees nothing of it.",
    ]


def test_a_distribution_in_order_has_a_finding_without_severity() -> None:
    assert write_finding(ALPHA, []) == Finding(name="alpha", version="1.0", metadata_path=ALPHA.metadata_path)


def test_a_finding_reads_back_from_json_byte_for_byte() -> None:
    text = write_finding(ALPHA, [UNTYPED, CHANGED]).model_dump_json()
    assert Finding.model_validate_json(text).model_dump_json() == text


def test_the_verdict_of_a_clean_environment_says_how_much_was_looked_at() -> None:
    assert write_verdict([finding("a"), finding("b")]) == "Nothing to report about 2 distributions."


def test_the_verdict_names_the_worst_first() -> None:
    found = [finding("a", "low"), finding("b", "high", "low"), finding("c", "high"), finding("d")]
    assert write_verdict(found) == (
        "This environment needs attention now. 3 of 4 distributions break a rule (2 high, 2 low); "
        "look at b and c first."
    )


def test_each_severity_has_a_verdict_of_its_own() -> None:
    verdicts = {write_verdict([finding("a", severity)]) for severity in SEVERITIES}
    assert len(verdicts) == len(SEVERITIES)
