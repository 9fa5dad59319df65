"""One agent bridges two hubs: what is published on one is published on the other, and never comes back.

Run it: ``python examples/two_hubs.py``.
"""

from collections.abc import Iterable

import anyio

from stagepost.hub import Context, Hub, Message

PASSED = "passed-by"


class Bridge:
    """Passes publications between the hubs that it is registered on, under the same id.

    A header tells which hubs a message has seen: it is passed to each of them once, also if bridges form a circle.
    """

    def __init__(self, hubs: Iterable[Hub], topic: str) -> None:
        self._hubs = tuple(hubs)
        for hub in self._hubs:
            hub.register("bridge", self.carry, topics=[topic])

    async def carry(self, message: Message[object], context: Context) -> None:
        """Publish on the other hubs what came over one."""
        if message.topic is None:  # a broadcast
            return
        seen = {*message.headers.get(PASSED, "").split(), context.hub.name}
        targets = [hub for hub in self._hubs if hub.name not in seen]
        headers = {**message.headers, PASSED: " ".join(sorted(seen | {hub.name for hub in targets}))}
        for hub in targets:
            await hub.publish(message.topic, message.data, sender="bridge", headers=headers, trace=message.trace)


async def main() -> None:
    """Two offices hear of each other's orders."""

    async def note(order: str, context: Context) -> None:
        print(f"{context.hub.name} heard of {order}")

    async with Hub("berlin") as berlin, Hub("lisbon") as lisbon:
        for hub in (berlin, lisbon):
            hub.register("note", note, topics=["orders.>"])
        Bridge([berlin, lisbon], "orders.>")
        await berlin.publish("orders.1", "three chairs")
        await anyio.wait_all_tasks_blocked()
        await lisbon.publish("orders.2", "one table")


if __name__ == "__main__":
    anyio.run(main)
