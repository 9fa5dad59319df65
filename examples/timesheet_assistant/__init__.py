"""A timesheet assistant over SMS, WhatsApp, mail and Teams: its answers are checked before they go out."""
