"""Every Python snippet of the README and the docs is run as a reader would run it: copied into an empty folder."""

import re
from pathlib import Path

import pytest
from tests._forks import Forks

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
PLUGINS = {"PYTEST_ADDOPTS": "-p no:asyncio"}  # as the project's own tests; without settings it warns
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in SNIPPET.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found.append((f"{page.name}:{line}", match.group(1)))
    return found


def promised_output(code: str) -> list[str]:
    """What comments behind calls of ``print`` promise, and those that begin with ``prints:``."""
    return re.findall(r"(?:^\s*print\(.*\)  # |  # prints: )(.+)$", code, re.MULTILINE)


@pytest.mark.parametrize(("place", "code"), snippets(), ids=[place for place, _ in snippets()])
def test_a_snippet_runs_and_prints_what_it_says(
    place: str, code: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "snippet.py").write_text(code)
    forks: Forks = request.getfixturevalue("litellm_forks" if "LiteLLM" in code else "forks")
    done = forks.run("snippet.py", cwd=tmp_path, environment=PLUGINS)
    assert done.returncode == 0, f"{place}\n{done.stderr}"
    for text in promised_output(code):
        assert text in done.stdout, f"{place} promises {text!r} and printed\n{done.stdout}"


def test_the_first_example_of_the_readme_is_short() -> None:
    first = SNIPPET.search(PAGES[0].read_text())
    assert first is not None
    code = [line for line in first.group(1).splitlines() if line.strip()]
    assert len([line for line in code if not line.startswith(("import", "from"))]) <= 15
