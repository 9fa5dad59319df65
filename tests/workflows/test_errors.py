"""Errors can be copied and pickled with their facts."""

import copy
import inspect
import pickle
from datetime import UTC, datetime

import pytest
from pydantic import BaseModel

from stagepost.workflows import Chain, ChainError, ItemAccounts, ItemFailure, errors, step
from stagepost.workflows._values._state import State as MadeState
from stagepost.workflows._values._state import Value

STATE = MadeState({"n": Value(b"[1]")}, {})
CAUSE = ValueError("no")
EXAMPLES = [
    errors.DefinitionError("chain 'c'", "it has no steps"),
    errors.HubRequired("work", "agent"),
    errors.ExtraMissing("Retry", "tenacity", "retry"),
    errors.RunnerNotOpen(),
    errors.WorkflowNotFound("work", ["other"]),
    errors.ScheduleRefused("key", "why"),
    errors.ScheduleConflict("key", "work"),
    errors.ScheduleNotReadable("key", "why"),
    errors.LifespanFailed("work", "why"),
    errors.CannotGoOn("no case fits"),
    errors.MergeConflict("key", "a", "b"),
    errors.MissingKey("key", ["other"]),
    errors.MissingSecret("key", ["other"]),
    errors.MaskedError("ValueError", "ValueError: ***"),
    errors.RunnerRequired("work", "wait"),
    errors.WaitExpired("wait", datetime(2026, 1, 1, tzinfo=UTC)),
    errors.EffectNotDone("no"),
    errors.EffectUnderWay("key", "path"),
    errors.OutcomeUnknown("key", "path"),
    errors.StepResultError("step", 7),
    errors.StepTimeout("step", 0.5),
    errors.StepCancelled("step"),
    errors.ChainError("chain", "step", CAUSE, index=1, state=STATE),
    errors.FoldError("fold", 2, CAUSE, item={"a": 1}, state=STATE),
    errors.ParallelError(
        "fan", "why", failures=[ItemFailure(0, CAUSE)], accounts=ItemAccounts(failed=(0,)), state=STATE
    ),
    errors.BranchError("branch", CAUSE, state=STATE),
    errors.ConditionalError("choice", "route", CAUSE, state=STATE),
    errors.GraphError("graph", "node", "why", path=["node"], state=STATE),
    errors.NotAwaited("step 'step'", "key", "fetch"),
    errors.StateChanged("step", ["field"]),
    errors.UnknownField("step", "field", "Model", ["known"]),
    errors.UncleanStep("step", "left a scope open"),
    errors.RunFailed("r1", "why"),
    errors.RunForgotten("r1", "completed", datetime(2026, 1, 2, tzinfo=UTC), is_same=False),
    errors.RunCancelled("r1"),
    errors.RunParked("r1", ["r1/wait"]),
    errors.RunDead("r1", 5),
    errors.ChildElsewhere("r1"),
    errors.ChildFailed("r1.key", "work", "why"),
    errors.UnknownSignal("r1", "signal", ["other"]),
    errors.ForkRefused("r1", "no step 'pay' has completed in it"),
    errors.EffectsAgain("r1", [(f"pay#{number}", "charge") for number in range(7)]),
    errors.EffectsAgain("r1", [("r1.kid/pay", "charge")], below=True),
    errors.RunConflict("r1", "input"),
    errors.CursorRefused("r1", "cursor", "why"),
    errors.RunnerStopped("r1"),
    errors.RunNotHeld("r1"),
    errors.RunLeftOpen("r1", "why"),
    errors.IncompatibleCheckpoint("r1", "work", "why", place="step"),
    errors.UnknownWorkflow("r1", "work", 1),
]
INNER = {errors.WorkflowError, errors.EffectError, errors.PatternError, errors.RunError}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying_with_their_facts(error: errors.WorkflowError) -> None:
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):  # noqa: S301  # our own bytes
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert repr(vars(twin)) == repr(vars(error))


def test_every_error_has_an_example() -> None:
    named = dict(inspect.getmembers(errors, inspect.isclass))
    classes = {named[name] for name in errors.__all__}
    assert {cls for cls in classes if issubclass(cls, Exception)} - INNER == {type(error) for error in EXAMPLES}


class Page(BaseModel):
    number: int


async def test_the_error_of_a_run_goes_to_another_process_with_the_state_so_far() -> None:
    make = step("make", lambda _: {"page": Page(number=7), "list": [1, {"a": 2}]})
    fail = step("fail", lambda _: 1 / 0)
    with pytest.raises(ChainError) as caught:
        await Chain("work", [make, fail], types={"page": Page}).run()
    twin: ChainError = pickle.loads(pickle.dumps(caught.value))  # noqa: S301  # our own bytes
    assert (twin.step, twin.index, twin.name) == ("fail", 1, "work")
    assert dict(twin.state) == {"page": {"number": 7}, "list": [1, {"a": 2}]}  # types are not known everywhere
    assert caught.value.state["page"] == Page(number=7)
