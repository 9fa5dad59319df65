"""The words of many files, counted by map and reduce, killed with SIGKILL in the middle and resumed.

``python -m word_count [FOLDER]`` counts the words of all texts in a folder, by default those of this repository. The
process that counts is killed when half of the files are done; another one goes on, and the result is compared with a
direct count. On a terminal a bar shows how far it is, and that it does not begin anew.
"""

from .counting import count_words, find_texts
from .workflow import word_count

__all__ = ["count_words", "find_texts", "word_count"]
