"""What operators use: the command ``stagepost``. Importing this package imports nothing else."""
