"""A supervisor with workers for the weather, for stocks, for questions about stagepost, and a desk, to chat with.

``make serve`` starts it, or ``python -m supervisor_service``: open the address that it prints. It works without a
network, on a model of its own; ``STAGEPOST_MODEL=openai/gpt-5-mini`` asks a provider's. Kill it while a worker works,
and start it again: the page goes on where it was. The same without a page::

    curl -N localhost:8000/chat --json '{"session_id": "3f2b8c1e-0d4a-4c57-9d0b-6a8f1e2d3c4b", "message": "hello"}'
"""

from .app import Options, chat_app

__all__ = ["Options", "chat_app"]
