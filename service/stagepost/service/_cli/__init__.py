"""The command ``stagepost``: what operators do with runs, stores and agents, without writing Python."""
