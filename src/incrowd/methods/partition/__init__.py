"""Partition: top-down local generalization."""
