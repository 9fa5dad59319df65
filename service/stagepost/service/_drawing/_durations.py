"""Lengths of time in words, as short as one wants to read them."""

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_LEAST = 0.0005
_EXACT = 10.0  # seconds below which tenths count


def duration(seconds: float) -> str:
    """A length of time in its two largest units: ``3 d 4 h``, ``1 min 5 s``, ``2.5 s``, ``40 ms``."""
    if seconds <= 0:
        return "0 s"
    if seconds < _LEAST:
        return "<1 ms"
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < _EXACT:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    whole = round(seconds)
    place = next(place for place, (size, _) in enumerate(_UNITS) if whole >= size)
    found: list[str] = []
    for size, unit in _UNITS[place : place + 2]:
        count, whole = divmod(whole, int(size))
        if count:
            found.append(f"{count:,} {unit}")
    return " ".join(found)
