"""What every provider of traces promises, as coroutine functions that raise `AssertionError`."""
