"""Agents as their authors write them: given or loaded, checked, described, and put to work with all below them."""
