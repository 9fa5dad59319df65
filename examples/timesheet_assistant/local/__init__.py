"""Models that need no network: each follows simple rules for its part."""

from .model import LocalModel
from .parts import local_models

__all__ = ["LocalModel", "local_models"]
