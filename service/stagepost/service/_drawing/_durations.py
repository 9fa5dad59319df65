"""Lengths of time in words, as short as one wants to read them."""

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"), (1.0, "s"))
_EXACT = 10.0  # seconds below which tenths count


def duration(seconds: float) -> str:
    """A length of time in its two largest units: ``3 d 4 h``, ``1 min 5 s``, ``2.5 s``, ``40 ms``."""
    if seconds <= 0:
        return "0 s"
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < _EXACT:
        return f"{seconds:.1f} s".replace(".0 ", " ")
    rest = round(seconds)
    for place, (size, unit) in enumerate(_UNITS):
        if rest >= size:
            whole, rest = int(rest // size), int(rest % size)
            below = _UNITS[place + 1 :][:1]
            more = [f"{int(rest // each)} {name}" for each, name in below if rest >= each]
            return " ".join([f"{whole:,} {unit}", *more])
    return f"{rest} s"
