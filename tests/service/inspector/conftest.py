"""What these tests need."""

import pytest
from tests._needs import need

need("starlette", "httpx", "sse_starlette", "limits", "jinja2")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
