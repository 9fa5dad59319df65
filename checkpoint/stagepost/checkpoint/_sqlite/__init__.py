"""Runs in one SQLite file, as plain functions over a connection with a thin shell around them.

What is asked and changed: `_schema`, `_queries`, `_rows`, `_times`; `_row`, `_changes`, `_creating`, `_statements`,
`_waits`, `_history`, `_retention`, `_keys`, `_migrating`; `_fence` and `_generation` say who may, `_files` and
`_main_file` whether the file is still the one that was opened. How it gets there: `_batch`
groups requests into transactions, `_together` makes one statement of them, `_intake` says which, `_writer` owns the
writing thread, `_lock` the file between processes, `_reader` reads. `_reading` and `_runs` are the store's protocol
over both, `_store` puts them together on asyncio.
"""
