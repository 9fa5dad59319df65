"""The parts of an agent: prompt, budget, approvals, hooks, requests."""
