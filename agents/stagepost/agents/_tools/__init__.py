"""Tools: functions that a model may call, how they are described to it, and how calls are checked and made."""
