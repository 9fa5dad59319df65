import math
from datetime import timedelta

import pytest

from stagepost.hub import Duration, seconds
from stagepost.hub._limits import count


@pytest.mark.parametrize(
    ("duration", "expected"),
    [(2, 2.0), (0.5, 0.5), (timedelta(minutes=1), 60.0), (None, math.inf), (0, 0.0), (math.inf, math.inf)],
    ids=["int", "float", "timedelta", "no limit", "zero", "infinity"],
)
def test_durations_become_seconds(duration: Duration | None, expected: float) -> None:
    assert seconds(duration) == expected


@pytest.mark.parametrize("duration", [-1, math.nan, timedelta(seconds=-1)], ids=["negative", "nan", "timedelta"])
def test_what_is_no_duration_is_refused(duration: Duration) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        seconds(duration)


def test_counts_start_at_one_and_none_is_no_limit() -> None:
    assert count("mailbox", 1) == 1
    assert count("mailbox", None) == math.inf
    with pytest.raises(ValueError, match="mailbox is 0: use a number from 1 up, or None"):
        count("mailbox", 0)
