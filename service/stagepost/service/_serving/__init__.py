"""Serving an application by uvicorn: its settings, its connections, and its end."""
