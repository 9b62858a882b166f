"""Loops over plain arrays, compiled by Numba. No files, clocks or prints."""
