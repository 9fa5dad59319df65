"""``keys``: making keys of the service."""

from collections.abc import Iterable, Sequence
from functools import partial

from rich.text import Text

from .._keys._key import new_key
from .._wire._keys import KeyMade
from ._exits import Exit
from ._screen import Screen
from ._styles import plain


async def made(name: str, scopes: Sequence[str], screen: Screen) -> Exit:
    """Make a key, and show its secret this once."""
    secret, key = new_key(name, scopes)
    found = KeyMade(name=key.name, scopes=sorted(key.scopes), secret=secret, line=str(key))
    screen.show(found, partial(_lines, found))
    screen.hint(
        "The secret is shown this once. It is sent as X-API-Key; the service is given the line, with --keys FILE."
    )
    return Exit.OK


def _lines(found: KeyMade, _screen: Screen) -> Iterable[Text]:
    yield plain(f"secret  {found.secret}")
    yield plain(f"line    {found.line}")
