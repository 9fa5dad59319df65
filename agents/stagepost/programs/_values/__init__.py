"""The values of programs: None, booleans, numbers, texts, keywords, lists, dictionaries, sets, functions, dates.

Lists, dictionaries and sets are Python's own, and are never changed once a program has seen them. What they are not fit
for stands in `_key`: keys of dictionaries and members of sets that Python cannot hash, or takes for others.
"""
