from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """SQLite is asyncio's; modules about memory alone override this."""
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"
