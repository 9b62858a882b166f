"""Counts of all value combinations, looked up instead of scanned."""
