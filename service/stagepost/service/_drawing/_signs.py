"""The sign of each mark, so that colour is not all that tells them apart: 12 by 12 units, in lines."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from markupsafe import Markup

from ._marks import Mark
from ._svg import at, element

_SIGNS: Final[Mapping[Mark, str]] = MappingProxyType(
    {
        Mark.AHEAD: "M6 2a4 4 0 1 0 0 8a4 4 0 1 0 0-8Z",
        Mark.DONE: "M2 6.5L5 9.5L10.5 3",
        Mark.RETRIED: "M10 6a4 4 0 1 1-1.6-3.2M10.4 0.6V3.4H7.6",
        Mark.CANCELLED: "M2 6H10",
        Mark.RUNNING: "M3.5 2L10 6L3.5 10Z",
        Mark.WAITING: "M4 2.5V9.5M8 2.5V9.5",
        Mark.FAILED: "M2.5 2.5L9.5 9.5M9.5 2.5L2.5 9.5",
    }
)


def sign(mark: Mark, x: float, y: float) -> Markup:
    """The sign of a mark, with its upper left corner there."""
    return element("path", class_="d-sign", d=_SIGNS[mark], transform=at(x, y))
