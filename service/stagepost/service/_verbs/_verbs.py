"""All verbs."""

from ._administering import Administering
from ._conversing import Conversing
from ._deciding import Deciding
from ._inspecting import Inspecting
from ._operating import Operating
from ._running import Running
from ._watching import Watching


class Verbs(Inspecting, Watching, Running, Conversing, Deciding, Administering, Operating):
    """What anybody may do with the runs of a runner.

    ::

        verbs = Verbs(runner)
        await verbs.start(caller, StartRun(workflow="weather", request="Oslo?"), key="order-7")
        await verbs.answer(caller, "mail-1/send", True)

    Each verb takes who asks, and raises `ScopeRequired` if that key does not allow it. What they return are the models
    that HTTP and ``stagepost --json`` give out.

    Args:
        runner: Where the runs are; it is entered.
        tasks: The runs of its agents; by default made of the runner.
    """
