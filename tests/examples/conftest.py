import sys
from pathlib import Path

import pytest

EXAMPLES = str(Path(__file__).parents[2] / "examples")
if EXAMPLES not in sys.path:
    sys.path.insert(0, EXAMPLES)

from tests.examples.audit_environment import Site  # noqa: E402  # it imports from the examples


@pytest.fixture
def site(tmp_path: Path) -> Site:
    folder = tmp_path / "lib" / "python3" / "site-packages"
    folder.mkdir(parents=True)
    return Site(folder)


@pytest.fixture(autouse=True)
def _nobodys_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs the tests may have named a model: it is not to be asked."""
    monkeypatch.delenv("STAGEPOST_MODEL", raising=False)
