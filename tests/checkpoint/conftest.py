import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """SQLite is asyncio's; modules about memory alone override this."""
    return "asyncio"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody can enter."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))  # pytest's folders are closed to other users
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)
