"""Keys of the service, as they are made."""

from ._output import Output


class KeyMade(Output):
    """A key that was made (`keys new`)."""

    name: str
    """Who has it."""
    scopes: list[str]
    """What it may do."""
    secret: str
    """What is sent with requests. It is stored nowhere."""
    line: str
    """What the service is given."""
