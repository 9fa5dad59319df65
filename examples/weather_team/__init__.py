"""A lead that asks weather agents, follows up with them, and sends a report once somebody has approved it."""
