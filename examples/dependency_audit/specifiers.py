"""Whether a `Requires-Python` specifier lets a Python in, for releases only."""

import re

Release = tuple[int, ...]

_CLAUSE = re.compile(r"(~=|==|!=|<=|>=|<|>)\s*v?(\d{1,9}(?:\.\d{1,9})*)(\.\*)?")


def excludes(specifier: str, python: str) -> bool:
    """Tell whether any clause of a specifier rules a Python version out.

    The rules are those of the version specifier standard (PEP 440) for plain releases. A clause in any other
    form (`===`, pre-releases, nonsense) rules nothing out, because a false alarm is worse here than silence.

    Args:
        specifier: Clauses with commas between them: `>=3.8,!=3.9.*`.
        python: A version such as `3.13.1`; what follows the numbers is ignored.
    """
    found = re.match(r"\d{1,9}(?:\.\d{1,9})*", python)
    if found is None:
        return False
    release = _release(found[0])
    return any(_rules_out(clause.strip(), release) for clause in specifier.split(","))


def _release(text: str) -> Release:
    return tuple(int(part) for part in text.split("."))


def _rules_out(clause: str, release: Release) -> bool:
    found = _CLAUSE.fullmatch(clause)
    if found is None:
        return False
    operator, bound, wildcard = found[1], _release(found[2]), found[3] is not None
    if wildcard:
        return _outside_series(operator, bound, release)
    if operator == "~=":
        return len(bound) > 1 and (_order(release, bound) < 0 or _outside_series("==", bound[:-1], release))
    return not _holds(operator, _order(release, bound))


def _outside_series(operator: str, series: Release, release: Release) -> bool:
    inside = _padded(release, len(series))[: len(series)] == series
    return {"==": not inside, "!=": inside}.get(operator, False)


def _order(left: Release, right: Release) -> int:
    """Compare as versions do: `3.8` equals `3.8.0`."""
    width = max(len(left), len(right))
    first, second = _padded(left, width), _padded(right, width)
    return (first > second) - (first < second)


def _padded(release: Release, width: int) -> Release:
    return release + (0,) * (width - len(release))


def _holds(operator: str, order: int) -> bool:
    return {
        "==": order == 0,
        "!=": order != 0,
        "<": order < 0,
        "<=": order <= 0,
        ">": order > 0,
        ">=": order >= 0,
    }[operator]
