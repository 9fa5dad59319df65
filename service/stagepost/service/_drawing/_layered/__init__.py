"""Layered layout of directed graphs, after Sugiyama, Tagawa and Toda (1981)."""
