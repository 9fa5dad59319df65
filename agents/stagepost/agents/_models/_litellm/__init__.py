"""The adapter to litellm, which is imported in one module of it, lazily."""

from ._adapter import LiteLLM

__all__ = ["LiteLLM"]
