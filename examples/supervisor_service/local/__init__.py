"""A model that needs no network: it understands questions about the example's subjects by simple rules."""

from .model import LocalModel

__all__ = ["LocalModel"]
