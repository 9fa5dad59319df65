"""What goes out and comes in as JSON, over HTTP and on the command line: one set of pydantic models."""
