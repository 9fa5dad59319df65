import sqlite3
from pathlib import Path

import pytest

from stagepost.checkpoint import SqliteStore, StoreError, StoreNotReadable, StoreNotWritable
from stagepost.checkpoint._sqlite import _connect, _inbox_store


@pytest.mark.parametrize(
    ("error", "kind"),
    [(OSError(5, "Input/output error"), StoreNotWritable), (sqlite3.OperationalError("disk I/O error"), StoreError)],
    ids=["system", "sqlite"],
)
async def test_a_file_that_cannot_be_opened_is_a_store_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, kind: type[StoreError]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(_connect, "open_known", fail)
    with pytest.raises(kind):
        async with SqliteStore(tmp_path / "runs.db"):
            pass


@pytest.mark.parametrize("where", ["open_known", "_set_up"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (OSError(5, "Input/output error"), StoreNotReadable),
        (sqlite3.OperationalError("disk I/O error"), StoreError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
    ids=["system", "sqlite", "neither"],
)
async def test_an_inbox_that_cannot_be_opened_is_a_store_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException, kind: type[BaseException]
) -> None:
    def fail(*_: object) -> None:
        raise error

    async with SqliteStore(tmp_path / "runs.db"):
        monkeypatch.setattr(_inbox_store, where, fail)
        with pytest.raises(kind):
            async with SqliteStore.inbox(tmp_path / "runs.db"):
                pass
