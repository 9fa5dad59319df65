"""The gate before a deploy: what becomes of each open run with this code."""

from .._wire._store import CheckFinding, CheckFound
from ._asking import Ask
from ._shown import Shown


async def check(ask: Ask) -> Shown:
    """How many runs are open; once it is asked for, what this code would do with each."""
    counts = (await ask.sight.count(ask.caller, {})).counts
    found: CheckFound | None = None
    notable: list[CheckFinding] = []
    if ask.given("go"):
        found = await ask.sight.check(ask.caller)
        notable = [each for each in found.findings if each.verdict != "goes_on" or each.notes]
    values = {
        "open": counts.get("running", 0) + counts.get("waiting", 0),
        "found": found,
        "notable": notable,
    }
    return Shown("check", "Deploy check", values, section="check")
