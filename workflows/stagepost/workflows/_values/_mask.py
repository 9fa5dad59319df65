r"""Finds texts that nobody may keep, however they are written, and puts stars in their place.

What is searched is brought into one form: escapes of JSON, Python, URLs and HTML are read, again and again until
nothing changes, since a text may have been encoded several times. Each round

- reads ``\u00fc``, ``\xfc``, ``\xc3\xbc``, ``%FC``, ``%C3%BC``, ``&uuml;`` and ``&#252;`` as
  the character that they mean,
- drops all other backslashes, and writes line ends and tabs as the letters of their escapes: so ``\n``, ``\\n`` and
  a line end are the same, whatever stands before them,
- writes ``+`` as a space, as forms in URLs do.

The secrets are read in the same way, and looked for in the text as it is and after each round.
"""

from collections.abc import Iterable
from itertools import chain
from typing import Final

from ._forms import Forms
from ._mask_stream import MaskStream
from ._starred import starred
from ._unescaping import fold, stages


class Mask:
    """Knows texts that nobody may keep where it sees them, and puts three stars in their place.

    They are found as they are, and as JSON, Python, URLs and HTML write them, also several times over; with other line
    ends and indentation, or none. Of a text of several lines, lines that look like a key are found by themselves.
    Texts of less than 6 characters are not looked for: they would be found everywhere. What was encoded otherwise
    (base64, a hash), split or changed is not found.

    Args:
        secrets: The texts; or names and texts.
    """

    __slots__ = ("_forms",)

    def __init__(self, secrets: Iterable[str | tuple[str, str]] = ()) -> None:
        forms = Forms(("", each) if isinstance(each, str) else each for each in secrets)
        self._forms: Final = forms or None

    def __bool__(self) -> bool:
        """Whether it looks for anything."""
        return self._forms is not None

    def find(self, text: str) -> str | None:
        """The name of a secret that a text holds, if it holds one."""
        forms = self._forms
        if forms is None or not forms.may_be_in(text):
            return None
        found = (form.name for form in forms.raw if form.is_in(text))
        later = (form.name for stage in stages(text) for form in forms.read if form.is_in(stage))
        return next(chain(found, later), None)

    def __call__(self, text: str) -> str:
        """The text with three stars for each secret in it, and for each piece of one of 12 characters or more."""
        forms = self._forms
        if forms is None or (not forms.may_be_in(text) and next(forms.pieces(fold(text)), None) is None):
            return text
        return starred(text, sorted(forms.places(text)))

    def stream(self) -> MaskStream:
        """Masks a text that comes in pieces, such as an answer under way."""
        return MaskStream(self._forms)
