"""Runs in one SQLite file: schema, statements, the single writer, the lock file, the store.

`_schema`, `_statements`, `_waits` and `_rows` are plain functions over a connection; `_reading` and `_runs` put the
protocol on top of them, for whatever has a connection; `_batch` groups requests into transactions; `_writer` owns the
writing thread; `_lock` owns the file between processes; `_store` puts them together on asyncio.
"""
