import math
from dataclasses import replace
from pathlib import Path

import pytest

from stagepost.checkpoint import BlobTooLarge, CannotStore, Limits, MemoryStore, SqliteStore, ValueTooLarge

MB = 1024 * 1024


@pytest.mark.parametrize(
    ("limits", "size", "told"),
    [
        (Limits(), 256 * 1024, False),
        (Limits(), 256 * 1024 + 1, True),
        (Limits(), 4 * MB, True),
        (Limits(None, None), 100 * MB, False),
        (Limits(None), 100 * MB, True),
        (Limits(10, 20), 10, False),
    ],
)
def test_what_is_large_is_told(limits: Limits, size: int, told: bool) -> None:  # noqa: FBT001  # a table
    assert limits.check(size, "x") is told
    assert limits.mind(size) is (size > limits.least) is told


def test_what_is_refused_but_not_told_is_minded() -> None:
    assert (Limits(5, 10).least, Limits(5, None).least, Limits(None, None).least) == (5, 5, math.inf)
    assert replace(Limits(), warn=3).least == 3
    assert Limits() == Limits()
    assert repr(Limits(1, 2, 3)) == "Limits(refuse=1, warn=2, blob=3)"


def test_what_is_too_large_is_refused_with_its_name_and_size() -> None:
    with pytest.raises(ValueTooLarge, match="blob of 'load' cannot be stored: it has 4,194,305 bytes") as caught:
        Limits().check(4 * MB + 1, "blob of 'load'")
    assert (caught.value.where, caught.value.size, caught.value.largest) == ("blob of 'load'", 4 * MB + 1, 4 * MB)
    assert isinstance(caught.value, CannotStore)


def test_limits_are_set_on_the_store() -> None:
    assert MemoryStore().limits == SqliteStore("runs.db").limits == Limits()
    assert MemoryStore(max_value=10, warn_value=None).limits == Limits(10, None)
    assert SqliteStore(Path("runs.db"), max_value=None, warn_value=5).limits == Limits(None, 5)


def test_bytes_beside_the_json_have_a_limit_of_their_own() -> None:
    assert Limits().blob == 20 * MB
    Limits().check_blob(20 * MB, "x")
    Limits(blob=None).check_blob(1000 * MB, "x")
    with pytest.raises(
        BlobTooLarge, match="the picture cannot be stored: it has 11 bytes, and the store takes 10"
    ) as caught:
        MemoryStore(max_blob=10).limits.check_blob(11, "the picture")
    assert (caught.value.size, caught.value.largest) == (11, 10)
    assert SqliteStore("runs.db", max_blob=None).limits.blob is None
