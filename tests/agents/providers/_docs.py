"""The tables of docs/providers.md: ``python -m tests.agents.providers._docs`` writes them there."""

import re
from pathlib import Path
from typing import Final

from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._rules import Provider, Rule, sentence, source

DOCS: Final = Path(__file__).parents[3] / "docs" / "providers.md"

_HEAD: Final = "| rule | source |\n|---|---|"
_LINK: Final = re.compile(r"https://[^\s,;()]+[^\s,;().]")


def table(provider: Provider) -> str:
    """The table of a provider's rules, in the order in which they are checked."""
    return "\n".join([_HEAD, *map(_row, provider.rules)])


def section(text: str, provider: Provider) -> str | None:
    """What stands in the docs below a provider's heading; None if there is no such heading."""
    _, found, rest = text.partition(f"\n## {provider.title}\n")
    return rest.partition("\n## ")[0] if found else None


def written(text: str, provider: Provider) -> str:
    """The docs with a provider's table as it is now."""
    old = section(text, provider)
    if old is None:
        return f"{text.rstrip()}\n\n## {provider.title}\n\n{table(provider)}\n"
    start = old.find(_HEAD)
    stale = re.match(r"(\|.*\n?)*", old[start:]) if start >= 0 else None
    new = f"{old}\n{table(provider)}\n" if stale is None else old.replace(stale[0], f"{table(provider)}\n")
    return text.replace(old, new)


def _row(rule: Rule) -> str:
    said = sentence(rule).removesuffix(".").replace("|", "\\|").replace("``", "`")
    return f"| {said} | {_LINK.sub(lambda link: f'<{link[0]}>', source(rule)).removesuffix('.')} |"


if __name__ == "__main__":
    content = DOCS.read_text(encoding="utf-8")
    for each in PROVIDERS:
        content = written(content, each)
    DOCS.write_text(content, encoding="utf-8")
