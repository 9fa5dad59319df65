import pytest
from pydantic import TypeAdapter, ValidationError

from stagepost.agents import Allow, Approvals, Decision, Deny, ToolCall, tool
from stagepost.agents._definition._approvals import decided, expired

DECISION: TypeAdapter[Allow | Deny] = TypeAdapter(Decision)
CALL = ToolCall(id="c", name="send_mail", arguments='{"to": "ann"}')


@tool
def send_mail(to: str) -> str:
    return to


@tool
def send_fax(to: str) -> str:
    return to


@tool(needs_approval=True)
def delete(path: str) -> str:
    return path


@tool
def read(path: str) -> str:
    return path


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        (["send_*"], "send_*"),
        (["git_*", "send_mail", "send_*"], "send_mail"),
        (["*"], "*"),
        (["SEND_*"], None),
        (["send"], None),
        (["send_[mf]a*"], "send_[mf]a*"),
        ([], None),
    ],
    ids=["pattern", "first match", "all", "case told apart", "whole names", "letters", "none"],
)
def test_rules_are_patterns_of_whole_names(rules: list[str], rule: str | None) -> None:
    assert Approvals(rules).rule(send_mail) == rule


def test_a_tools_own_mark_needs_no_rule_and_a_rule_is_told_first() -> None:
    assert Approvals().rule(delete) == "needs_approval"
    assert Approvals(["del*"]).rule(delete) == "del*"


def test_a_preview_says_what_waits_and_why_and_which_rules_do_nothing() -> None:
    preview = Approvals(["send_*", "git_push"]).preview([send_mail, read, delete, send_fax])
    assert preview.gated == {"send_mail": "send_*", "delete": "needs_approval", "send_fax": "send_*"}
    assert preview.free == ("read",)
    assert preview.warnings == (
        "no tool fits the rule 'git_push': correct it, or leave it out (tools: send_mail, read, delete, send_fax)",
    )


def test_a_rule_that_fits_only_what_another_has_taken_does_something_still() -> None:
    assert Approvals(["*", "send_*"]).preview([send_mail]).warnings == ()


def test_a_preview_without_tools_says_so() -> None:
    assert Approvals(["x"]).preview([]).warnings == (
        "no tool fits the rule 'x': correct it, or leave it out (tools: none)",
    )


def test_a_person_has_a_week_by_default_or_any_time() -> None:
    assert Approvals().within == 7 * 24 * 3600
    assert Approvals(within=60).within == 60
    assert Approvals(within=None).within is None


def test_rules_that_cannot_be_are_refused() -> None:
    with pytest.raises(TypeError, match=r"use a list of patterns, \['send_\*'\]"):
        Approvals("send_*")
    with pytest.raises(ValueError, match="not a duration"):
        Approvals(within=-1)


@pytest.mark.parametrize(
    ("own", "parents", "within"),
    [(60, 5, 5), (60, None, 60), (None, 5, 5), (None, None, None)],
    ids=["the shorter", "own only", "parent's only", "none"],
)
def test_an_agent_that_is_asked_has_the_others_rules_too(
    own: float | None, parents: float | None, within: float | None
) -> None:
    both = Approvals(["a", "b"], within=own).with_inherited(Approvals(["b", "c"], within=parents))
    assert (both.rules, both.within) == (("b", "c", "a"), within)


@pytest.mark.parametrize(
    ("decision", "outcome"),
    [
        (Allow(), CALL),
        (Allow(arguments={"to": "bob"}), ToolCall(id="c", name="send_mail", arguments='{"to":"bob"}')),
        (Allow(arguments={}), ToolCall(id="c", name="send_mail", arguments="{}")),
        (Deny(reason="not now"), "denied by a person, send_mail was not called: not now"),
        (Deny(), "denied by a person, send_mail was not called, without a reason"),
    ],
    ids=["allowed", "edited", "edited to nothing", "denied", "denied without a reason"],
)
def test_a_decision_makes_a_call_or_a_text_of_it(decision: Allow | Deny, outcome: ToolCall | str) -> None:
    assert decided(CALL, decision) == outcome


def test_silence_denies() -> None:
    assert expired(CALL) == Deny(reason="nobody has answered in time whether send_mail may be called")


@pytest.mark.parametrize("decision", [Allow(), Allow(arguments={"n": [1, None]}), Deny(reason="no")], ids=repr)
def test_decisions_come_back_from_json_as_they_were(decision: Allow | Deny) -> None:
    assert DECISION.validate_json(DECISION.dump_json(decision)) == decision


def test_a_decision_says_of_what_kind_it_is() -> None:
    with pytest.raises(ValidationError):
        DECISION.validate_python({"reason": "no kind"})
