"""The rules of providers as docs/providers.md shows them.

``python -m tests.agents.providers._docs openai-chat`` prints them.
"""

import sys

from tests.agents.providers._all import PROVIDERS
from tests.agents.providers._rules import Provider, sentence, source

_HEAD = "| rule | source |\n|---|---|"


def table(provider: Provider) -> str:
    """The table of a provider's rules, in the order in which they are checked."""
    return "\n".join([_HEAD, *(f"| {_cell(sentence(rule))} | {_cell(source(rule))} |" for rule in provider.rules)])


def _cell(text: str) -> str:
    return text.removesuffix(".").replace("|", "\\|").replace("``", "`")


if __name__ == "__main__":
    wanted = set(sys.argv[1:])
    for each in PROVIDERS:
        if not wanted or each.name in wanted:
            sys.stdout.write(f"## {each.title}\n\n{table(each)}\n\n")
