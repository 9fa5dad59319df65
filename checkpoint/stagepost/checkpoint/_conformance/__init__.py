"""The checks behind `stagepost.checkpoint.testing`, by subject."""
