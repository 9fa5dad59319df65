"""Origins of pages, as browsers name them."""

from urllib.parse import urlsplit


def checked_origin(origin: str) -> str:
    """An origin that a browser may send.

    Raises:
        ValueError: It is none, such as one with a path, or ``*``.
    """
    parts = urlsplit(origin)
    is_one = parts.scheme in ("http", "https") and parts.hostname and origin == f"{parts.scheme}://{parts.netloc}"
    if not is_one or "*" in origin or "@" in origin:
        raise ValueError(f"origins={origin!r}: give scheme and host, such as https://app.example.com, without a path")
    return origin
