"""Schedules as pure values: which times they name, and what is done about those that have come."""
