"""What anybody may do with the runs of a service: one set of verbs for HTTP, pages and the command line.

They know no HTTP. Each takes who asks, and is refused to those whose key does not allow it.
"""
