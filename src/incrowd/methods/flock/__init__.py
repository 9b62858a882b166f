"""Flock: groups grown and improved by local search."""
