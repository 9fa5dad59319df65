"""What a model has to answer with, and schemas that every provider takes."""
