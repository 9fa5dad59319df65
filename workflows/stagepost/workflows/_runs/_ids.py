"""Ids of runs."""

import secrets
import time


def new_run_id() -> str:
    """An id that sorts by the time it was made: milliseconds since 1970 and 40 random bits, in hexadecimal."""
    return f"{time.time_ns() // 1_000_000:012x}-{secrets.token_hex(5)}"
