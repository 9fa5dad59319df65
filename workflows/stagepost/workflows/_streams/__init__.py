"""The stream of a plain workflow's run: what has become of it and becomes of it, part by part.

`_parts` are what a reader gets, `_cursor` says how far a reader has got, `_telling` decides which parts a snapshot has
for whoever knows an earlier one, and `_stream` listens, reads and hands them out.
"""
