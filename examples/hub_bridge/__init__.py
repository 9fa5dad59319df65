"""One agent on two hubs that carries publications from each to the other, and never in circles."""

from .bridge import HOPS, Bridge

__all__ = ["HOPS", "Bridge"]
