"""What the service costs as a process: its start, open streams, and its end: ``python -m benchmarks.service``."""
