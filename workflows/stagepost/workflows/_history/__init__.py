"""What has happened to a run, as somebody reads it."""
