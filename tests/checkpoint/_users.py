"""Acting as a user without rights, also when the tests run as root."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    if os.geteuid() != 0:  # an ordinary user has no such right
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
