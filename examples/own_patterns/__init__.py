"""Patterns of one's own: a race, a loop and a switch, made with ``stagepost.workflows.patterns``.

``python -m own_patterns`` has a parcel sent by the carrier that answers first and asks for it until it has arrived. The
process that does it is killed with SIGKILL on the way; another one goes on where it was.
"""

from .patterns import Race, Repeat, RepeatError, Switch

__all__ = ["Race", "Repeat", "RepeatError", "Switch"]
