"""What serving over HTTP adds: ``python -m benchmarks.service``."""
