"""Values as others may see them: without secrets."""

from collections.abc import Callable


def shown(value: object, mask: Callable[[str], str]) -> object:
    """A copy of a plain value with masked texts; any other value as it is.

    Args:
        value: Of plain values those in it are copied, too.
        mask: Puts stars where a text shows a secret.
    """
    match value:
        case str():
            return mask(value)
        case list() | tuple():
            return type(value)([shown(each, mask) for each in value]) if type(value) in (list, tuple) else value
        case dict():
            return {shown(key, mask): shown(each, mask) for key, each in value.items()}
        case _:
            return value
