"""What was done."""

from datetime import datetime

from ._output import Output


class Done(Output):
    """What was done (`runs answer`, `signal`, `settle`, `cancel`, `delete`, `schedules …`)."""

    action: str
    """What: ``answered``, ``signalled``, ``settled``, ``cancelled``, ``cancel_requested``, ``deleted`` …"""
    id: str
    """Of what: a run, a wait, a schedule."""
    owner: str | None
    """The process that hears of it now; null if nobody owns the file, so that the next owner does."""
    is_new: bool = True
    """False of a signal that was sent before."""
    next_due: datetime | None = None
    """Of a schedule that was resumed: the time that its next run is for."""
    checked: bool = True
    """Whether a value was checked against the workflow. If not, the owner drops what does not fit, and ``runs waits``
    says why."""
