"""The certificates by which servers are known."""

import os
from functools import lru_cache
from ssl import SSLContext

import httpx2


def known_certificates() -> SSLContext:
    """Those of the system, or that variables name. They are read once: it takes tens of milliseconds of the loop."""
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=4)
def _read(_file: str | None, _folder: str | None) -> SSLContext:
    return httpx2.create_ssl_context()
