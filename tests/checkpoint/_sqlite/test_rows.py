from datetime import UTC

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stagepost.checkpoint import RunNotFound
from stagepost.checkpoint._sqlite._rows import to_micros, to_snapshot, to_time


@settings(deadline=None)
@given(st.integers(0, 2**32 * 1_000_000))
def test_times_come_back_to_the_microsecond_until_2106(micros: int) -> None:
    time = to_time(micros)
    assert (to_micros(time.timestamp()), time.tzinfo) == (micros, UTC)


def test_no_rows_are_no_run() -> None:
    with pytest.raises(RunNotFound, match="'run'"):
        to_snapshot("run", [])
