"""Values that a step keeps for when it runs again."""

from typing import Any

from pydantic_core import from_json

from stagepost.checkpoint import PLAIN, Effect, EffectStatus

from .._execution._execution import Execution
from .._execution._ledger import Ledger


async def note(execution: Execution, place: str, path: str, key: str, value: object) -> None:
    """See `StepContext.note`."""
    where = f"what {path!r} notes under {key!r}"
    execution.secrets.check_text(key, f"a key of {path}")
    data = PLAIN.dump(value, where)
    execution.secrets.check(data, where)
    await execution.ledger.note(Effect(place, key, EffectStatus.DONE, data, is_note=True))


def noted(ledger: Ledger, place: str, key: str) -> Any:
    """See `StepContext.noted`."""
    known = ledger.effect(place, key)
    return None if known is None or known.value is None else from_json(known.value)
