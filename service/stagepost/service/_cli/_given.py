"""Values as they are given on the command line."""

import json
import sys
from typing import Any, Final

from stagepost._dataclasses import dataclass

from ._errors import UsageError

_STDIN: Final = "-"
_SHORT: Final = 40  # characters that are repeated in an error


@dataclass(frozen=True, slots=True)
class Given:
    """A value as it was given on the command line.

    Attributes:
        text: JSON, or a text; ``-`` stands for standard input, None for no value.
        is_text: Whether it is a text.
    """

    text: str | None
    is_text: bool = False

    def read(self) -> Any:
        """The value.

        Raises:
            UsageError: It is no JSON.
        """
        if self.text is None:
            return None
        given = sys.stdin.read() if self.text == _STDIN else self.text
        if self.is_text:
            return given
        try:
            return json.loads(given)
        except ValueError as error:
            quoted = json.dumps(given if len(given) < _SHORT else "some text", ensure_ascii=False)
            raise UsageError(f"the value is no JSON ({error}): for a text give '{quoted}', or add --text") from error
