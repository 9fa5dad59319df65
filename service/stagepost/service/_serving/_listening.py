"""The socket that a service listens on."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import CannotListen


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket that listens; it is closed at the end.

    Raises:
        CannotListen: The port is in use, or the host is none of this machine's.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.create_server(address[:2], family=family, backlog=2048)
    except OSError as error:
        raise CannotListen(host, port, error.strerror or str(error)) from error
    with bound:
        yield bound


def address_of(bound: socket.socket) -> str:
    """The address of a service, for people and browsers."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
