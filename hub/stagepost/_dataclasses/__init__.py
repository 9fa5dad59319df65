"""The standard library's `dataclass`, whose methods are compiled when they are first needed.

The standard one compiles up to eight methods for each class, which takes most of a millisecond: half of an import of
all layers, most of it for classes that a process never uses. This one is the same to its users and to type checkers.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    from ._later import dataclass

__all__ = ["dataclass"]
