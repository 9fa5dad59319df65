"""What a test says once, and is done in each life of a process."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVar

from stagepost.checkpoint import CheckpointStore
from stagepost.workflows import Runner

T = TypeVar("T")

MakeRunner: TypeAlias = Callable[[CheckpointStore], Runner]
"""Makes the runner of a life, which is not entered yet."""

Drive: TypeAlias = Callable[[Runner], Awaitable[T]]
"""Starts what is tested, answers what it asks, and returns what it ends with; the same in each life."""
