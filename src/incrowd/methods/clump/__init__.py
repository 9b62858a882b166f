"""Clump: clusters with least common generalizations."""
