"""Suggestions for unknown names, found without reading all names."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Final

_READ: Final = 64
_LONGEST: Final = 100
_ENDS: Final = 3


def similar_names(name: object, names: Collection[str], limit: int) -> tuple[str, ...]:
    """Up to `limit` of the names, similar ones first.

    A name that differs in case, by ``-`` for ``_``, by one extra letter or by two swapped letters is found among any
    number of names, since each of these forms is looked up. Of the others only the first 64 are read, so that the time
    does not grow with their number.
    """
    known = sorted(islice(names, _READ))
    if not isinstance(name, str) or len(name) > _LONGEST:
        return tuple(known[:limit])
    found = dict.fromkeys(form for form in _forms(name) if form in names)
    head, tail = name[:_ENDS], name[-_ENDS:]
    known.sort(key=lambda other: not other.startswith(head) and not other.endswith(tail))
    found.update(dict.fromkeys(known))
    return tuple(islice(found, limit))


def _forms(name: str) -> Iterator[str]:
    """Forms of the name that may have been meant."""
    for form in (name, name.strip(), name.replace("-", "_"), name.replace("_", "-")):
        yield from (form, form.lower(), form.upper(), form.capitalize())
    for place in range(len(name)):
        head, tail = name[:place], name[place:]
        yield head + tail[1:]
        yield head + tail[1:2] + tail[:1] + tail[2:]
