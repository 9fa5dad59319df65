"""The rule for ids and names, which makes them valid in NATS subjects and in paths."""

import re

from .errors import InvalidName

_is_name = re.compile("[A-Za-z0-9_-]{1,100}").fullmatch


def check_name(kind: str, name: object) -> str:
    """Return the name if it is 1 to 100 of the characters ``A-Z a-z 0-9 _ -``.

    Args:
        kind: What the name is for, as it should stand in the error, e.g. ``"agent id"`` or ``"step name"``.
        name: The name.

    Raises:
        InvalidName: It is not.
    """
    if not isinstance(name, str) or _is_name(name) is None:
        raise InvalidName(kind, name)
    return name


def check_group(group: object) -> str | None:
    """Return the name of a group, or None for none.

    Raises:
        InvalidName: It is not a name.
    """
    return None if group is None else check_name("group", group)
